import { accessToOne } from '../accounts/access.ts'
import type { Status, status } from '../contract/status.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import { keptReads } from '../stats/kept.ts'
import { readKnownTime } from '../stats/known-time.ts'
import { runningLock } from '../stats/queries.ts'
import { type LockStatus, lockStatus, type TrainingStatus, trainingStatus } from '../stats/status.ts'
import { allTrainings } from '../stats/training-rows.ts'
import type { Handlers } from './handler.ts'
import { made } from './results.ts'

export const handlers: Handlers<typeof status> = {
  async getStatus({ store, grant, now }, { ownerId, tz, relative }) {
    const [owner = 0] = accessToOne(grant, ownerId).owners
    const kept = await keptReads(store)
    const [known, lock, sessions] = await Promise.all([
      readKnownTime(store, grant.accountId, owner, now, kept),
      runningLock(store, owner, kept),
      allTrainings(store, owner, kept),
    ])
    const { asOf } = known
    const timeZone = tz ?? known.timeZone
    const locks = lockStatus(lock, { isOwner: owner === grant.accountId, asOf, now })
    const data: Status = {
      ownerId: owner,
      timeZone,
      asOf: hourOf(asOf),
      ...lockFields(locks),
      ...trainingFieldsOf(trainingStatus(sessions, timeZone, now)),
      ...(relative === undefined ? {} : secondsOf(locks, asOf, now)),
    }
    return made(JSON.stringify(data))
  },
}

function lockFields(lock: LockStatus) {
  return {
    locked: lock.locked,
    lockState: lock.state,
    lockedSince: formatOptionalTimestamp(lock.lockedSince),
    stateSince: formatOptionalTimestamp(lock.stateSince),
    plannedEnd: formatOptionalTimestamp(lock.plannedEnd),
    timeHidden: lock.timeHidden,
    practiceLock: lock.isPractice,
  }
}

/** The same status is used for many requests: see trainingStatus. */
function trainingFieldsOf(status: TrainingStatus) {
  return trainingFieldsByStatus.getOrInsertComputed(status, trainingFields)
}

const trainingFieldsByStatus = new WeakMap<TrainingStatus, ReturnType<typeof trainingFields>>()

function trainingFields({ last, ...training }: TrainingStatus) {
  return {
    lastSessionAt: formatOptionalTimestamp(last?.at ?? null),
    lastSessionPassed: last?.passed ?? null,
    lastSessionGradePercent: last?.grade ?? null,
    lastSessionReps: last?.reps ?? null,
    lastSessionMeters: metresOrNull(last?.distance ?? null),
    sessionsToday: training.sessionsToday,
    sessionsThisWeek: training.sessionsThisWeek,
    repsThisWeek: training.repsThisWeek,
    metersThisWeek: metresOrNull(training.distanceThisWeek),
    streakDays: training.streakDays,
    longestStreakDays: training.longestStreakDays,
    bestGradePercent: training.bestGrade,
  }
}

function secondsOf({ elapsed, remaining }: LockStatus, asOf: number | null, now: number) {
  return {
    lockedSeconds: secondsOrNull(elapsed),
    remainingSeconds: secondsOrNull(remaining),
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
