import { DAY_MS, formatTimestamp, LATEST, bucketStart } from '../contract/time.ts'
import { lockSessions, lockTemplates } from './locks.ts'
import { lockDevices, partnerships, trainingDevices, users } from './people.ts'
import { trainingTemplates } from './programs.ts'
import { trainingSessions } from './training.ts'

/**
 * An archive, line by line, of two linked accounts (alex and robin) and a stranger (sam) with a year of history that
 * ends at `today` (milliseconds since 1970). It is the same every week, with other dates. Later in the same UTC week, only what has
 * happened since is added.
 */
export function* sampleArchive(today: number): Generator<string> {
  const midnight = today - (today % DAY_MS)
  const monday = bucketStart('week', 'monday', midnight / DAY_MS) * DAY_MS
  const trained = trainingSessions(monday).filter(({ at }) => at <= today)
  // The sample is known up to the present, whenever that is.
  for (const user of users) yield line('account', user, { asOf: formatTimestamp(LATEST) })
  for (const partnership of partnerships) yield line('partnership', partnership)
  for (const template of lockTemplates(monday)) yield line('lock-template', template)
  for (const device of lockDevices(midnight)) yield line('lock-device', device)
  for (const device of trainingDevices(midnight)) yield line('training-device', device)
  for (const template of trainingTemplates(monday)) yield line('training-template', template)
  for (const { data, ...beside } of lockSessions(today, monday)) yield line('lock-session', data, beside)
  for (const { ownerId, data } of trained) yield line('training-session', data, { ownerId })
}

function line(kind: string, data: object, beside: object = {}): string {
  return JSON.stringify({ kind, data, ...beside })
}
