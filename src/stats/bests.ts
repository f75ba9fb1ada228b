import { bucketStart, formatDate } from '../contract/calendar.ts'
import { forEachPausing } from '../fairness.ts'
import { lockedTimes, type LockTimes } from './lock-statistics.ts'
import { daysInRow, streaksOf } from './streaks.ts'
import type { SessionStats } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'

/** The highest value, the latest of equal ones, and the one that was the highest before it. */
export interface Best<Item> {
  readonly best: Item
  readonly before: Item | undefined
}

/** The highest values over all sessions. */
export interface TrainingBests {
  /** The week with the most repetitions. */
  readonly week: Best<WeekOfReps> | undefined
  /** The session with the most. */
  readonly session: Best<SessionStats> | undefined
  /** Days in a row with a session: the present streak and the longest one. */
  readonly current: StreakDays | undefined
  readonly longest: Best<StreakDays> | undefined
}

/** Days are as `YYYY-MM-DD`. */
interface WeekOfReps {
  readonly reps: number
  readonly from: string
  readonly to: string
}

interface StreakDays {
  readonly days: number
  readonly from: string
  readonly to: string
}

/**
 * The bests of sessions, which must be in order, the oldest first. Those after `lastDay` do not count. Others have their turns while there
 * are many.
 */
export async function bestsOf(
  sessions: readonly SessionStats[],
  clock: ZoneClock,
  lastDay: number,
): Promise<TrainingBests> {
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
  const { current, currentFrom, currentTo } = streaksOf([...days], lastDay, clock)
  const runs = [...daysInRow([...days], lastDay, clock)]
  const longest = highest(
    runs.map(({ length, from, to }) => streak(length, from, to)),
    ({ days }) => days,
  )
  return {
    week: highest(
      [...weeks]
        .filter(([, reps]) => reps > 0)
        .map(([monday, reps]) => ({ reps, from: formatDate(monday), to: formatDate(Math.min(monday + 6, lastDay)) })),
      ({ reps }) => reps,
    ),
    session: most === undefined || most.best.reps === 0 ? undefined : most,
    current: currentFrom === null || currentTo === null ? undefined : streak(current, currentFrom, currentTo),
    longest,
  }
}

function streak(days: number, from: number, to: number): StreakDays {
  return { days, from: formatDate(from), to: formatDate(to) }
}

/** The highest of items in the order of time; undefined without any. */
export function highest<Item>(items: readonly Item[], valueOf: (item: Item) => number): Best<Item> | undefined {
  let found: Best<Item> | undefined
  for (const item of items) found = higher(found, item, valueOf)
  return found
}

function higher<Item>(found: Best<Item> | undefined, item: Item, valueOf: (item: Item) => number): Best<Item> {
  if (found === undefined) return { best: item, before: undefined }
  return valueOf(item) < valueOf(found.best) ? found : { best: item, before: found.best }
}

/** The place of a grade among those of all sessions with its program. */
export interface GradeRank {
  /** 0 for the best one. */
  readonly place: number
  /** How many others share it. */
  readonly equals: number
  readonly of: number
}

/** Fewer grades have no places. */
const MIN_RANKED = 10
const MAX_PLACES = 3
const MAX_EQUALS = 2

/** One of the first three places, if it is not that of many; among the sessions that have begun. */
export function gradeRank(
  sessions: readonly SessionStats[],
  { program, grade }: Pick<SessionStats, 'program' | 'grade'>,
  now: number,
): GradeRank | undefined {
  if (grade === null) return undefined
  let [place, equals, of] = [0, -1, 0]
  for (const other of sessions) {
    if (other.program !== program || other.grade === null || other.at > now) continue
    of += 1
    if (other.grade > grade) place += 1
    else if (other.grade === grade) equals += 1
  }
  return of < MIN_RANKED || place >= MAX_PLACES || equals > MAX_EQUALS ? undefined : { place, equals, of }
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
