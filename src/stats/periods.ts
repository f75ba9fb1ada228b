import { addBuckets, bucketStart, formatDate, parseDate, type Unit } from '../contract/calendar.ts'
import { zoneClock } from './zone-clock.ts'

/** Days, weeks and months in the calendar of a time zone. */

/** The instants at which periods begin, in order; each lasts until the next. The last one only ends the one before it. */
export type Periods = readonly number[]

/**
 * The periods from the one that holds `from` to the one that holds `to`. Weeks begin on Monday. A day has 23 or 25 hours
 * where clocks change; a day that the zone skipped has no period.
 */
export function periodsBetween(unit: Unit, from: number, to: number, zone: string): Periods {
  const clock = zoneClock(zone)
  return periodsOfDays(unit, firstDayOf(unit, clock.dayOf(from)), firstDayOf(unit, clock.dayOf(to)), zone)
}

/** The last `count` periods, the one that holds `now` included. */
export function lastPeriods(unit: Unit, count: number, now: number, zone: string): Periods {
  const last = firstDayOf(unit, zoneClock(zone).dayOf(now))
  return periodsOfDays(unit, addBuckets(unit, last, 1 - count), last, zone)
}

/** The periods from one first day to another. */
function periodsOfDays(unit: Unit, first: number, last: number, zone: string): Periods {
  const clock = zoneClock(zone)
  const starts = [clock.startOf(first)]
  for (let day = first; day <= last;) {
    day = addBuckets(unit, day, 1)
    const start = clock.startOf(day)
    // A day that the zone skipped starts where the next one does.
    if (start !== starts.at(-1)) starts.push(start)
  }
  return starts
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

/** The items in each of the periods, in their order. */
export function groupByPeriod<Item extends { readonly at: number }>(
  items: readonly Item[],
  periods: Periods,
): Item[][] {
  const groups: Item[][] = Array.from({ length: Math.max(0, periods.length - 1) }, () => [])
  let index = -1
  for (const item of items) {
    index = periodNear(index, item.at, periods)
    groups[index]?.push(item)
  }
  return groups
}

/** How many milliseconds of the intervals lie in each of the periods. */
export function timeByPeriod(
  intervals: readonly { readonly start: number; readonly end: number }[],
  periods: Periods,
): number[] {
  const sums = Array.from({ length: Math.max(0, periods.length - 1) }, () => 0)
  for (const { start, end } of intervals) {
    let index = periodOf(Math.max(start, periods[0] ?? Infinity), periods)
    while (index >= 0 && index < sums.length && (periods[index] ?? Infinity) < end) {
      const from = Math.max(start, periods[index] ?? 0)
      const to = Math.min(end, periods[index + 1] ?? 0)
      sums[index] = (sums[index] ?? 0) + Math.max(0, to - from)
      index += 1
    }
  }
  return sums
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

/** The first day of the period that a day lies in. */
function firstDayOf(unit: Unit, day: number): number {
  return bucketStart(unit, 'monday', day)
}
