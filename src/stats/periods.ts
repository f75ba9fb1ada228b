import { formatDate, parseDate } from '../contract/time.ts'
import type { Periods } from './buckets.ts'
import { zoneClock } from './zone-clock.ts'

/** Days, weeks and months in the calendar of a time zone. */

export type { Periods } from './buckets.ts'

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
