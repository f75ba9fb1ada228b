import { bucketStart } from '../contract/time.ts'
import { forEachPausing } from '../fairness.ts'
import { lockIntervals, type LockRules } from './intervals.ts'
import type { RunningLock } from './lock-queries.ts'
import { streaksOf } from './streaks.ts'
import { sessionsBetween, type SessionStats, totalsOf } from './training.ts'
import { endOfTomorrow, type ZoneClock } from './zone-clock.ts'
import { countedUntil } from './known-time.ts'

/** Whether the time of an active lock is hidden from a reader: from its owner, where its template says so. */
export function hidesTime(rules: LockRules | undefined, isOwner: boolean): boolean {
  return isOwner && rules?.showsTime === false
}

/**
 * What is left until the planned end of an active lock; undefined if it has none. Zero ends no session: only its record says that it has
 * ended. A freeze stops the countdown. `left` are milliseconds, negative once the planned end has passed; null if a freeze began nobody
 * knows when.
 */
export function countdownOf(
  { state, plannedEnd, events }: Pick<RunningLock, 'state' | 'plannedEnd' | 'events'>,
  until: number,
) {
  if (plannedEnd === null) return undefined
  const newest = events
    .filter(([at]) => at <= until)
    .toSorted(([a], [b]) => a - b)
    .at(-1)
  const [at, , type] = newest ?? [null, 0, '']
  if (isFreeze(type)) return { plannedEnd, isPaused: true, left: at === null ? null : plannedEnd - at }
  if (isFreeze(state)) return { plannedEnd, isPaused: true, left: null }
  return { plannedEnd, isPaused: false, left: plannedEnd - until }
}

/** States and types of events are open lists, and no source documents this one. */
export function isFreeze(name: string): boolean {
  return /^(freez|frozen)/i.test(name)
}

export type LockStatus = ReturnType<typeof lockStatus>

export function lockStatus(
  lock: RunningLock | undefined,
  { isOwner, asOf, now }: { readonly isOwner: boolean; readonly asOf: number | null; readonly now: number },
) {
  if (lock === undefined) return IDLE
  const until = countedUntil(asOf, now)
  const current = lockIntervals(lock.events, null, until).at(-1)
  const timeHidden = hidesTime(lock.rules, isOwner)
  const countdown = timeHidden ? undefined : countdownOf(lock, until)
  const left = countdown?.left ?? null
  return {
    // Without events, only the state is known.
    locked: current?.locked ?? lock.state === 'locked',
    state: lock.state,
    /** When the session started, and when the present state began. */
    lockedSince: lock.at,
    stateSince: current?.start ?? null,
    plannedEnd: countdown?.plannedEnd ?? null,
    plannedEndPassed: left === null ? null : left <= 0,
    timeHidden,
    isPractice: lock.rules?.isPractice ?? null,
    /** Milliseconds since the session started, and until its planned end. */
    elapsed: Math.max(0, until - lock.at),
    remaining: left === null || left <= 0 ? null : left,
  }
}

const IDLE = {
  locked: false,
  state: 'idle',
  lockedSince: null,
  stateSince: null,
  plannedEnd: null,
  plannedEndPassed: null,
  timeHidden: false,
  isPractice: false,
  elapsed: null,
  remaining: null,
}

export type TrainingStatus = Awaited<ReturnType<typeof trainingStatusOf>>

/** The state after all these sessions, the oldest first; those on a day after tomorrow are no last and no best one. Weeks start on Monday. */
export async function trainingStatusOf(sessions: readonly SessionStats[], clock: ZoneClock, today: number) {
  const monday = bucketStart('week', 'monday', today)
  const days = new Set<number>()
  let bestGrade: number | undefined
  const meant = sessionsBetween(sessions, -Infinity, endOfTomorrow(clock, today))
  await forEachPausing(meant, ({ at, grade }) => {
    days.add(clock.dayOf(at))
    if (grade !== null && grade > (bestGrade ?? -Infinity)) bestGrade = grade
  })
  const { current, longest } = streaksOf([...days], today, clock)
  const week = totalsOf(sessionsBetween(sessions, clock.startOf(monday), clock.startOf(monday + 7)))
  return {
    last: meant.at(-1),
    sessionsToday: sessionsBetween(sessions, clock.startOf(today), clock.startOf(today + 1)).length,
    sessionsThisWeek: week.sessions,
    repsThisWeek: week.reps,
    /** Micrometres; null if there are sessions and the distance of none is known. */
    distanceThisWeek: week.distance,
    streakDays: current?.days ?? 0,
    longestStreakDays: longest?.best.days ?? 0,
    bestGrade: bestGrade ?? null,
  }
}
