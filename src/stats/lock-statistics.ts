import { roundedRatio, sum } from '../contract/numbers.ts'
import { turnOf } from '../turns.ts'
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

export interface LockStatistics {
  readonly started: number
  readonly ended: number
  readonly lockedSeconds: number
  readonly breakSeconds: number
  readonly openSeconds: number
  /** The longest locked interval, as far as it lies in the bucket. */
  readonly longestLockedSeconds: number
  /** Locked time in percent of the time that has passed, with one decimal; null if none has passed. */
  readonly lockedPercent: number | null
}

/** How much of a time was locked. */
export interface LockedShare extends Pick<Bucket, 'start' | 'end' | 'partial'> {
  readonly lockedSeconds: number
  readonly breakSeconds: number
  /** The longest locked interval, as far as it lies here. */
  readonly longestLockedSeconds: number
  /** Seconds up to now of which it is known whether a lock was closed. */
  readonly knownSeconds: number
  /** Locked time in percent of the known time, with one decimal; null if nothing is known. */
  readonly percent: number | null
}

/** The states of a lock. If sessions overlap, the first of these counts. */
const STATES = ['locked', 'break', 'open', 'unknown'] as const
type State = (typeof STATES)[number]

/** A time, in whole seconds since 1970, during which the state does not change. */
interface StateInterval {
  readonly state: State
  readonly start: number
  readonly end: number
}

interface LockSums {
  readonly total: LockStatistics
  readonly buckets: readonly LockStatistics[]
}

/** The statistics of lock sessions by bucket, and in total. */
export function lockStatistics(sessions: readonly LockTimes[], buckets: readonly Bucket[], now: number): LockSums {
  const states = stateIntervals(sessions, now)
  const boundaries = boundariesOf(buckets)
  return lockSums(sessions, buckets, now, timesByPeriod(states, boundaries), timesByPeriod(states, wholeOf(boundaries)))
}

/** The same, while others have their turns. */
export async function lockStatisticsInTurns(
  account: number,
  sessions: readonly LockTimes[],
  buckets: readonly Bucket[],
  now: number,
): Promise<LockSums> {
  const boundaries = boundariesOf(buckets)
  const times: StateTimes[] = []
  const whole: StateTimes[] = []
  for (const states of statesInParts(sessions, now)) {
    addTimes(times, timesByPeriod(states, boundaries))
    addTimes(whole, timesByPeriod(states, wholeOf(boundaries)))
    await turnOf('computation', account)
  }
  return lockSums(sessions, buckets, now, times, whole)
}

function lockSums(
  sessions: readonly LockTimes[],
  buckets: readonly Bucket[],
  now: number,
  times: readonly StateTimes[],
  [time = NO_TIME]: readonly StateTimes[],
): LockSums {
  const boundaries = boundariesOf(buckets)
  const started = countByPeriod(
    sessions.map(({ at }) => at).filter(at => at <= now),
    boundaries,
  )
  const ended = countByPeriod(
    sessions.map(({ endAt }) => endAt ?? Infinity).filter(at => at <= now),
    boundaries,
  )
  const parts = buckets.map((bucket, index) =>
    statisticsOf(times[index] ?? NO_TIME, started[index] ?? 0, ended[index] ?? 0, bucket, now),
  )
  const [start = 0, end = 0] = wholeOf(boundaries)
  return { total: statisticsOf(time, sum(started), sum(ended), { start, end }, now), buckets: parts }
}

function wholeOf(boundaries: Periods): Periods {
  return [boundaries[0] ?? 0, boundaries.at(-1) ?? 0]
}

/**
 * How much of each bucket was locked, and of all of them. Not known is the time before `since` (the start of the first session), that after
 * `until`, and that of sessions without events. Where all is known, the figures are those of `lockStatistics`.
 */
export function lockedShares(
  sessions: readonly LockTimes[],
  buckets: readonly Bucket[],
  { since, until }: { readonly since: number; readonly until: number },
): { readonly total: LockedShare; readonly buckets: readonly LockedShare[] } {
  const boundaries = boundariesOf(buckets)
  const [start = 0, end = 0] = [boundaries[0], boundaries.at(-1)]
  const states = stateIntervals(sessions, until, { start, end: Math.min(since, until) })
  const shareOf = (bucket: Pick<Bucket, 'start' | 'end' | 'partial'>, times: StateTimes): LockedShare => {
    const { start, end, partial } = bucket
    const knownSeconds = elapsedSeconds(bucket, until) - times.unknown
    return {
      start,
      end,
      partial,
      lockedSeconds: times.locked,
      breakSeconds: times.break,
      longestLockedSeconds: times.longest,
      knownSeconds,
      percent: percentOf(times.locked, knownSeconds),
    }
  }
  const times = timesByPeriod(states, boundaries)
  const [whole = NO_TIME] = timesByPeriod(states, [start, end])
  return {
    total: shareOf({ start, end, partial: buckets.some(({ partial }) => partial) }, whole),
    buckets: buckets.map((bucket, index) => shareOf(bucket, times[index] ?? NO_TIME)),
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
 * The states of all sessions together, in order. Each second counts once: as locked, else as a break, else as open. It is unknown in
 * `unknown`, and where there are only sessions without events.
 */
function stateIntervals(
  sessions: readonly LockTimes[],
  now: number,
  unknown?: { readonly start: number; readonly end: number },
): StateInterval[] {
  const edges: { readonly at: number; readonly state: number; readonly change: 1 | -1 }[] = []
  const add = ({ start, end, state }: { readonly start: number; readonly end: number; readonly state: number }) =>
    edges.push({ at: start, state, change: 1 }, { at: end, state, change: -1 })
  if (unknown !== undefined && unknown.start < unknown.end) {
    add({ start: seconds(unknown.start), end: seconds(unknown.end), state: 3 })
  }
  for (const session of sessions) {
    for (const state of statesOf(session, now)) add(state)
  }
  edges.sort((a, b) => a.at - b.at)
  const running = [0, 0, 0]
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
function* statesInParts(sessions: readonly LockTimes[], now: number): Generator<readonly StateInterval[]> {
  const startOf = ({ at, intervals }: LockTimes) => seconds(Math.min(at, intervals[0]?.start ?? at))
  const endOf = ({ endAt, intervals }: LockTimes) => seconds(Math.max(endAt ?? now, intervals.at(-1)?.end ?? 0))
  const ordered = sessions.toSorted((a, b) => startOf(a) - startOf(b))
  let open: readonly LockTimes[] = []
  let last: StateInterval | undefined
  for (let index = 0; index < ordered.length; index += SESSIONS_IN_PART) {
    const some = ordered.slice(index, index + SESSIONS_IN_PART)
    const [first, next] = [ordered[index], ordered[index + SESSIONS_IN_PART]]
    const from = first === undefined ? 0 : startOf(first)
    const to = next === undefined ? Infinity : startOf(next)
    open = [...open.filter(session => endOf(session) > from), ...some]
    const states: StateInterval[] = last === undefined ? [] : [last]
    for (const { state, start, end } of stateIntervals(open, now)) {
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

function addTimes(sums: StateTimes[], times: readonly StateTimes[]) {
  for (const [index, time] of times.entries()) {
    const before = sums[index] ?? NO_TIME
    if (time.locked + time.break + time.open + time.unknown === 0 && sums[index] !== undefined) continue
    sums[index] = {
      locked: before.locked + time.locked,
      break: before.break + time.break,
      open: before.open + time.open,
      unknown: before.unknown + time.unknown,
      longest: Math.max(before.longest, time.longest),
    }
  }
}

/** The states of one session, as indexes of STATES. Before its first event it is open; without events, nothing is known. */
function* statesOf({ at, endAt, intervals }: LockTimes, now: number) {
  const end = seconds(Math.min(endAt ?? now, now))
  const first = Math.min(seconds(intervals[0]?.start ?? Infinity), end)
  if (seconds(at) < first) yield { start: seconds(at), end: first, state: intervals.length === 0 ? 3 : 2 }
  for (const { start, end, locked, kind } of intervals) {
    if (seconds(start) < seconds(end)) {
      yield { start: seconds(start), end: seconds(end), state: locked ? 0 : kind === 'break' ? 1 : 2 }
    }
  }
}

interface StateTimes {
  readonly locked: number
  readonly break: number
  readonly open: number
  readonly unknown: number
  readonly longest: number
}

const NO_TIME: StateTimes = { locked: 0, break: 0, open: 0, unknown: 0, longest: 0 }

/** Seconds in each state by period. The boundaries of periods are whole seconds. */
function timesByPeriod(intervals: readonly StateInterval[], periods: Periods): StateTimes[] {
  const times = Array.from({ length: Math.max(0, periods.length - 1) }, () => ({ ...NO_TIME }))
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
  return times
}

function statisticsOf(
  times: StateTimes,
  started: number,
  ended: number,
  bucket: Pick<Bucket, 'start' | 'end'>,
  now: number,
): LockStatistics {
  return {
    started,
    ended,
    lockedSeconds: times.locked,
    breakSeconds: times.break,
    openSeconds: times.open + times.unknown,
    longestLockedSeconds: times.longest,
    lockedPercent: percentOf(times.locked, elapsedSeconds(bucket, now)),
  }
}

function elapsedSeconds({ start, end }: Pick<Bucket, 'start' | 'end'>, now: number): number {
  return Math.max(0, seconds(Math.min(end, now)) - seconds(start))
}

function percentOf(part: number, whole: number): number | null {
  return roundedRatio(part * 1000, whole, 10)
}

function countByPeriod(instants: readonly number[], periods: Periods): number[] {
  const counts = Array.from({ length: Math.max(0, periods.length - 1) }, () => 0)
  for (const at of instants) {
    const index = periodOf(at, periods)
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1
  }
  return counts
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
