import { formatDate, parseDate } from '../../contract/calendar.ts'
import { DAY_MS } from '../../contract/time.ts'
import type { Periods } from '../../stats/periods.ts'
import { zoneClock } from '../../stats/zone-clock.ts'
import { countText, dateText, NONE } from './text.ts'

/**
 * The days that a page shows: what a preset, a step and a comparison cover. Titles, sentences, figures, charts, links and files of a page
 * take them from here. A day is a number (`contract/calendar.ts`), and a period has whole days of the zone of the account.
 */

/** How many days each preset has, today included. They are whole weeks, so that all weekdays are in them equally often. */
export const presets = { '4w': 28, '12w': 84, '6m': 182, '1y': 364, all: undefined } as const
export type Preset = keyof typeof presets

export const DEFAULT_PRESET = '12w'

/** What a period can be compared with. */
export const comparisons = { before: 'Period before', year: 'Year before' } as const
export type Compare = keyof typeof comparisons

/** The part of an address that says which days are shown. */
export interface PeriodQuery {
  readonly preset: Preset
  /** The first and the last day, in place of the preset. They are as somebody entered them: the first may be the later one. */
  readonly days?: readonly [first: number, last: number] | undefined
  readonly compare?: Compare | undefined
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
  const preset = query.get('range') ?? ''
  const compare = query.get('compare') ?? ''
  const read = {
    preset: isKey(presets, preset) ? preset : DEFAULT_PRESET,
    compare: isKey(comparisons, compare) ? compare : undefined,
  } as const
  if (day !== undefined) return { ...read, days: [day, day] }
  if (from === undefined && to === undefined) return read
  const last = to ?? Math.max(from ?? 0, zoneClock(timeZone).dayOf(now))
  return { ...read, days: [from ?? last + 1 - (presets[read.preset] ?? presets[DEFAULT_PRESET]), last] }
}

/** Writes the period into an address, without defaults. */
export function writePeriod(query: URLSearchParams, { preset, days, compare }: PeriodQuery) {
  if (days === undefined) {
    if (preset !== DEFAULT_PRESET) query.set('range', preset)
  } else if (days[0] === days[1]) query.set('day', formatDate(days[0]))
  else {
    query.set('from', formatDate(days[0]))
    query.set('to', formatDate(days[1]))
  }
  if (compare !== undefined) query.set('compare', compare)
}

/** The days of a period; undefined for the preset of all days. */
export function periodFor({ preset, days }: PeriodQuery, now: number, timeZone: string): Period | undefined {
  const count = presets[preset]
  if (days === undefined) return count === undefined ? undefined : lastDays(count, now, timeZone)
  const today = zoneClock(timeZone).dayOf(now)
  const [first, end] = days
  const length = Math.max(0, end + 1 - first)
  return { first, last: length === 0 || first > today ? end : Math.min(end, today), length, today }
}

/** So many days, of which today is the last. */
export function lastDays(count: number, now: number, timeZone: string): Period {
  const today = zoneClock(timeZone).dayOf(now)
  return { first: today + 1 - count, last: today, length: count, today }
}

/** When days begin, and when they end. */
export function timeOfDays({ first, last }: Days, timeZone: string): { readonly from: number; readonly to: number } {
  const clock = zoneClock(timeZone)
  const from = clock.startOf(first)
  return { from, to: Math.max(from, clock.startOf(last + 1)) }
}

/** The period that so many steps lead to; undefined if all of its days are to come. A preset where they are its days. */
export function stepFrom({ first, length, today }: Period, steps: number): Partial<PeriodQuery> | undefined {
  const start = first + steps * length
  if (length === 0 || (steps > 0 && start > today)) return undefined
  const end = start + length - 1
  const preset = end === today ? presetNames.find(name => presets[name] === length) : undefined
  return preset === undefined ? { days: [start, end] } : { preset, days: undefined }
}

/** The days that a period is compared with: as many as it shows. A year before is 52 weeks, so that weekdays are the same. */
export function comparedDays({ first, last, length }: Period, compare: Compare = 'before'): Days {
  const distance = compare === 'year' ? YEAR_DAYS : length
  return { first: first - distance, last: last - distance }
}

/** The starts of the weeks or months of a chart, moved to the days that a period is compared with. */
export function movedTo({ first }: Days, { first: shown }: Days, periods: Periods, timeZone: string): Periods {
  const clock = zoneClock(timeZone)
  return periods.map(start => clock.startOf(clock.dayOf(start) - shown + first))
}

const YEAR_DAYS = 364

/** Why a page shows no days, or none that have been. */
export function periodProblem({ first, last, length, today }: Period): string | undefined {
  if (length === 0) return `From (${dayText(first)}) is later than To (${dayText(last)}), so no day is shown.`
  return first > today ? 'These days are yet to come.' : undefined
}

/** `28 days`, `12 weeks` */
export function lengthText(days: number): string {
  return days >= WEEKS_FROM && days % 7 === 0 ? countText(days / 7, 'week') : countText(days, 'day')
}

const WEEKS_FROM = 42

/** `in the last 28 days`, `in these 10 days`, `on this day` */
export function periodText(period: Period): string {
  const { first, last, today } = period
  if (first === last) return last === today ? 'today' : 'on this day'
  return `in ${last === today ? 'the last' : 'these'} ${lengthText(last + 1 - first)}`
}

/** `in the 28 days before`: what a period is compared with. */
export function comparedText({ first, last, length }: Period, compare: Compare = 'before'): string {
  if (compare === 'year') return 'a year before'
  const shown = last + 1 - first
  if (shown < length) return 'in the same part of the period before'
  return shown === 1 ? 'on the day before' : `in the ${lengthText(shown)} before`
}

/** `24 Aug – 21 Nov`, with the years where they are not this one's. */
export function daysText({ first, last, today }: Period): string {
  if (first === last) return dayText(first)
  const yearOf = (day: number) => new Date(day * DAY_MS).getUTCFullYear()
  const isClear = yearOf(first) === yearOf(last) && yearOf(last) === yearOf(today)
  const [from, to] = [first, last].map(day => (isClear ? SHORT.format(day * DAY_MS) : dayText(day)))
  return `${from}\u00a0${NONE} ${to}`
}

export function dayText(day: number): string {
  return dateText({ timeZone: 'UTC' }, day * DAY_MS)
}

const SHORT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** The name of a preset in the list of them. */
export function presetTitle(preset: Preset): string {
  const days = presets[preset]
  return days === undefined ? 'All' : lengthText(days)
}

// These are all of its keys.
export const presetNames = Object.keys(presets) as Preset[]

function isKey<Name extends string>(names: Readonly<Record<Name, unknown>>, text: string): text is Name {
  return Object.hasOwn(names, text)
}
