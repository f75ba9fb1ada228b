import { DAY_MS, parseDay } from './time.ts'

/** Days, weeks and months of the calendar. A day is a number: days since 1970-01-01. */

export type Unit = 'day' | 'week' | 'month'
export type BucketUnit = 'hour' | Unit
export const weekStarts = ['monday', 'sunday'] as const
export type WeekStart = (typeof weekStarts)[number]

/** Days, both included, and how they are divided. */
export interface BucketRange {
  readonly unit: BucketUnit
  readonly weekStart: WeekStart
  readonly from: number
  readonly to: number
}

/** The day of a date as `YYYY-MM-DD`; undefined if there is no such date. */
export function parseDate(text: string): number | undefined {
  const start = parseDay(text)
  return start === undefined ? undefined : start / DAY_MS
}

/** A day as `YYYY-MM-DD`. */
export function formatDate(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/**
 * Completes a range: without an end it ends today, and without a start it has twelve buckets, the one that contains its end
 * included; those of hours are a day.
 */
export function rangeBetween(
  {
    unit,
    weekStart,
    from,
    to,
  }: Pick<BucketRange, 'unit' | 'weekStart'> & Partial<Record<'from' | 'to', number | undefined>>,
  today: number,
): BucketRange {
  const end = to ?? today
  const start = unit === 'hour' ? end : addBuckets(unit, bucketStart(unit, weekStart, end), 1 - DEFAULT_BUCKETS)
  return { unit, weekStart, from: from ?? start, to: end }
}

const DEFAULT_BUCKETS = 12

/** How many days, weeks or months a range touches; how many hours it has where no clock changes. */
export function countBuckets({ unit, weekStart, from, to }: BucketRange): number {
  if (unit === 'hour') return (to - from + 1) * 24
  const [first, last] = [bucketStart(unit, weekStart, from), bucketStart(unit, weekStart, to)]
  if (unit === 'month') return monthOf(last) - monthOf(first) + 1
  return (last - first) / (unit === 'week' ? 7 : 1) + 1
}

/** The first day of the week or month that a day lies in. */
export function bucketStart(unit: Unit, weekStart: WeekStart, day: number): number {
  if (unit === 'day') return day
  if (unit === 'month') return firstOfMonth(monthOf(day))
  // 1970-01-01 was a Thursday.
  const weekday = (((day + (weekStart === 'monday' ? 3 : 4)) % 7) + 7) % 7
  return day - weekday
}

/** The first day of the bucket that comes `count` buckets after the one that starts with `day`. */
export function addBuckets(unit: Unit, day: number, count: number): number {
  if (unit === 'month') return firstOfMonth(monthOf(day) + count)
  return day + count * (unit === 'week' ? 7 : 1)
}

/** Months since the start of the year 0. */
function monthOf(day: number): number {
  const date = new Date(day * DAY_MS)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

function firstOfMonth(month: number): number {
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  return new Date(0).setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1) / DAY_MS
}
