/** Days, weeks and months in the calendar of a time zone. */

/** The instants at which periods begin, in order; each lasts until the next. The last one only ends the one before it. */
export type Periods = readonly number[]

type Unit = 'day' | 'week' | 'month'

/**
 * The periods from the one that holds `from` to the one that holds `to`. Weeks begin on Monday. A day has 23 or 25 hours
 * where clocks change; a day that the zone skipped has no period.
 */
export function periodsBetween(unit: Unit, from: number, to: number, zone: string): Periods {
  const starts: number[] = []
  let date = startOf(unit, dateAt(from, zone))
  for (;;) {
    const start = date.toZonedDateTime(zone).epochMilliseconds
    if (start !== starts.at(-1)) starts.push(start)
    if (start > to) return starts
    date = date.add(STEPS[unit])
  }
}

/** The last `count` periods, the one that holds `now` included. */
export function lastPeriods(unit: Unit, count: number, now: number, zone: string): Periods {
  const first = startOf(unit, dateAt(now, zone)).subtract(multiple(STEPS[unit], count - 1))
  return periodsBetween(unit, first.toZonedDateTime(zone).epochMilliseconds, now, zone)
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

/** What lies in each of the periods, in the order given. */
export function groupByPeriod<Item extends { readonly at: number }>(
  items: readonly Item[],
  periods: Periods,
): Item[][] {
  const groups: Item[][] = Array.from({ length: Math.max(0, periods.length - 1) }, () => [])
  for (const item of items) groups[periodOf(item.at, periods)]?.push(item)
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

/** The clock of a zone at an instant, as `YYYY-MM-DDTHH:mm:ss`. */
export function wallClock(at: number, zone: string): string {
  const known = clocks.get(zone)
  const clock = known ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  if (known === undefined) clocks.set(zone, clock)
  return clock.format(at).replace(' ', 'T')
}

/** A format is slow to make, but the fastest way to get the clock. */
const clocks = new Map<string, Intl.DateTimeFormat>()

/** The date in a zone, as `YYYY-MM-DD`. */
export function dayAt(at: number, zone: string): string {
  return dateAt(at, zone).toString()
}

/** The instants at which a day begins and ends; undefined when the text is no date. */
export function dayFrom(text: string, zone: string): readonly [start: number, end: number] | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined
  try {
    const date = Temporal.PlainDate.from(text)
    return [date.toZonedDateTime(zone).epochMilliseconds, date.add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds]
  } catch {
    return undefined
  }
}

const STEPS = { day: { days: 1 }, week: { days: 7 }, month: { months: 1 } } as const

function dateAt(at: number, zone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate()
}

function startOf(unit: Unit, date: Temporal.PlainDate): Temporal.PlainDate {
  if (unit === 'month') return date.with({ day: 1 })
  return unit === 'week' ? date.subtract({ days: date.dayOfWeek - 1 }) : date
}

function multiple(step: { days?: number; months?: number }, count: number): { days: number; months: number } {
  return { days: (step.days ?? 0) * count, months: (step.months ?? 0) * count }
}
