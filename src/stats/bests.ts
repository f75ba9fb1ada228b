import { bucketStart, formatDate } from '../contract/calendar.ts'
import { forEachInTurns } from '../turns.ts'
import { lockedTimes, type LockTimes } from './lock-statistics.ts'
import { streaksOf } from './streaks.ts'
import { meanGrade, type SessionStats } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'

/** The highest values over all sessions; of equal ones, the latest. */

export interface TrainingBests {
  /** The session with the best mean grade of each kind. */
  readonly grades: readonly { readonly kind: string; readonly grade: number; readonly session: SessionStats }[]
  /** The week with the most repetitions, by its days. */
  readonly week: { readonly reps: number; readonly from: string; readonly to: string } | undefined
  /** Days in a row with a session: the present streak and the longest one. */
  readonly current: StreakDays | undefined
  readonly longest: StreakDays | undefined
}

interface StreakDays {
  readonly days: number
  readonly from: string
  readonly to: string
}

/** The bests of sessions, which must be in order, the oldest first. Others have their turns while there are many. */
export async function bestsOf(
  account: number,
  sessions: readonly SessionStats[],
  clock: ZoneClock,
  today: number,
): Promise<TrainingBests> {
  const grades = new Map<string, TrainingBests['grades'][number]>()
  const weeks = new Map<number, number>()
  const days = new Set<number>()
  await forEachInTurns(account, sessions, session => {
    for (const stats of session.kinds) {
      const { kind } = stats
      const grade = meanGrade(stats)
      if (grade !== null && grade >= (grades.get(kind)?.grade ?? -Infinity)) grades.set(kind, { kind, grade, session })
    }
    const day = clock.dayOf(session.at)
    const monday = bucketStart('week', 'monday', day)
    weeks.set(monday, (weeks.get(monday) ?? 0) + session.reps)
    days.add(day)
  })
  return {
    grades: [...grades.values()].toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
    week: bestWeek(weeks),
    ...streakDays([...days], clock, today),
  }
}

function bestWeek(weeks: ReadonlyMap<number, number>): TrainingBests['week'] {
  let best: readonly [monday: number, reps: number] | undefined
  for (const week of weeks) if (week[1] > 0 && week[1] >= (best?.[1] ?? 0)) best = week
  return best && { reps: best[1], from: formatDate(best[0]), to: formatDate(best[0] + 6) }
}

function streakDays(
  days: readonly number[],
  clock: ZoneClock,
  today: number,
): Pick<TrainingBests, 'current' | 'longest'> {
  const { current, currentFrom, currentTo, longest, from, to } = streaksOf(days, today, clock)
  const streak = (length: number, first: number | null, last: number | null) =>
    first === null || last === null ? undefined : { days: length, from: formatDate(first), to: formatDate(last) }
  return { current: streak(current, currentFrom, currentTo), longest: streak(longest, from, to) }
}

/** The longest time that was locked without a break, and the session that it began in. */
export function longestLocked<Session extends LockTimes & { readonly id: number }>(
  sessions: readonly Session[],
  now: number,
): { readonly seconds: number; readonly session: Session } | undefined {
  let longest: { readonly start: number; readonly end: number } | undefined
  for (const time of lockedTimes(sessions, now)) {
    if (time.end - time.start >= (longest === undefined ? 1 : longest.end - longest.start)) longest = time
  }
  if (longest === undefined) return undefined
  const { start, end } = longest
  const session = sessions.find(({ intervals }) =>
    intervals.some(one => one.locked && Math.floor(one.start / 1000) * 1000 <= start && one.end > start),
  )
  return session && { seconds: (end - start) / 1000, session }
}
