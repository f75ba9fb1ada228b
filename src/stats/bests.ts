import { bucketStart, formatDate } from '../contract/calendar.ts'
import { lockedTimes, type LockTimes } from './lock-statistics.ts'
import { streaksOf } from './streaks.ts'
import { daysInParts } from './status.ts'
import { meanGrade, type SessionStats } from './training.ts'
import { forEachInParts, inTurns, type Parts } from './turns.ts'
import { zoneClock } from './zone-clock.ts'

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

/**
 * The bests of sessions, which must be in order, the oldest first. They change only with the day, so the result is cached by the
 * list of sessions. Other requests are handled while a long list is computed.
 */
export async function trainingBests(
  sessions: readonly SessionStats[],
  timeZone: string,
  now: number,
): Promise<TrainingBests> {
  const today = zoneClock(timeZone).dayOf(now)
  const known = computed.get(sessions)
  if (known?.timeZone === timeZone && known.today === today) return known.bests
  const [grades, week, days] = await inTurns(
    () => bestGrades(sessions),
    () => bestWeek(sessions, timeZone),
    () => streaks(sessions, timeZone, today),
  )
  const bests = { grades, week, ...days }
  computed.set(sessions, { timeZone, today, bests })
  return bests
}

const computed = new WeakMap<
  readonly SessionStats[],
  { readonly timeZone: string; readonly today: number; readonly bests: TrainingBests }
>()

function* bestGrades(sessions: readonly SessionStats[]): Parts<TrainingBests['grades']> {
  const best = new Map<string, { kind: string; grade: number; session: SessionStats }>()
  yield* forEachInParts(sessions, session => {
    for (const stats of session.kinds) {
      const { kind } = stats
      const grade = meanGrade(stats)
      if (grade !== null && grade >= (best.get(kind)?.grade ?? -Infinity)) best.set(kind, { kind, grade, session })
    }
  })
  return [...best.values()].toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
}

function* bestWeek(sessions: readonly SessionStats[], timeZone: string): Parts<TrainingBests['week']> {
  const clock = zoneClock(timeZone)
  const weeks = new Map<number, number>()
  yield* forEachInParts(sessions, ({ at, reps }) => {
    const monday = bucketStart('week', 'monday', clock.dayOf(at))
    weeks.set(monday, (weeks.get(monday) ?? 0) + reps)
  })
  let best: readonly [monday: number, reps: number] | undefined
  for (const week of weeks) if (week[1] > 0 && week[1] >= (best?.[1] ?? 0)) best = week
  return best && { reps: best[1], from: formatDate(best[0]), to: formatDate(best[0] + 6) }
}

function* streaks(
  sessions: readonly SessionStats[],
  timeZone: string,
  today: number,
): Parts<Pick<TrainingBests, 'current' | 'longest'>> {
  const clock = zoneClock(timeZone)
  const days = yield* daysInParts(sessions, clock)
  const { current, longest, from, to } = streaksOf(days, today, clock)
  const last = days.findLast(day => day <= today)
  return {
    current:
      current === 0 || last === undefined
        ? undefined
        : { days: current, from: formatDate(firstOf(days, last)), to: formatDate(last) },
    longest: from === null || to === null ? undefined : { days: longest, from: formatDate(from), to: formatDate(to) },
  }

  /** The first day of the streak that ends with a day. */
  function firstOf(days: readonly number[], last: number): number {
    const upTo = streaksOf(
      days.filter(day => day <= last),
      last,
      clock,
    )
    let first = last
    const found = new Set(days)
    for (let count = 1; count < upTo.current; count += 1) {
      do first -= 1
      while (!found.has(first))
    }
    return first
  }
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
