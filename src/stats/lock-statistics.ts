import { roundedRatio, sum } from '../contract/numbers.ts'
import { pause } from '../fairness.ts'
import { boundariesOf, type Bucket } from './buckets.ts'
import type { LockInterval, LockRules } from './intervals.ts'
import { type Periods, periodOf } from './periods.ts'

/** What statistics need to know of a lock session. */
export interface LockTimes {
  readonly at: number
  /** When it ended, null while it runs. */
  readonly endAt: number | null
  /** Up to its end, or to the present. */
  readonly intervals: readonly LockInterval[]
}

/** The states of a lock. If sessions overlap, the first of these counts. `before` is the time before all of them. */
const STATES = ['locked', 'break', 'open', 'unknown', 'before'] as const
type State = (typeof STATES)[number]

/** A time, in whole seconds since 1970, during which the state does not change. */
interface StateInterval {
  readonly state: State
  readonly start: number
  readonly end: number
}

/**
 * The statistics of lock sessions by bucket, and in total, for each list of buckets. Not known is the time before `since`, that after
 * `until`, and that of sessions without events. Others have their turns meanwhile.
 */
export async function lockStatistics<const Lists extends readonly (readonly Bucket[])[]>(
  sessions: readonly LockTimes[],
  { since, until }: { readonly since: number; readonly until: number },
  lists: Lists,
) {
  const all = lists.map(lockFigures)
  for (const states of statesInParts(sessions, until, since)) {
    for (const figures of all) figures.add(states)
    await pause()
  }
  // There is one for each list.
  return all.map(figures => figures.sums(sessions, until)) as {
    readonly [Index in keyof Lists]: ReturnType<ReturnType<typeof lockFigures>['sums']>
  }
}

/** The seconds in each state, by bucket and in total. */
function lockFigures(buckets: readonly Bucket[]) {
  const periods = boundariesOf(buckets)
  const times = buckets.map(() => ({ ...NO_TIME }))
  const total = { ...NO_TIME }
  const whole = { start: periods[0] ?? 0, end: periods.at(-1) ?? 0 }
  return {
    add(states: readonly StateInterval[]) {
      addTimes(times, states, periods)
      addTimes([total], states, [whole.start, whole.end])
    },
    sums(sessions: readonly LockTimes[], now: number) {
      const count = (instants: readonly number[]) => {
        const counts = buckets.map(() => 0)
        for (const at of instants) {
          const index = at <= now ? periodOf(at, periods) : -1
          if (index >= 0) counts[index] = (counts[index] ?? 0) + 1
        }
        return counts
      }
      const started = count(sessions.map(({ at }) => at))
      const ended = count(sessions.map(({ endAt }) => endAt ?? Infinity))
      return {
        total: statisticsOf(total, sum(started), sum(ended), whole, now),
        buckets: buckets.map((bucket, index) =>
          statisticsOf(times[index] ?? NO_TIME, started[index] ?? 0, ended[index] ?? 0, bucket, now),
        ),
      }
    },
  }
}

/** The times, in milliseconds, in which any of the sessions was locked. */
export function lockedTimes(sessions: readonly LockTimes[], now: number): { start: number; end: number }[] {
  return stateIntervals(sessions, now)
    .filter(({ state }) => state === 'locked')
    .map(({ start, end }) => ({ start: start * 1000, end: end * 1000 }))
}

/** The sessions that sums include: all but those for practice. */
export function withoutPractice<Session extends { readonly rules: LockRules | undefined }>(
  sessions: readonly Session[],
): Session[] {
  return sessions.filter(({ rules }) => rules?.isPractice !== true)
}

/**
 * The states of all sessions together, in order. Each second counts once: as locked, else as a break, else as open. It is unknown where
 * there are only sessions without events, and `before` until `since` where there are none.
 */
function stateIntervals(sessions: readonly LockTimes[], now: number, since = -Infinity): StateInterval[] {
  const edges: { readonly at: number; readonly state: number; readonly change: 1 | -1 }[] = []
  const add = ({ start, end, state }: { readonly start: number; readonly end: number; readonly state: number }) =>
    edges.push({ at: start, state, change: 1 }, { at: end, state, change: -1 })
  const known = seconds(Math.min(since, now))
  if (known > -Infinity) add({ start: -Infinity, end: known, state: 4 })
  for (const session of sessions) {
    for (const state of statesOf(session, now)) add(state)
  }
  edges.sort((a, b) => a.at - b.at)
  const running = STATES.map(() => 0)
  const intervals: StateInterval[] = []
  for (const [index, { at, state, change }] of edges.entries()) {
    running[state] = (running[state] ?? 0) + change
    const end = edges[index + 1]?.at ?? at
    const current = STATES[running.findIndex(count => count > 0)]
    if (end === at || current === undefined) continue
    const last = intervals.at(-1)
    if (last !== undefined && last.state === current && last.end === at) {
      intervals[intervals.length - 1] = { ...last, end }
    } else intervals.push({ state: current, start: at, end })
  }
  return intervals
}

/** `stateIntervals` of few sessions at a time, without cutting an interval: what touches the end of a part comes with the next one. */
function* statesInParts(
  sessions: readonly LockTimes[],
  now: number,
  since: number,
): Generator<readonly StateInterval[]> {
  const startOf = ({ at, intervals }: LockTimes) => seconds(Math.min(at, intervals[0]?.start ?? at))
  const endOf = ({ endAt, intervals }: LockTimes) => seconds(Math.max(endAt ?? now, intervals.at(-1)?.end ?? 0))
  const ordered = sessions.toSorted((a, b) => startOf(a) - startOf(b))
  let open: readonly LockTimes[] = []
  let last: StateInterval | undefined
  // Without sessions there is one part: the time before them.
  for (let index = 0; index === 0 || index < ordered.length; index += SESSIONS_IN_PART) {
    const some = ordered.slice(index, index + SESSIONS_IN_PART)
    const [first, next] = [ordered[index], ordered[index + SESSIONS_IN_PART]]
    const from = first === undefined || index === 0 ? -Infinity : startOf(first)
    const to = next === undefined ? Infinity : startOf(next)
    open = [...open.filter(session => endOf(session) > from), ...some]
    const states: StateInterval[] = last === undefined ? [] : [last]
    for (const { state, start, end } of stateIntervals(open, now, since)) {
      const cut = { state, start: Math.max(start, from), end: Math.min(end, to) }
      if (cut.start >= cut.end) continue
      const before = states.at(-1)
      if (before?.state === state && before.end === cut.start) states[states.length - 1] = { ...before, end: cut.end }
      else states.push(cut)
    }
    last = next === undefined ? undefined : states.pop()
    yield states
  }
}

/** So few that they take about a millisecond. */
const SESSIONS_IN_PART = 100

/** The states of one session, as indexes of STATES. Before its first event it is open; without events, nothing is known. */
function* statesOf({ at, endAt, intervals }: LockTimes, now: number) {
  const end = seconds(Math.min(endAt ?? now, now))
  const first = Math.min(seconds(intervals[0]?.start ?? Infinity), end)
  if (seconds(at) < first) yield { start: seconds(at), end: first, state: intervals.length === 0 ? 3 : 2 }
  for (const { start, end, locked, type } of intervals) {
    if (seconds(start) < seconds(end)) {
      yield { start: seconds(start), end: seconds(end), state: locked ? 0 : type === 'break' ? 1 : 2 }
    }
  }
}

type StateTimes = Record<State | 'longest', number>

const NO_TIME: Readonly<StateTimes> = { locked: 0, break: 0, open: 0, unknown: 0, before: 0, longest: 0 }

/** Adds seconds in each state by period. The boundaries of periods are whole seconds. */
function addTimes(times: readonly StateTimes[], intervals: readonly StateInterval[], periods: Periods) {
  const [first = Infinity, last = -Infinity] = [periods[0], periods.at(-1)]
  for (const { state, start, end } of intervals) {
    if (end * 1000 <= first || start * 1000 >= last) continue
    let index = periodOf(Math.max(start * 1000, first), periods)
    for (let period = times[index]; period !== undefined; period = times[++index]) {
      const from = Math.max(start, seconds(periods[index] ?? 0))
      const to = Math.min(end, seconds(periods[index + 1] ?? 0))
      if (from >= to) break
      period[state] += to - from
      if (state === 'locked') period.longest = Math.max(period.longest, to - from)
    }
  }
}

type Time = Pick<Bucket, 'start' | 'end'>

export type LockStatistics = ReturnType<typeof statisticsOf>

function statisticsOf(times: Readonly<StateTimes>, started: number, ended: number, { start, end }: Time, now: number) {
  const elapsed = Math.max(0, seconds(Math.min(end, now)) - seconds(start))
  const knownSeconds = elapsed - times.unknown - times.before
  return {
    started,
    ended,
    lockedSeconds: times.locked,
    breakSeconds: times.break,
    openSeconds: times.open + times.unknown,
    /** Of the longest locked interval, as far as it lies in the bucket. */
    longestLockedSeconds: times.longest,
    lockedPercent: percentOf(times.locked, elapsed),
    /** Seconds that have passed of which it is known whether a lock was closed, and the locked ones in percent of them. */
    knownSeconds,
    percent: percentOf(times.locked, knownSeconds),
  }
}

function percentOf(part: number, whole: number): number | null {
  return roundedRatio(part * 1000, whole, 10)
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
