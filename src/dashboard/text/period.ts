import { DAY_MS, bucketStart, formatDate, parseDate } from '../../contract/time.ts'
import { zoneClock } from '../../stats/zone-clock.ts'
import { countText, dateText, dayRange } from './text.ts'

/**
 * The days that a page shows: what a preset, a step and a comparison cover. Titles, sentences, figures, charts, links and files of a page
 * take them from here. A day is a number (`contract/time.ts`), and a period has whole days of the zone of the account.
 */

/** How many weeks each preset has: whole ones from Monday on, and this one so far. */
export const presets = { '4w': 4, '12w': 12, '6m': 26, '1y': 52, all: undefined } as const
export type Preset = keyof typeof presets

export const DEFAULT_PRESET = '12w'

/** The part of an address that says which days are shown. */
export interface PeriodQuery {
  readonly preset: Preset
  /** The first and the last day, in place of the preset. They are as somebody entered them: the first may be the later one. */
  readonly days?: readonly [first: number, last: number] | undefined
}

export interface Days {
  readonly first: number
  readonly last: number
}

/** The days that are shown. Days to come are left out, unless there are no others. */
export interface Period extends Days {
  /** How many days it has with those to come, by which the arrows step; 0 if the first day is later than the last. */
  readonly length: number
  readonly today: number
}

/** Reads the period of an address; what is no date or no preset is ignored. A first day alone means up to today. */
export function readPeriod(query: URLSearchParams, now: number, timeZone: string): PeriodQuery {
  const dayOf = (name: string) => parseDate(query.get(name) ?? '')
  const [day, from, to] = ['day', 'from', 'to'].map(dayOf)
  const read = { preset: presetNames.find(name => name === query.get('range')) ?? DEFAULT_PRESET }
  if (day !== undefined) return { ...read, days: [day, day] }
  if (from === undefined && to === undefined) return read
  const last = to ?? Math.max(from ?? 0, zoneClock(timeZone).dayOf(now))
  return { ...read, days: [from ?? last + 1 - 7 * (presets[read.preset] ?? presets[DEFAULT_PRESET]), last] }
}

export function writePeriod(query: URLSearchParams, { preset, days }: PeriodQuery) {
  if (days === undefined) {
    if (preset !== DEFAULT_PRESET) query.set('range', preset)
  } else if (days[0] === days[1]) query.set('day', formatDate(days[0]))
  else {
    query.set('from', formatDate(days[0]))
    query.set('to', formatDate(days[1]))
  }
}

/** The days of a period; undefined for the preset of all days. */
export function periodFor({ preset, days }: PeriodQuery, now: number, timeZone: string): Period | undefined {
  const weeks = presets[preset]
  const today = zoneClock(timeZone).dayOf(now)
  if (days === undefined) {
    if (weeks === undefined) return undefined
    return { first: bucketStart('week', 'monday', today) - 7 * (weeks - 1), last: today, length: 7 * weeks, today }
  }
  const [first, end] = days
  const length = Math.max(0, end + 1 - first)
  return { first, last: length === 0 || first > today ? end : Math.min(end, today), length, today }
}

/** The weeks of a period that consists of whole ones and this one so far. */
function weeksUpTo({ first, length, today }: Period): number | undefined {
  const isUpToNow = first + length === bucketStart('week', 'monday', today) + 7
  return isUpToNow && length > 0 && length % 7 === 0 ? length / 7 : undefined
}

/** The days of a figure, for its mark (`figure` in html.ts): those that have been. */
export function daysName(days: (Days & { readonly today?: number }) | undefined): string {
  if (days === undefined) return 'all'
  const { first, last, today = last } = days
  return `${formatDate(first)}/${formatDate(Math.min(last, today))}`
}

export function timeOfDays({ first, last }: Days, timeZone: string): { readonly from: number; readonly to: number } {
  const clock = zoneClock(timeZone)
  const from = clock.startOf(first)
  return { from, to: Math.max(from, clock.startOf(last + 1)) }
}

/** The period that so many steps lead to; undefined if all of its days are to come. A preset where they are its days. */
export function stepFrom({ first, length, today }: Period, steps: number): Partial<PeriodQuery> | undefined {
  const start = first + steps * length
  if (length === 0 || (steps > 0 && start > today)) return undefined
  const weeks = weeksUpTo({ first: start, last: today, length, today })
  const preset = weeks === undefined ? undefined : presetNames.find(name => presets[name] === weeks)
  return preset === undefined ? { days: [start, start + length - 1] } : { preset, days: undefined }
}

/** The days that a period is compared with: as many as it shows, right before. */
export function comparedDays({ first, last, length }: Period): Days {
  return { first: first - length, last: last - length }
}

/** Why a page shows no days, or none that have been. */
export function periodProblem({ first, last, length, today }: Period): string | undefined {
  if (length === 0) return `From (${dayText(first)}) is later than To (${dayText(last)}), so no day is shown.`
  return first > today ? 'These days are yet to come.' : undefined
}

/** `10 days`, `12 weeks` */
function lengthText(days: number): string {
  return days >= WEEKS_FROM && days % 7 === 0 ? countText(days / 7, 'week') : countText(days, 'day')
}

const WEEKS_FROM = 28

/** `in the last 4 weeks`, `this week`, `in these 10 days`, `on this day` */
export function periodText(period: Period): string {
  const { first, last, today } = period
  const weeks = weeksUpTo(period)
  if (weeks !== undefined) return weeks === 1 ? 'this week' : `in the last ${countText(weeks, 'week')}`
  if (first === last) return last === today ? 'today' : 'on this day'
  return `in ${last === today ? 'the last' : 'these'} ${lengthText(last + 1 - first)}`
}

/** `in the 10 days before`: what a period is compared with. */
export function comparedText({ first, last, length }: Period): string {
  const toCome = length - (last + 1 - first)
  // The rest of a week changes little of several.
  if (toCome > (length < WEEKS_FROM ? 0 : 6))
    return `in the same part of the ${length === 7 ? 'week' : lengthText(length)} before`
  return length === 1 ? 'on the day before' : `in the ${lengthText(length)} before`
}

/** `24 Aug – 21 Nov`, with the years where they are not this one's. */
export function daysText({ first, last }: Days): string {
  return first === last ? dayText(first) : dayRange(first * DAY_MS, last * DAY_MS)
}

export function dayText(day: number): string {
  return dateText({ timeZone: 'UTC' }, day * DAY_MS)
}

export function presetTitle(preset: Preset, form?: 'short'): string {
  const weeks = presets[preset]
  if (weeks === undefined) return 'All'
  return form === 'short' ? `${weeks}\u00a0w` : countText(weeks, 'week')
}

// These are all of its keys.
export const presetNames = Object.keys(presets) as Preset[]
