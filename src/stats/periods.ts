import { addBuckets, bucketStart, formatDate, parseDate, type Unit } from '../contract/calendar.ts'
import { boundariesOf, bucketsOf, type Periods } from './buckets.ts'
import { type ZoneClock, zoneClock } from './zone-clock.ts'

/** Days, weeks and months in the calendar of a time zone. */

export type { Periods } from './buckets.ts'

/** The periods from the one that holds `from` to the one that holds `to`. Weeks begin on Monday. */
export function periodsBetween(unit: Unit, from: number, to: number, zone: string): Periods {
  const clock = zoneClock(zone)
  return wholePeriods(unit, clock.dayOf(from), clock.dayOf(to), clock)
}

/** The periods from the one of a day to that of another. */
function wholePeriods(unit: Unit, first: number, last: number, clock: ZoneClock): Periods {
  const from = bucketStart(unit, 'monday', first)
  const to = addBuckets(unit, bucketStart(unit, 'monday', last), 1) - 1
  return boundariesOf(bucketsOf({ unit, weekStart: 'monday', from, to }, clock, 0))
}

/** Which period an instant lies in, -1 for none. */
export function periodOf(at: number, periods: Periods): number {
  if (at < (periods[0] ?? Infinity) || at >= (periods.at(-1) ?? -Infinity)) return -1
  let low = 0
  let high = periods.length - 1
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((periods[middle] ?? Infinity) <= at) low = middle
    else high = middle
  }
  return low
}

/** The same, faster if the instant lies in the period `index`. */
export function periodNear(index: number, at: number, periods: Periods): number {
  return at >= (periods[index] ?? Infinity) && at < (periods[index + 1] ?? -Infinity) ? index : periodOf(at, periods)
}

/** How many milliseconds of the intervals lie between two instants. */
export function timeWithin(
  intervals: readonly { readonly start: number; readonly end: number }[],
  start: number,
  end: number,
): number {
  return intervals.reduce((sum, one) => sum + Math.max(0, Math.min(one.end, end) - Math.max(one.start, start)), 0)
}

/** The local time in a zone, as `YYYY-MM-DDTHH:mm:ss`. */
export function wallClock(at: number, zone: string): string {
  const known = clocks.get(zone)
  const clock = known ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  if (known === undefined) clocks.set(zone, clock)
  return clock.format(at).replace(' ', 'T')
}

/** A format is slow to create, but the fastest way to get local times. */
const clocks = new Map<string, Intl.DateTimeFormat>()

/** The date in a zone, as `YYYY-MM-DD`. */
export function dayAt(at: number, zone: string): string {
  return formatDate(zoneClock(zone).dayOf(at))
}

/** The instants at which a day begins and ends; undefined when the text is no date. */
export function dayFrom(text: string, zone: string): readonly [start: number, end: number] | undefined {
  const day = parseDate(text)
  const clock = zoneClock(zone)
  return day === undefined ? undefined : [clock.startOf(day), clock.startOf(day + 1)]
}
