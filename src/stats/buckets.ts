import { addBuckets, type BucketRange, bucketStart } from '../contract/time.ts'
import type { ZoneClock } from './zone-clock.ts'

/** An hour, a day, a week or a month, as far as it lies in the range. */
export interface Bucket {
  /** The day of the hour, or the first day of the whole week or month. */
  readonly day: number
  readonly start: number
  readonly end: number
  /** Whether it is still running. */
  readonly partial: boolean
}

/** The buckets of a range, without gaps. A day that the zone skipped has none. */
export function bucketsOf({ unit, weekStart, from, to }: BucketRange, clock: ZoneClock, now: number): Bucket[] {
  const buckets: Bucket[] = []
  if (unit === 'hour') {
    for (const { day, start, end } of bucketsOf({ unit: 'day', weekStart, from, to }, clock, now)) {
      for (let at = start; at < end;) {
        const next = Math.min(clock.nextHour(at), end)
        buckets.push({ day, start: at, end: next, partial: at <= now && now < next })
        at = next
      }
    }
    return buckets
  }
  let day = bucketStart(unit, weekStart, from)
  while (day <= to) {
    const next = addBuckets(unit, day, 1)
    const start = clock.startOf(Math.max(day, from))
    const end = clock.startOf(Math.min(next, to + 1))
    if (start < end) buckets.push({ day, start, end, partial: start <= now && now < end })
    day = next
  }
  return buckets
}

/** The instants at which periods begin, in order; each lasts until the next. The last one only ends the one before it. */
export type Periods = readonly number[]

/** The instants at which buckets start, and the one at which the last ends. */
export function boundariesOf(buckets: readonly Bucket[]): Periods {
  const last = buckets.at(-1)
  return last === undefined ? [] : [...buckets.map(({ start }) => start), last.end]
}
