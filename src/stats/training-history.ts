import type { OwnerAccess } from '../accounts/access.ts'
import type { BucketRange } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { forEachPausing } from '../fairness.ts'
import { bestsOf } from './bests.ts'
import { bucketsOf } from './buckets.ts'
import { cacheOf } from './history-cache.ts'
import type { Periods } from './periods.ts'
import { trainingStatusOf } from './status.ts'
import { streaksOf } from './streaks.ts'
import { trainingSessions } from './training-queries.ts'
import { trainingStatistics } from './training-statistics.ts'
import { type Filters, matching, sessionsBetween, type SessionStats, summarize } from './training.ts'
import { endOfTomorrow, type ZoneClock, zoneClock } from './zone-clock.ts'

/**
 * All training sessions of an account that a caller may read, because streaks and bests need every one of them; the oldest first. They are
 * in memory until they change, and what is computed from them with them. Others have their turns during what takes long. Throws ApiError
 * if they are too many.
 */
export async function trainingHistory(store: Store, { owner, start }: OwnerAccess) {
  const cache = await cacheOf(store, owner)
  const all = await cache.get(
    'training',
    () => trainingSessions(store, { owner, start: Number.MIN_SAFE_INTEGER }),
    ({ bytes }) => bytes,
  )
  const sessions = sessionsBetween(all.sessions, start)
  const cached = <Value>(key: string, compute: () => Promise<Value> | Value, bytesOf: (value: Value) => number) =>
    cache.get(`training from ${start}: ${key}`, compute, bytesOf)

  /** The sessions that match, from one instant to before another. */
  const select = async (filters: Filters, from = -Infinity, to = Infinity): Promise<Selection> => {
    const within = sessionsBetween(sessions, from, to)
    const { type, program, passed } = filters
    const name = JSON.stringify([within[0]?.id, within.length, type, program, passed])
    if (type === undefined && program === undefined && passed === undefined) return { name, sessions: within }
    const found: SessionStats[] = []
    await forEachPausing(within, session => {
      const match = matching(session, filters)
      if (match !== undefined) found.push(match)
    })
    return { name, sessions: found }
  }

  return {
    sessions,
    select,
    /** What pages show of some sessions, in all and by period. */
    summary({ name, sessions: selected }: Selection, periods: Periods = []) {
      const compute = () => summarize(selected, periods)
      return cached(`summary ${name} ${periods.join()}`, compute, () => (periods.length + 1) * 2 * FIGURES_BYTES)
    },

    /** The present state, which depends on the day, not on the time of day. */
    status(timeZone: string, now: number) {
      const clock = zoneClock(timeZone)
      const today = clock.dayOf(now)
      const compute = () => trainingStatusOf(sessions, clock, today)
      return cached(`status ${timeZone} ${today}`, compute, () => FIGURES_BYTES)
    },

    /** The highest values up to a day; of equal ones, the latest. */
    bests(timeZone: string, lastDay: number) {
      const compute = () => bestsOf(sessions, zoneClock(timeZone), lastDay)
      return cached(`bests ${timeZone} ${lastDay}`, compute, () => FIGURES_BYTES)
    },

    /** How often each program was run, by its identifier. */
    programUses(timeZone: string, now: number): Promise<ReadonlyMap<number, Readonly<ProgramUse>>> {
      const clock = zoneClock(timeZone)
      const end = endOfTomorrow(clock, clock.dayOf(now))
      const compute = () => usesOf(sessions, end)
      return cached(`programs before ${end}`, compute, ({ size }) => size * FIGURES_BYTES)
    },

    /** By bucket and in total, with the streaks over all days. */
    async statistics(filters: Filters, range: BucketRange, timeZone: string, now: number) {
      const clock = zoneClock(timeZone)
      const today = clock.dayOf(now)
      const compute = async () => {
        const { sessions: selected } = await select(filters)
        const sums = await trainingStatistics(selected, bucketsOf(range, clock, now), clock)
        return { ...sums, streaks: streaksOf(await daysOf(selected, clock), today, clock) }
      }
      return cached(`statistics ${JSON.stringify([filters, range, timeZone, today])}`, compute, ({ buckets }) => {
        return (buckets.length + 1) * STATISTICS_BYTES
      })
    },
  }
}

async function daysOf(sessions: readonly SessionStats[], clock: ZoneClock): Promise<number[]> {
  const days = new Set<number>()
  await forEachPausing(sessions, ({ at }) => days.add(clock.dayOf(at)))
  return [...days]
}

async function usesOf(sessions: readonly SessionStats[], end: number) {
  const uses = new Map<number, ProgramUse>()
  await forEachPausing(sessions, ({ program, passed, at, grade }) => {
    const use = uses.getOrInsertComputed(program, () => {
      return { sessions: 0, passed: 0, last: null, graded: 0, firstGrades: [], lastGrades: [] }
    })
    use.sessions += 1
    use.passed += passed ? 1 : 0
    if (at >= end) return
    use.last = at
    if (grade === null) return
    use.graded += 1
    if (use.graded <= 10) use.firstGrades.push(grade)
    use.lastGrades = [...use.lastGrades.slice(-9), { value: grade, isPassed: passed }]
  })
  return uses
}

/** Some sessions of a history, with a name that no others of it have. */
export interface Selection {
  readonly name: string
  readonly sessions: readonly SessionStats[]
}

/** How often a program was run, and with what result. */
export interface ProgramUse {
  sessions: number
  passed: number
  /** When the last session with it was recorded; null if none has a date that can be meant. */
  last: number | null
  /** How many sessions have a grade and a date that can be meant; of them the first ten, and the last ten, the oldest first. */
  graded: number
  readonly firstGrades: number[]
  lastGrades: readonly { readonly value: number; readonly isPassed: boolean }[]
}

/** What some figures take in memory, and those of a bucket. */
const FIGURES_BYTES = 200
const STATISTICS_BYTES = 1500
