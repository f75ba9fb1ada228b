import { AsyncLocalStorage } from 'node:async_hooks'
import { roundedRatio } from '../../contract/numbers.ts'
import { DAY_MS, formatDate } from '../../contract/time.ts'
import { countedUntil } from '../../stats/known-time.ts'
import { endOfTomorrow, zoneClock } from '../../stats/zone-clock.ts'
import { html, type Html, nothing } from '../html.ts'
import type { Units, Viewer } from '../page.ts'

/**
 * Numbers, times and lengths as text for people, as the language of the account writes them; all other texts are English. Each stays in
 * one piece where lines wrap.
 */

/** Those in which the year stands last in a date, on which texts rely. */
export const languages = 'en-GB en-US cs da de es fi fr it nb nl pl pt sv'.split(' ')

interface Words {
  readonly language: string
  /** Its dates are written without it. Not known in files, which are read in other years. */
  readonly year?: string | undefined
}

const current = new AsyncLocalStorage<Words>()

export function inWords<Result>(words: Words, work: () => Result): Result {
  return current.run(words, work)
}

/** `2026`: that of an instant in a zone. */
export function yearOf({ timeZone }: Zoned, instant: number): string {
  return formatDate(zoneClock(timeZone).dayOf(instant)).slice(0, 4)
}

/** The one that dates are written without. */
export function thisYear(): string | undefined {
  return current.getStore()?.year
}

/** Whether the year of a day that is shown goes without saying. */
export function isThisYear(viewer: Zoned, instant: number): boolean {
  return thisYear() === yearOf(viewer, instant)
}

/** The one that the account chose, else the first of the browser's that is known. */
export function languageOf(chosen: string, accepted = ''): string {
  if (languages.includes(chosen)) return chosen
  for (const part of accepted.split(',', MAX_ACCEPTED)) {
    const [tag = ''] = part.trim().split(';')
    const [main] = tag.split('-')
    const found = languages.includes(tag) ? tag : languages.find(known => known.split('-')[0] === main)
    if (found !== undefined) return found
  }
  return DEFAULT
}

const DEFAULT = 'en-GB'
const MAX_ACCEPTED = 10

interface DateFormat {
  readonly format: (at: number | Date) => string
  readonly formatRange: (from: number, to: number) => string
}

/** Dates are Gregorian, and digits Latin, in every language. Hours have two digits where a day has 24 of them. */
export function dateFormat(options: Intl.DateTimeFormatOptions): DateFormat {
  const now = perLanguage(locale => {
    const format = new Intl.DateTimeFormat(locale, options)
    if (format.resolvedOptions().hour12 !== false) return format
    return new Intl.DateTimeFormat(locale, { ...options, hour: '2-digit' })
  })
  return { format: at => unbroken(now().format(at)), formatRange: (from, to) => now().formatRange(from, to) }
}

export function numberFormat(options: Intl.NumberFormatOptions): { readonly format: (value: number) => string } {
  const now = perLanguage(locale => new Intl.NumberFormat(locale, options))
  return { format: value => now().format(value) }
}

/** Made once for each language, because formats are slow to create. */
function perLanguage<Format>(make: (locale: string) => Format): () => Format {
  const made = new Map<string, Format>()
  return () => {
    const { language } = current.getStore() ?? { language: DEFAULT }
    return made.getOrInsertComputed(language, () => make(`${language}-u-ca-gregory-nu-latn`))
  }
}

export type Zoned = Pick<Viewer, 'timeZone'>

export const NONE = '–'
/** The same, which rows of two lines leave out. */
export const BLANK = html`<span class="zero">${NONE}</span>`

/** `16 Feb 2025, 18:00`, `16 Feb, 18:00` of this year, in the zone of the account. */
export function dateTimeText(viewer: Zoned, instant: number): string {
  return formatIn(viewer.timeZone, isThisYear(viewer, instant) ? 'dayTime' : 'dateTime').format(instant)
}

/** `16 Feb 2025`, `16 Feb` of this year, in the zone of the account. */
export function dateText(viewer: Zoned, instant: number, hasYear = !isThisYear(viewer, instant)): string {
  return formatIn(viewer.timeZone, hasYear ? 'date' : 'day').format(instant)
}

/** `February 2026`, in the zone of the account. */
export function monthText({ timeZone }: Zoned, instant: number): string {
  return formatIn(timeZone, 'month').format(instant)
}

/** A `<time>` that shows the instant in full; of a record, with a mark if it is in the future. */
export function dateTime(viewer: Zoned, instant: number, now = Infinity): Html {
  return html`<time datetime="${new Date(instant).toISOString()}">${dateTimeText(viewer, instant)}</time>${now === Infinity ? nothing : futureMark(viewer, now, instant)}`
}

/** Marks a record of which an instant is on a day after tomorrow, so that no figure takes it for the last or the best. */
export function futureMark({ timeZone }: Zoned, now: number, ...instants: readonly (number | null)[]): Html {
  const clock = zoneClock(timeZone)
  const limit = endOfTomorrow(clock, clock.dayOf(now))
  return instants.some(at => at !== null && at >= limit)
    ? html` <span class="state">Date in the future</span>`
    : nothing
}

/** `18:00` for an instant of today, in the zone of the account; another one in full. */
export function momentText(viewer: Zoned, instant: number, now: number): string {
  const day = dateText(viewer, instant)
  return day === dateText(viewer, now) ? timeOfDay(viewer, instant) : dateTimeText(viewer, instant)
}

/** Two instants as `<time>`; the second without its day if that is the same. */
export function timeSpan(viewer: Zoned, start: number, end: number): Html {
  const isSameDay = dateText(viewer, start) === dateText(viewer, end)
  return html`${dateTime(viewer, start)} – <time datetime="${new Date(end).toISOString()}">${isSameDay ? timeOfDay(viewer, end) : dateTimeText(viewer, end)}</time>`
}

/** `Thu 5 Feb, 19:55 → Fri 08:06`, in the zone of the account; the day only where it is another one, and `now` where it runs, on paper when that was. */
export function stretchText(viewer: Zoned, start: number, end: number, isNow = false): Html {
  const isSameDay = dateText(viewer, start) === dateText(viewer, end)
  const isSameWeek = end - start < 6 * DAY_MS
  const last = isSameDay ? '' : `${formatIn(viewer.timeZone, isSameWeek ? 'weekday' : 'weekdayDate').format(end)}\u00a0`
  const ended = `${last}${timeOfDay(viewer, end)}`
  return html`<time datetime="${new Date(start).toISOString()}">${formatIn(viewer.timeZone, 'weekdayDate').format(start)},\u00a0${timeOfDay(viewer, start)}</time> → <time datetime="${new Date(end).toISOString()}"${isNow && html` title="${ended}, so far"`}>${isNow ? 'now' : ended}</time>`
}

/** `18:00`, `6:00 PM`, in the zone of the account. */
export function timeOfDay({ timeZone }: Zoned, instant: number): string {
  return formatIn(timeZone, 'time').format(instant)
}

/** `Wed`, in the zone of the account. */
export function weekdayText({ timeZone }: Zoned, instant: number): string {
  return formatIn(timeZone, 'weekday').format(instant)
}

/** Text that stays in one piece where lines wrap. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0').replaceAll('-', '\u2011')
}

/** A `<time>` that shows how long ago it was, and in its title when. */
export function timeAgo(viewer: Zoned, instant: number, now: number): Html {
  return html`<time class="nowrap" datetime="${new Date(instant).toISOString()}" title="${dateTimeText(viewer, instant)}">${agoText(viewer, instant, now)}</time>`
}

export function lastUsed(viewer: Zoned, at: number | null, now: number): Html {
  return at === null ? html`never` : timeAgo(viewer, at, now)
}

/** `5 minutes ago`, `in 3 days`, `now`. Days are those of the calendar: `yesterday` is the date before today's. */
export function agoText({ timeZone }: Zoned, instant: number, now: number): string {
  const seconds = Math.round((instant - now) / 1000)
  const size = Math.abs(seconds)
  if (size < 60) return seconds > 0 ? 'in under a minute' : 'just now'
  const [unit, length] = UNITS.find(([, length]) => size >= length) ?? ['minute', 60]
  if (unit !== 'day') return unbroken(RELATIVE.format(Math.trunc(seconds / length), unit))
  const { dayOf } = zoneClock(timeZone)
  return unbroken(RELATIVE_DAY.format(dayOf(instant) - dayOf(now), unit))
}

/** `, as of 3 days ago` if the records are not known up to now. */
export function ageText(viewer: Pick<Viewer, 'asOf' | 'timeZone'>, now: number, before = ', '): string {
  const { asOf } = viewer
  return asOf === null || countedUntil(asOf, now) === now ? '' : `${before}as of ${agoText(viewer, asOf, now)}`
}

/** `in 3 d 4 h`, `3 d 4 h ago`. */
export function inTime(instant: number, now: number): string {
  const text = durationText(Math.abs(instant - now) / 1000)
  return unbroken(instant >= now ? `in ${text}` : `${text} ago`)
}

/** `3 d 4 h`, `10 d 37 min`, `4 h 5 min`, `6 s`: the two largest units that are not 0, of days without seconds. Days have `dayHours` hours; there are none if that is infinite. */
export function durationText(seconds: number, dayHours = 24): string {
  const whole = Math.floor(Math.abs(seconds))
  const parts = [
    [Math.floor(whole / (dayHours * 3600)), 'd'],
    [Math.floor(whole / 3600) % dayHours, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0\u00a0s'
  const text = parts
    .slice(first, first === 0 ? 3 : first + 2)
    .filter(([count]) => count > 0)
    .slice(0, 2)
    .map(([count, unit]) => `${NUMBER.format(count)}\u00a0${unit}`)
    .join('\u00a0')
  return seconds < 0 ? `−${text}` : text
}

/** `58 h`; below one hour as other durations. */
export function hoursText(seconds: number): string {
  return seconds < 3600 ? durationText(seconds) : `${NUMBER.format(Math.round(seconds / 3600))}\u00a0h`
}

/** `1:09`, as clocks that count seconds show it. */
export function timerText(seconds: number): string {
  const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)]
  const text = TIMER.format({ hours: Math.floor(minutes / 60), minutes: minutes % 60, seconds: rest })
  return text.replace(/^0(?=\d:)/, '')
}

const TIMER = new Intl.DurationFormat('en', { style: 'digital', hoursDisplay: 'auto' })

/** Without seconds, from a minute on; with `isStretch`, up to three days in hours, as `24 h 6 min`. */
export function minutesText(milliseconds: number, isStretch = false): string {
  const seconds = milliseconds < 60_000 ? milliseconds / 1000 : Math.floor(milliseconds / 60_000) * 60
  return durationText(seconds, isStretch && seconds < 3 * 86_400 ? Infinity : 24)
}

/** Metres or feet of a distance in micrometres; in a column, those below a thousand with one decimal. */
export function distanceText({ units }: { readonly units: Units }, micrometres: number, isInColumn = false): string {
  const [value, unit] = distanceIn(units, micrometres)
  const isLong = Math.abs(value) >= 1000
  return `${(isInColumn && !isLong ? DECIMAL : NUMBER).format(isLong ? Math.round(value) : value)}\u00a0${unit}`
}

/** A distance that stands alone: `12.3 km` from 1,000 m on, `1.5 mi` from 5,280 ft on. Columns have one unit. */
export function longDistanceText(viewer: { readonly units: Units }, micrometres: number): string {
  const [value, unit] = distanceIn(viewer.units, micrometres)
  const perLong = LONG_UNITS[unit]
  if (Math.abs(value) < perLong.size) return distanceText(viewer, micrometres)
  return `${NUMBER.format(round1(value / perLong.size))}\u00a0${perLong.unit}`
}

const LONG_UNITS = { m: { size: 1000, unit: 'km' }, ft: { size: 5280, unit: 'mi' } } as const

/** A distance as a number to draw, and its unit. */
export function distanceIn(units: Units, micrometres: number): [value: number, unit: 'm' | 'ft'] {
  const metres = micrometres / 1_000_000
  return units === 'imperial' ? [round1(metres / METRES_PER_FOOT), 'ft'] : [round1(metres), 'm']
}

export function numberText(value: number): string {
  return NUMBER.format(value)
}

/** `43 %`, `43.5 %`; a dash if it is not known. */
export function percentText(percent: number | null): string {
  return percent === null ? NONE : `${NUMBER.format(percent)}\u00a0%`
}

/** `75 %`, rounded once: the figures of the API have a decimal. A dash if the whole is 0. */
export function partText(part: number, whole: number): string {
  return percentText(roundedRatio(part * 100, whole))
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `264 new, 3 changed`, or what is said of none. */
export function countsText(counts: Readonly<Record<string, number>>, none: string): string {
  const texts = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : `${numberText(count)} ${name}`))
  return texts.join(', ') || none
}

/** `1 session`, `3 sessions`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${NUMBER.format(count)} ${count === 1 ? one : many}`
}

const NUMBER = numberFormat({ maximumFractionDigits: 1 })
const DECIMAL = numberFormat({ minimumFractionDigits: 1, maximumFractionDigits: 1 })
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'always' })
const RELATIVE_DAY = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const METRES_PER_FOOT = 0.3048
const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const time = { hour: 'numeric', minute: '2-digit' } as const
const day = { day: 'numeric', month: 'short' } as const
const forms = {
  dateTime: { ...day, year: 'numeric', ...time },
  dayTime: { ...day, ...time },
  date: { ...day, year: 'numeric' },
  day,
  month: { month: 'long', year: 'numeric' },
  monthName: { month: 'short' },
  weekdayDate: { weekday: 'short', ...day },
  weekday: { weekday: 'short' },
  time,
} as const

const formats = new Map<string, DateFormat>()

/** Cached, because formats are slow to create. */
function formatIn(timeZone: string, form: keyof typeof forms): DateFormat {
  return formats.getOrInsertComputed(`${form} ${timeZone}`, () => dateFormat({ ...forms[form], timeZone }))
}

function round1(value: number): number {
  return Math.round(value * 10) / 10
}

export function monthName(day: number): string {
  return formatIn('UTC', 'monthName').format(day)
}

/** `23 Nov` */
export function shortDay(day: number): string {
  return formatIn('UTC', 'day').format(day)
}

/** `6–12 Apr`, `24 Aug – 21 Nov`: whole days, with the year if it is not this one. */
export function dayRange(first: number, last: number): string {
  const isClear = [first, last].every(day => isThisYear({ timeZone: 'UTC' }, day))
  return formatIn('UTC', isClear ? 'day' : 'date')
    .formatRange(first, last)
    .replace(/^(\d+)\s–\s/, '$1–')
    .replaceAll(/(?<=\d)–(?=\d)/g, '–\u2060')
    .replaceAll(' ', '\u00a0')
}
