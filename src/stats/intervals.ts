import { sum } from '../contract/numbers.ts'

/** An event of a lock session as the store holds it: when (milliseconds since 1970), locked from then on, and its type. */
export type LockEvent = readonly [at: number, locked: 0 | 1, type: string]

/** A time in which the state of the lock did not change. `type` is that of the event that started it. */
export interface LockInterval {
  readonly start: number
  readonly end: number
  readonly locked: boolean
  readonly type: string
}

/**
 * The intervals of a lock session, without gaps, from its first event to its end, or to now while it is active (`endAt`
 * null). Later events are ignored. Events may be in any order, repeated or missing: a state lasts until the next event that
 * changes it. Repeated locked events make one interval; open intervals of different types (a break, the end) are separate.
 */
export function lockIntervals(events: readonly LockEvent[], endAt: number | null, now: number): LockInterval[] {
  const end = Math.min(endAt ?? now, now)
  const ordered = events.filter(([at]) => at < end).toSorted(([a], [b]) => a - b)
  const intervals: LockInterval[] = []
  for (const [index, [start, locked, type]] of ordered.entries()) {
    const next = ordered[index + 1]?.[0] ?? end
    // Of events at one instant, the last counts.
    if (next === start) continue
    const before = intervals.at(-1)
    if (before !== undefined && before.locked === (locked === 1) && (before.locked || before.type === type)) {
      intervals[intervals.length - 1] = { ...before, end: next }
    } else {
      intervals.push({ start, end: next, locked: locked === 1, type })
    }
  }
  return intervals
}

export interface LockRules {
  readonly isPractice: boolean
  readonly showsTime: boolean
}

interface Ending {
  readonly at: number
  readonly ended_at: number | null
  readonly is_active: number
}

/**
 * When a lock session ended; null while it is active, because its end is only planned then. Old records have no end: their
 * last event counts as the end.
 */
export function lockEnd({ at, ended_at, is_active }: Ending, events: readonly LockEvent[]): number | null {
  if (is_active === 1) return null
  return ended_at ?? Math.max(at, ...events.map(([at]) => at))
}

/** Milliseconds locked and not locked over all intervals, and those of the longest locked one. */
export function totalsOf(intervals: readonly LockInterval[]): { locked: number; open: number; longest: number } {
  let locked = 0
  let open = 0
  let longest = 0
  for (const { start, end, locked: isLocked } of intervals) {
    if (isLocked) {
      locked += end - start
      longest = Math.max(longest, end - start)
    } else open += end - start
  }
  return { locked, open, longest }
}

/** How many breaks there were, and how many milliseconds all of them and the longest one took. */
export function breaksOf(intervals: readonly LockInterval[]): { count: number; total: number; longest: number } {
  const lengths = intervals.filter(({ type }) => type === 'break').map(({ start, end }) => end - start)
  return { count: lengths.length, total: sum(lengths), longest: lengths.reduce((a, b) => Math.max(a, b), 0) }
}
