import { bucketStart, formatDate } from '../contract/time.ts'
import { forEachPausing } from '../fairness.ts'
import { type Best, higher, highest } from './highest.ts'
import { lockedTimes, type LockTimes } from './lock-statistics.ts'
import { streaksOf } from './streaks.ts'
import type { SessionStats } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'

/** The highest values over all sessions, and the streaks of days with one. */
export type TrainingBests = Awaited<ReturnType<typeof bestsOf>>

/**
 * The bests of sessions, which must be in order, the oldest first. Those after `lastDay` do not count. Others have their turns while there
 * are many.
 */
export async function bestsOf(sessions: readonly SessionStats[], clock: ZoneClock, lastDay: number) {
  const end = clock.startOf(lastDay + 1)
  const weeks = new Map<number, number>()
  const days = new Set<number>()
  let most: Best<SessionStats> | undefined
  await forEachPausing(sessions, session => {
    const { at, reps } = session
    if (at >= end) return
    const day = clock.dayOf(at)
    const monday = bucketStart('week', 'monday', day)
    weeks.set(monday, (weeks.get(monday) ?? 0) + reps)
    days.add(day)
    most = higher(most, session, ({ reps }) => reps)
  })
  return {
    /** The week with the most repetitions, and its days as `YYYY-MM-DD`. */
    week: highest(
      [...weeks]
        .filter(([, reps]) => reps > 0)
        .map(([monday, reps]) => ({ reps, from: formatDate(monday), to: formatDate(Math.min(monday + 6, lastDay)) })),
      ({ reps }) => reps,
    ),
    session: most === undefined || most.best.reps === 0 ? undefined : most,
    ...streaksOf([...days], lastDay, clock),
  }
}

export type GradeRank = NonNullable<ReturnType<typeof gradeRank>>

/** Fewer grades have no rank. */
const MIN_RANKED = 10
const MAX_BETTER = 3
const MAX_EQUALS = 2

/**
 * One of the first three ranks of a grade among those of all sessions with its program that have begun, if it is not that of many: how
 * many are better, how many others equal it, and of how many.
 */
export function gradeRank(
  sessions: readonly SessionStats[],
  { program, grade }: Pick<SessionStats, 'program' | 'grade'>,
  now: number,
) {
  if (grade === null) return undefined
  let [better, equals, of] = [0, -1, 0]
  for (const other of sessions) {
    if (other.program !== program || other.grade === null || other.at > now) continue
    of += 1
    if (other.grade > grade) better += 1
    else if (other.grade === grade) equals += 1
  }
  return of < MIN_RANKED || better >= MAX_BETTER || equals > MAX_EQUALS ? undefined : { better, equals, of }
}

/** A time that was locked without a break, and the session that it began in. */
export interface LockedStretch<Session> {
  readonly seconds: number
  readonly end: number
  readonly session: Session
}

/** The times that were longer than any before them, or as long, up to an instant; the oldest first. */
export function longestStretches<Session extends LockTimes>(
  sessions: readonly Session[],
  until: number,
): LockedStretch<Session>[] {
  const begunAt = new Map<number, Session>()
  for (const session of sessions) {
    for (const { locked, start, end } of session.intervals) {
      const second = Math.floor(start / 1000) * 1000
      if (locked && end > second) begunAt.getOrInsert(second, session)
    }
  }
  let longest = 1
  return lockedTimes(sessions, until).flatMap(({ start, end }) => {
    if (end - start < longest) return []
    longest = end - start
    const session = begunAt.get(start)
    return session === undefined ? [] : [{ seconds: (end - start) / 1000, end, session }]
  })
}
