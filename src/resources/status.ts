import { readableAreas, accessToOwner } from '../accounts/access.ts'
import { ApiError } from '../contract/errors.ts'
import type { Status, status } from '../contract/status.ts'
import { formatOptionalTimestamp, formatTimestamp, HOUR_MS } from '../contract/time.ts'
import { readKnownTime } from '../stats/known-time.ts'
import { activeLock } from '../stats/lock-queries.ts'
import { type LockStatus, lockStatus, type TrainingStatus } from '../stats/status.ts'
import { trainingHistory } from '../stats/training-history.ts'
import { type Handlers, jsonResult } from './handler.ts'

export const handlers: Handlers<typeof status> = {
  async getStatus(caller, { ownerId, tz, relative }) {
    const { store, grant, now } = caller
    const owner = ownerId ?? grant.accountId
    const areas = readableAreas(caller, owner)
    if (areas.length === 0) throw new ApiError('owner_not_accessible')
    const [known, lock, history] = await Promise.all([
      readKnownTime(store, grant.accountId, owner, now),
      areas.includes('lkbx') ? activeLock(store, accessToOwner(caller, 'lkbx', owner), now) : undefined,
      areas.includes('dtt') ? trainingHistory(store, accessToOwner(caller, 'dtt', owner)) : undefined,
    ])
    const { asOf } = known
    const timeZone = tz ?? known.timeZone
    const isOwner = owner === grant.accountId
    const locked = areas.includes('lkbx') ? lockStatus(lock, { isOwner, asOf, now }) : undefined
    const status: Status = {
      ownerId: owner,
      timeZone,
      asOf: hourOf(asOf),
      ...lockFields(locked),
      ...trainingFields(await history?.status(timeZone, now)),
    }
    const seconds = relative !== undefined && {
      lockedSeconds: secondsOrNull(locked?.elapsed ?? null),
      remainingSeconds: secondsOrNull(locked?.remaining ?? null),
      asOfSeconds: secondsOrNull(asOf === null ? null : now - asOf),
    }
    const data = { ...status, ...seconds }
    return { ...jsonResult(JSON.stringify(data)), ownersRead: areas.map(area => ({ area, owners: [owner] })) }
  },
}

/** All null if the area may not be read. */
function lockFields(lock: LockStatus | undefined) {
  return {
    locked: lock?.locked ?? null,
    lockState: lock?.state ?? null,
    lockedSince: formatOptionalTimestamp(lock?.lockedSince ?? null),
    stateSince: formatOptionalTimestamp(lock?.stateSince ?? null),
    plannedEnd: formatOptionalTimestamp(lock?.plannedEnd ?? null),
    plannedEndPassed: lock?.plannedEndPassed ?? null,
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

/** Rounded down to the hour, so that the validator does not change with every pull. */
export function hourOf(asOf: number | null): string | null {
  return asOf === null ? null : formatTimestamp(Math.floor(asOf / HOUR_MS) * HOUR_MS)
}

function metresOrNull(micrometres: number | null): number | null {
  return micrometres === null ? null : micrometres / 1_000_000
}

function secondsOrNull(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.floor(milliseconds / 1000)
}
