import { readableAreas, sessionsOf } from '../accounts/access.ts'
import { ApiError } from '../contract/errors.ts'
import type { Status, status } from '../contract/status.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import { keptReads } from '../stats/kept.ts'
import { readKnownTime } from '../stats/known-time.ts'
import { runningLock } from '../stats/lock-queries.ts'
import { type LockStatus, lockStatus, type TrainingStatus, trainingStatus } from '../stats/status.ts'
import { allTrainings } from '../stats/training-rows.ts'
import type { Handlers } from './handler.ts'
import { made, type Result } from './results.ts'

export const handlers: Handlers<typeof status> = {
  async getStatus(caller, { ownerId, tz, relative }) {
    const { store, grant, now } = caller
    const owner = ownerId ?? grant.accountId
    const areas = readableAreas(caller, owner)
    if (areas.length === 0) throw new ApiError('owner_not_accessible')
    const kept = await keptReads(store)
    const [known, lock, sessions] = await Promise.all([
      readKnownTime(store, grant.accountId, owner, now, kept),
      areas.includes('lkbx') ? runningLock(store, sessionsOf(caller, 'lkbx', owner), kept) : undefined,
      areas.includes('dtt') ? allTrainings(store, sessionsOf(caller, 'dtt', owner), kept) : undefined,
    ])
    const { asOf } = known
    const timeZone = tz ?? known.timeZone
    const isOwner = owner === grant.accountId
    const facts: Facts = {
      ownerId: owner,
      timeZone,
      asOf: asOf === null ? null : Math.floor(asOf / HOUR_MS),
      lock: areas.includes('lkbx') ? lockStatus(lock, { isOwner, asOf, now }) : undefined,
      training: sessions === undefined ? undefined : trainingStatus(sessions, timeZone, now),
    }
    const result =
      relative === undefined
        ? resultOf(facts)
        : made(JSON.stringify({ ...statusOf(facts), ...secondsOf(facts.lock, asOf, now) }))
    return { ...result, reads: areas.map(area => ({ area, owners: [owner] })) }
  },
}

/** All that a status is made of. */
interface Facts {
  readonly ownerId: number
  readonly timeZone: string
  /** In hours since 1970. */
  readonly asOf: number | null
  readonly lock: LockStatus | undefined
  readonly training: TrainingStatus | undefined
}

/** The text of a status and its validator; those of the last request with the same training, if nothing else differs. */
function resultOf(facts: Facts): Result {
  const { training } = facts
  const last = training && lastResults.get(training)
  if (last !== undefined && isSame(last.facts, facts)) return last.result
  const result = made(JSON.stringify(statusOf(facts)))
  if (training !== undefined) lastResults.set(training, { facts, result })
  return result
}

const lastResults = new WeakMap<TrainingStatus, { readonly facts: Facts; readonly result: Result }>()

function isSame(one: Facts, other: Facts): boolean {
  return (
    one.ownerId === other.ownerId &&
    one.timeZone === other.timeZone &&
    one.asOf === other.asOf &&
    isSameLock(one.lock, other.lock)
  )
}

function isSameLock(one: LockStatus | undefined, other: LockStatus | undefined): boolean {
  return one === other || LOCK_FACTS.every(name => one?.[name] === other?.[name])
}

/** What `lockFields` reads: all but the durations. */
const LOCK_FACTS = [
  'locked',
  'state',
  'lockedSince',
  'stateSince',
  'plannedEnd',
  'timeHidden',
  'isPractice',
] as const satisfies (keyof LockStatus)[]

function statusOf({ ownerId, timeZone, asOf, lock, training }: Facts): Status {
  return {
    ownerId,
    timeZone,
    asOf: asOf === null ? null : formatTimestamp(asOf * HOUR_MS),
    ...lockFields(lock),
    ...trainingFields(training),
  }
}

/** All null if the area may not be read. */
function lockFields(lock: Pick<LockStatus, (typeof LOCK_FACTS)[number]> | undefined) {
  return {
    locked: lock?.locked ?? null,
    lockState: lock?.state ?? null,
    lockedSince: formatOptionalTimestamp(lock?.lockedSince ?? null),
    stateSince: formatOptionalTimestamp(lock?.stateSince ?? null),
    plannedEnd: formatOptionalTimestamp(lock?.plannedEnd ?? null),
    timeHidden: lock?.timeHidden ?? null,
    practiceLock: lock?.isPractice ?? null,
  }
}

/** All null without a status. */
function trainingFields(training: TrainingStatus | undefined) {
  const last = training?.last
  return {
    lastSessionAt: formatOptionalTimestamp(last?.at ?? null),
    lastSessionPassed: last?.passed ?? null,
    lastSessionGradePercent: last?.grade ?? null,
    lastSessionReps: last?.reps ?? null,
    lastSessionMeters: metresOrNull(last?.distance ?? null),
    sessionsToday: training?.sessionsToday ?? null,
    sessionsThisWeek: training?.sessionsThisWeek ?? null,
    repsThisWeek: training?.repsThisWeek ?? null,
    metersThisWeek: metresOrNull(training?.distanceThisWeek ?? null),
    streakDays: training?.streakDays ?? null,
    longestStreakDays: training?.longestStreakDays ?? null,
    bestGradePercent: training?.bestGrade ?? null,
  }
}

function secondsOf(lock: LockStatus | undefined, asOf: number | null, now: number) {
  return {
    lockedSeconds: secondsOrNull(lock?.elapsed ?? null),
    remainingSeconds: secondsOrNull(lock?.remaining ?? null),
    asOfSeconds: secondsOrNull(asOf === null ? null : now - asOf),
  }
}

/** Rounded down to the hour, so that the validator does not change with every pull. */
export function hourOf(asOf: number | null): string | null {
  return asOf === null ? null : formatTimestamp(Math.floor(asOf / HOUR_MS) * HOUR_MS)
}

const HOUR_MS = 3_600_000

function metresOrNull(micrometres: number | null): number | null {
  return micrometres === null ? null : micrometres / 1_000_000
}

function secondsOrNull(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.floor(milliseconds / 1000)
}
