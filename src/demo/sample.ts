import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import { lockSessions, lockTemplates } from './locks.ts'
import { lockDevices, partnerships, trainingDevices, users } from './people.ts'
import { trainingTemplates } from './programs.ts'
import { trainingSessions } from './training.ts'

/**
 * An archive, line by line, of two linked accounts (alex and robin) and a stranger (sam) with a year of history that
 * ends at `today` (milliseconds since 1970). It is the same every day, with other dates. Later on the same UTC day, only what has
 * happened since is added.
 */
export function* sampleArchive(today: number): Generator<string> {
  const midnight = today - (today % DAY_MS)
  const trained = trainingSessions(midnight).filter(({ at }) => at <= today)
  // The sample is known up to the present, whenever that is.
  for (const user of users()) yield line('account', user, { asOf: formatTimestamp(LATEST) })
  for (const partnership of partnerships) yield line('partnership', partnership)
  for (const template of lockTemplates(midnight)) yield line('lock-template', template)
  for (const device of lockDevices(midnight)) yield line('lock-device', device)
  for (const device of trainingDevices(midnight)) yield line('training-device', device)
  for (const template of trainingTemplates(midnight)) yield line('training-template', template)
  for (const { data, ...beside } of lockSessions(today, midnight)) yield line('lock-session', data, beside)
  for (const { ownerId, isLegacy, data } of trained) {
    yield line('training-session', data, { ownerId, ...(isLegacy ? { legacyUpload: true } : {}) })
  }
}

function line(kind: string, data: object, beside: object = {}): string {
  return JSON.stringify({ kind, data, ...beside })
}
