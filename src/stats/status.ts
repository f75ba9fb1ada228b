import { bucketStart } from '../contract/calendar.ts'
import { lockIntervals, type LockRules } from './intervals.ts'
import type { RunningLock } from './lock-queries.ts'
import { streaksOf } from './streaks.ts'
import { firstFrom, type SessionStats, SessionSums } from './training.ts'
import { atOnce, forEachInParts, type Parts } from './turns.ts'
import { type ZoneClock, zoneClock } from './zone-clock.ts'

/** The present state of a lock. */
export interface LockStatus {
  readonly locked: boolean
  readonly state: string
  /** When the session started. */
  readonly lockedSince: number | null
  /** When the present state began; null if that is not known. */
  readonly stateSince: number | null
  readonly plannedEnd: number | null
  readonly timeHidden: boolean
  readonly isPractice: boolean | null
  /** Milliseconds since the session started. */
  readonly elapsed: number | null
  /** Milliseconds until its planned end; null if that is not known or hidden. */
  readonly remaining: number | null
}

/** If records are known only up to a time longer ago than this, durations end at that time. */
const MAX_FRESH_MS = 3_600_000

/** The instant up to which durations count. */
export function countedUntil(asOf: number | null, now: number): number {
  return asOf !== null && now - asOf > MAX_FRESH_MS ? asOf : now
}

/** Whether the time of an active lock is hidden from a reader: from its owner, where its template says so. */
export function hidesTime(rules: LockRules | undefined, isOwner: boolean): boolean {
  return isOwner && rules?.showsTime === false
}

export function lockStatus(
  lock: RunningLock | undefined,
  { isOwner, asOf, now }: { readonly isOwner: boolean; readonly asOf: number | null; readonly now: number },
): LockStatus {
  if (lock === undefined) return IDLE
  const until = countedUntil(asOf, now)
  const current = lockIntervals(lock.events, null, until).at(-1)
  const timeHidden = hidesTime(lock.rules, isOwner)
  const plannedEnd = timeHidden ? null : lock.plannedEnd
  return {
    // Without events, only the state is known.
    locked: current?.locked ?? lock.state === 'locked',
    state: lock.state,
    lockedSince: lock.at,
    stateSince: current?.start ?? null,
    plannedEnd,
    timeHidden,
    isPractice: lock.rules?.isPractice ?? null,
    elapsed: Math.max(0, until - lock.at),
    remaining: plannedEnd === null ? null : Math.max(0, plannedEnd - until),
  }
}

const IDLE: LockStatus = {
  locked: false,
  state: 'idle',
  lockedSince: null,
  stateSince: null,
  plannedEnd: null,
  timeHidden: false,
  isPractice: false,
  elapsed: null,
  remaining: null,
}

/** The present state of training. */
export interface TrainingStatus {
  readonly last: SessionStats | undefined
  readonly sessionsToday: number
  readonly sessionsThisWeek: number
  readonly repsThisWeek: number
  /** Micrometres; null if there are sessions and the distance of none is known. */
  readonly distanceThisWeek: number | null
  readonly streakDays: number
  readonly longestStreakDays: number
  readonly bestGrade: number | null
}

/**
 * The state after all these sessions, the oldest first. Weeks start on Monday. It depends on the day, not on the time of day, so it
 * is cached by the list of sessions.
 */
export function trainingStatus(sessions: readonly SessionStats[], timeZone: string, now: number): TrainingStatus {
  const clock = zoneClock(timeZone)
  const today = clock.dayOf(now)
  const known = computed.getOrInsertComputed(sessions, () => new Map())
  const last = known.get(timeZone)
  if (last?.today === today) return last.status
  const status = computeTrainingStatus(sessions, clock, today)
  if (known.size >= MAX_ZONES) known.clear()
  known.set(timeZone, { today, status })
  return status
}

interface ComputedStatus {
  readonly today: number
  readonly status: TrainingStatus
}

/** By time zone: the same history may be read from several. */
const computed = new WeakMap<readonly SessionStats[], Map<string, ComputedStatus>>()

const MAX_ZONES = 10

function computeTrainingStatus(sessions: readonly SessionStats[], clock: ZoneClock, today: number): TrainingStatus {
  const monday = bucketStart('week', 'monday', today)
  const week = sessionsBetween(sessions, clock.startOf(monday), clock.startOf(monday + 7))
  const { current, longest } = streaksOf(atOnce(daysInParts(sessions, clock)), today, clock)
  const sums = new SessionSums()
  for (const session of week) sums.add(session)
  return {
    last: sessions.at(-1),
    sessionsToday: sessionsBetween(week, clock.startOf(today), clock.startOf(today + 1)).length,
    sessionsThisWeek: sums.sessions,
    repsThisWeek: sums.reps,
    distanceThisWeek: sums.distance(),
    streakDays: current,
    longestStreakDays: longest,
    bestGrade: bestGrade(sessions),
  }
}

/** The days with a session, in ascending order. The sessions must be in order, the oldest first. */
export function* daysInParts(
  sessions: readonly Pick<SessionStats, 'at'>[],
  clock: ZoneClock,
): Parts<readonly number[]> {
  const days: number[] = []
  yield* forEachInParts(sessions, ({ at }) => {
    const day = clock.dayOf(at)
    if (day !== days.at(-1)) days.push(day)
  })
  return days
}

function bestGrade(sessions: readonly SessionStats[]): number | null {
  let best: number | null = null
  for (const { grade } of sessions) if (grade !== null && (best === null || grade > best)) best = grade
  return best
}

/** Of sessions in order, those from one instant to before another. */
function sessionsBetween(sessions: readonly SessionStats[], start: number, end: number): readonly SessionStats[] {
  return sessions.slice(firstFrom(sessions, start), firstFrom(sessions, end))
}
