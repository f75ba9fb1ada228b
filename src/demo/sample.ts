import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import { sampleLockSessions } from './lock-sessions.ts'
import { lockTemplates } from './lock-templates.ts'
import { lockDevices, partnerships, trainingDevices, users } from './people.ts'
import { sampleTrainingSessions } from './training-sessions.ts'
import { trainingTemplates } from './training-templates.ts'

/**
 * An archive, line by line, of two linked accounts (alex and robin) and a stranger (sam) with a year of history that
 * ends at `today` (milliseconds since 1970). The same instant gives the same lines. Later on the same UTC day, only what has
 * happened since is added.
 */
export function* sampleArchive(today: number): Generator<string> {
  const midnight = today - (today % DAY_MS)
  const trained = sampleTrainingSessions(midnight).filter(({ at }) => at <= today)
  const locked = sampleLockSessions(today, midnight)

  const lockedNow = new Set(locked.filter(({ data }) => data.isActive).map(({ data }) => data.ownerId))
  const points = new Map<number, number>()
  const visits = new Map<number, { last: number; count: number }>()
  for (const { ownerId, at, data } of trained) {
    const earned = data.TrainerSegment.reduce((sum, segment) => sum + segment.points, 0)
    points.set(ownerId, (points.get(ownerId) ?? 0) + earned)
    visits.set(data.trainer_id, { last: at, count: (visits.get(data.trainer_id)?.count ?? 0) + 1 })
  }

  for (const user of users(points)) yield line('account', user, { asOf: ALWAYS })
  yield* lines('partnership', partnerships)
  yield* lines('lock-template', lockTemplates(midnight))
  yield* lines('lock-device', lockDevices(midnight, lockedNow))
  yield* lines('training-device', trainingDevices(midnight, visits))
  yield* lines('training-template', trainingTemplates(midnight))
  for (const { templateId, data } of locked) yield line('lock-session', data, { templateId })
  for (const { ownerId, isLegacy, data } of trained) {
    yield line('training-session', data, isLegacy ? { ownerId, legacyUpload: true } : { ownerId })
  }
}

/** The sample is known up to the present, whenever that is. */
const ALWAYS = formatTimestamp(LATEST)

function* lines(kind: string, records: readonly object[]): Generator<string> {
  for (const data of records) yield line(kind, data)
}

function line(kind: string, data: object, envelope: object = {}): string {
  return JSON.stringify({ kind, data, ...envelope })
}
