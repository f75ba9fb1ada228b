/** Instants, days of the calendar and time zones. */

/** Milliseconds since 1970 of an RFC 3339 date-time; undefined for other text. Digits beyond milliseconds are cut off. */
export function parseTimestamp(text: string): number | undefined {
  const parsed = parseInstant(text)
  return parsed?.hasZone === true ? parsed.instant : undefined
}

/** The same for text that other programs wrote: without a zone it is UTC. `isCut` says that digits were cut off. */
export function parseInstant(text: string) {
  const parts = DATE_TIME.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', zone, sign, offsetHour = '0', offsetMinute = '0'] =
    parts
  const days = utcDay(Number(year), Number(month), Number(day))
  if (days === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1)
  const seconds = (Number(hour) * 60 + Number(minute) - offset) * 60 + Number(second)
  const instant = days + seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  if (instant < EARLIEST || instant > LATEST) return undefined
  return { instant, hasZone: zone !== undefined, isCut: /[1-9]/.test(fraction.slice(3)) }
}

/** Milliseconds since 1970 of the start of a UTC day written `YYYY-MM-DD`; undefined for other text. */
export function parseDay(text: string): number | undefined {
  const parts = DAY.exec(text)
  return parts === null ? undefined : utcDay(Number(parts[1]), Number(parts[2]), Number(parts[3]))
}

/** An instant as the API sends it: UTC, with milliseconds only when they are not zero. */
export function formatTimestamp(instant: number): string {
  const text = new Date(instant).toISOString()
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : text
}

/** The same; null stays null. */
export function formatOptionalTimestamp(instant: number | null): string | null {
  return instant === null ? null : formatTimestamp(instant)
}

export const HOUR_MS = 3_600_000
export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

/** The last instant that can be written with a year of four digits. */
export const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|([+-])(\d\d):(\d\d))?$/
const DAY = /^(\d{4})-(\d\d)-(\d\d)$/

// An offset can move an instant out of the years of four digits.
const EARLIEST = Date.parse('0000-01-01T00:00:00Z')

function utcDay(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  // Date.UTC reads the years 0 to 99 as 1900 to 1999.
  return year >= 100 ? Date.UTC(year, month - 1, day) : new Date(0).setUTCFullYear(year, month - 1, day)
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** Of the calendar, whose days are numbers: days since 1970-01-01. */
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
  asked: Pick<BucketRange, 'unit' | 'weekStart'> & Partial<Record<'from' | 'to', number | undefined>>,
  today: number,
): BucketRange {
  const { unit, weekStart, from, to } = asked
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

/**
 * Whether a name is one of the IANA data, in its casing: `Europe/Berlin`, `Asia/Kathmandu`, `UTC`. An offset is no name:
 * it has no summer time.
 */
export function isTimeZone(name: string): boolean {
  return knownTimeZone(name) === name
}

/** A name in the casing of the IANA data, whatever its own; undefined if there is no such zone. */
export function knownTimeZone(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId
  } catch {
    return undefined
  }
}
