import { dayAt, groupByPeriod, lastPeriods, type Periods, timeByPeriod } from './periods.ts'
import { zoneClock } from './zone-clock.ts'

/** A day of the calendar, and what happened on it. */
export interface CalendarDay<Item> {
  /** As `YYYY-MM-DD`. */
  readonly date: string
  readonly start: number
  readonly end: number
  readonly items: readonly Item[]
  /** Milliseconds under lock. */
  readonly locked: number
}

interface CalendarContents<Item> {
  readonly items: readonly Item[]
  readonly locked: readonly { readonly start: number; readonly end: number }[]
}

/** The weeks up to now, from Monday to Sunday; the last ends with today. */
export function calendarWeeks<Item extends { readonly at: number }>(
  { items, locked }: CalendarContents<Item>,
  now: number,
  zone: string,
  count = 26,
): CalendarDay<Item>[][] {
  const weeks = lastPeriods('week', count, now, zone)
  const days = daysOf(weeks, now, zone)
  const byDay = groupByPeriod(items, days)
  const time = timeByPeriod(locked, days)
  const calendar = byDay.map((found, index) => ({
    date: dayAt(days[index] ?? 0, zone),
    start: days[index] ?? 0,
    end: days[index + 1] ?? 0,
    items: found,
    locked: time[index] ?? 0,
  }))
  const rows: CalendarDay<Item>[][] = []
  for (const day of calendar) {
    const week = rows.at(-1)
    if (week === undefined || weekday(day.date) === 1) rows.push([day])
    else week.push(day)
  }
  return rows
}

/** From 1 for Monday to 7 for Sunday. */
export function weekday(date: string): number {
  return Temporal.PlainDate.from(date).dayOfWeek
}

function daysOf(weeks: Periods, now: number, zone: string): Periods {
  const { dayOf } = zoneClock(zone)
  return lastPeriods('day', dayOf(now) - dayOf(weeks[0] ?? now) + 1, now, zone)
}
