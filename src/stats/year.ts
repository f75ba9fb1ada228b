import type { OwnerAccess } from '../accounts/access.ts'
import { type BucketRange, formatDate, parseDate } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { bucketsOf } from './buckets.ts'
import { highest } from './highest.ts'
import { lockHistory } from './lock-history.ts'
import { locksSince } from './lock-queries.ts'
import { lockStatistics, withoutPractice } from './lock-statistics.ts'
import { trainingHistory } from './training-history.ts'
import { endOfTomorrow, zoneClock } from './zone-clock.ts'

/** The figures of a calendar year. Those that the API has are the same: `from` and `to` are the parameters of its statistics. */
export type YearStatistics = Awaited<ReturnType<typeof yearStatistics>>

/** Training and locks of a day, and the figures of some days. */
export type KnownDay = YearStatistics['days'][number]
export type Totals = YearStatistics['total']

interface YearQuery {
  readonly year: number
  readonly timeZone: string
  readonly now: number
  /** Up to when durations count. */
  readonly until: number
}

/** Whose sessions are counted: of an area that may not be read, those of nobody. */
interface YearAccess {
  readonly training: OwnerAccess
  readonly locks: OwnerAccess
}

/** The years from the first session to now, the oldest first. */
export async function knownYears(store: Store, access: YearAccess, query: Omit<YearQuery, 'year'>): Promise<number[]> {
  const clock = zoneClock(query.timeZone)
  const { sessions } = await trainingHistory(store, access.training)
  const { entries } = await lockHistory(store, access.locks)
  const yearOf = (at: number) => Number(formatDate(clock.dayOf(at)).slice(0, 4))
  const last = yearOf(query.now)
  const first = Math.min(yearOf(Math.min(sessions[0]?.at ?? query.now, entries.at(-1)?.at ?? query.now)), last)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** The figures of each known year, the oldest first; of the one that is running, up to today. */
export async function yearsTogether(store: Store, access: YearAccess, query: Omit<YearQuery, 'year'>) {
  const { timeZone, now, until } = query
  const clock = zoneClock(timeZone)
  const years = await knownYears(store, access, query)
  const ranges = years.map(year => {
    const [from, end] = daysOfYear(year)
    return monthsBetween(from, Math.min(end, clock.dayOf(now)))
  })
  const { since } = await lockHistory(store, access.locks)
  const locks = withoutPractice(await locksSince(store, access.locks, until))
  const buckets = ranges.map(range => bucketsOf(range, clock, now))
  const shares = await lockStatistics(locks, { since, until }, buckets)
  const periods = [...ranges.map(({ from }) => from), clock.dayOf(now) + 1].map(day => clock.startOf(day))
  const history = await trainingHistory(store, access.training)
  const all = await history.select({}, periods[0], periods.at(-1))
  const { periods: sums, spreads } = await history.summary(all, periods)
  const first = Math.min(since, history.sessions[0]?.at ?? since)
  return shares.map(({ total: locks }, index) => {
    const { sessions = 0, reps = 0 } = sums[index] ?? {}
    const grade = spreads[index]?.median ?? null
    return { year: years[index], since: index === 0 ? first : undefined, sessions, reps, grade, locks }
  })
}

/** A year that has begun. */
export async function yearStatistics(store: Store, access: YearAccess, query: YearQuery) {
  const { year, timeZone, now, until } = query
  const clock = zoneClock(timeZone)
  const [from, end] = daysOfYear(year)
  const to = Math.min(end, clock.dayOf(now))
  const [firstBefore, lastBefore] = daysOfYear(year - 1)
  const [history, locks, sessions] = await Promise.all([
    trainingHistory(store, access.training),
    lockHistory(store, access.locks),
    locksSince(store, access.locks, until, clock.startOf(firstBefore)),
  ])
  const range = monthsBetween(from, to)
  const rangeBefore = monthsBetween(firstBefore, to < end ? sameDayBefore(to) : lastBefore)
  const days = bucketsOf({ ...range, unit: 'day' }, clock, now)
  const [ofDays, ofYear, toSameDay] = await lockStatistics(withoutPractice(sessions), { since: locks.since, until }, [
    days,
    bucketsOf(range, clock, now),
    bucketsOf(rangeBefore, clock, now),
  ])
  const totalsOf = async (within: BucketRange, { total }: typeof ofYear) => {
    const { total: training } = await history.statistics({}, within, timeZone, now)
    const { from, to } = within
    const { grade } = await history.summary(await history.select({}, clock.startOf(from), clock.startOf(to + 1)))
    return { from, to, training: { ...training, grade: grade?.median ?? null }, locks: total }
  }
  const { buckets: training } = await history.statistics({}, { ...range, unit: 'day' }, timeZone, now)
  const limit = endOfTomorrow(clock, clock.dayOf(now))
  const stretches = (await locks.longest(until, limit)).filter(stretch => stretch.end <= clock.startOf(end + 1))
  return {
    year,
    isRunning: to < end,
    /** Up to its last day, or to today. */
    total: await totalsOf(range, ofYear),
    /** The year before, up to the same day while the year is running. */
    before: await totalsOf(rangeBefore, toSameDay),
    days: ofDays.buckets.map(({ lockedSeconds }, index) => {
      const day = days[index]?.day ?? from
      const { sessions = 0, reps = 0 } = training[index] ?? {}
      return { day, lockedSeconds, sessions, reps }
    }),
    /** How much was locked of each month that has begun, from January on. */
    months: ofYear.buckets,
    bests: await history.bests(timeZone, to),
    stretch: highest(stretches, ({ seconds }) => seconds),
    /** The first of all sessions that may be read. */
    firstTraining: history.sessions.find(({ at }) => at < limit),
    firstLock: locks.entries.findLast(({ at }) => at < limit),
  }
}

function daysOfYear(year: number): readonly [from: number, to: number] {
  return [dayOf(year, '01-01'), dayOf(year, '12-31')]
}

/** That of the year before; 28 February for 29 February. */
function sameDayBefore(day: number): number {
  const [year = '', month = '', date = ''] = formatDate(day).split('-')
  const days = `${month}-${date}`
  return dayOf(Number(year) - 1, days === '02-29' ? '02-28' : days)
}

function dayOf(year: number, monthAndDay: string): number {
  // Days of any other year than a leap year exist in all of them.
  return parseDate(`${String(year).padStart(4, '0')}-${monthAndDay}`) ?? NaN
}

function monthsBetween(from: number, to: number): BucketRange {
  return { unit: 'month', weekStart: 'monday', from, to }
}
