import { formatDate, parseDate } from '../../contract/calendar.ts'
import { DAY_MS } from '../../contract/time.ts'
import { dayAt, dayFrom, lastPeriods } from '../../stats/periods.ts'
import { zoneClock } from '../../stats/zone-clock.ts'
import { html, type Html, nothing } from '../html.ts'
import type { Viewer, Visit } from '../page.ts'
import { NONE } from '../text/text.ts'

/** The time that the training page shows, and the one it is compared with. */

/** Ranges of whole weeks; the current week so far comes on top. */
export const ranges = {
  '4w': { title: '4 weeks', weeks: 4 },
  '12w': { title: '12 weeks', weeks: 12 },
  '6m': { title: '6 months', weeks: 26 },
  '1y': { title: '1 year', weeks: 52 },
  all: { title: 'All', weeks: undefined },
} as const
type Range = keyof typeof ranges

export const DEFAULT_RANGE = '12w'

/** What the shown time can be compared with. */
export const comparisons = {
  before: { title: 'Period before', text: 'in the period before' },
  year: { title: 'Year before', text: 'a year before' },
} as const
type Compare = keyof typeof comparisons

/** The part of an address that says which time is shown. Days are written as `YYYY-MM-DD`. */
export interface PeriodQuery {
  readonly range: Range
  /** One day in place of the range. */
  readonly day?: string | undefined
  /** The first and last day, both in place of the range. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly compare?: Compare | undefined
  /** Why the page shows another time than was asked for. */
  readonly note?: string | undefined
}

export function readPeriodQuery(query: URLSearchParams, timeZone: string): PeriodQuery {
  const range = query.get('range') ?? DEFAULT_RANGE
  const dayOf = (name: string) => {
    const text = query.get(name) ?? ''
    return dayFrom(text, timeZone) === undefined ? undefined : text
  }
  const [from, to] = [dayOf('from'), dayOf('to')]
  const compare = query.get('compare') ?? ''
  return {
    range: isRange(range) ? range : DEFAULT_RANGE,
    day: dayOf('day'),
    ...(from !== undefined && to !== undefined && from <= to ? { from, to } : { note: noteOf(from, to) }),
    compare: isCompare(compare) ? compare : undefined,
  }
}

function noteOf(from: string | undefined, to: string | undefined): string | undefined {
  return from !== undefined && to !== undefined ? 'From is later than To, so these days were not used.' : undefined
}

/** Writes the period into the query of an address, without defaults. */
export function writePeriod(query: URLSearchParams, { range, day, from, to, compare }: PeriodQuery) {
  if (day !== undefined) query.set('day', day)
  else if (from !== undefined && to !== undefined) {
    query.set('from', from)
    query.set('to', to)
  } else if (range !== DEFAULT_RANGE) query.set('range', range)
  if (compare !== undefined) query.set('compare', compare)
}

/** When a period starts and ends, and as many days of the one that it is compared with. */
export interface Span {
  readonly from: number
  readonly to: number
  readonly compared: { readonly from: number; readonly to: number }
  /** The first and last day. */
  readonly days: readonly [first: number, last: number]
}

/** The span of a period; undefined for the range `all`. */
export function spanOf(period: PeriodQuery, now: number, timeZone: string): Span | undefined {
  const days = daysOf(period, now, timeZone)
  if (days === undefined) return undefined
  const clock = zoneClock(timeZone)
  const [first, last] = days
  const from = clock.startOf(first)
  const to = Math.min(clock.startOf(last + 1), Math.max(now + 1, from + 1))
  // The period before is the one that the arrow leads to, as far as the shown one has begun, to the time of the day.
  const begun = Math.max(1, Math.min(last, clock.dayOf(now)) - first + 1)
  const start = first - (period.compare === 'year' ? YEAR_DAYS : lengthOf(period, days))
  const end = clock.startOf(start + begun)
  // Days may have 23 or 25 hours, so whole ones are compared by their ends.
  const isWhole = to === clock.startOf(first + begun)
  const comparedTo = isWhole ? end : clock.startOf(start + begun - 1) + (to - clock.startOf(first + begun - 1))
  return { from, to, days, compared: { from: clock.startOf(start), to: Math.min(end, comparedTo) } }
}

/** How many days the arrows step by: presets are whole weeks, the last of which has only begun. */
function lengthOf({ day, from, range }: PeriodQuery, [first, last]: Span['days']): number {
  return day === undefined && from === undefined ? ((ranges[range].weeks ?? 0) + 1) * 7 : last - first + 1
}

/** Whole weeks, so that the same weekdays are compared. */
const YEAR_DAYS = 364

function daysOf({ range, day, from, to }: PeriodQuery, now: number, timeZone: string): Span['days'] | undefined {
  const [first, last] = [parseDate(day ?? from ?? ''), parseDate(day ?? to ?? '')]
  if (first !== undefined && last !== undefined) return [first, last]
  const { weeks } = ranges[range]
  if (weeks === undefined) return undefined
  const clock = zoneClock(timeZone)
  return [clock.dayOf(lastPeriods('week', weeks + 1, now, timeZone)[0] ?? now), clock.dayOf(now)]
}

/** A link to another period: its address is that of the page with the changes. */
type AddressOf = (changes: Partial<PeriodQuery>) => string

/** Steps through periods of the same length, the fields of dates, and presets. */
export function periodBar({ viewer, now }: Visit, period: PeriodQuery, addressOf: AddressOf, dates: Html): Html {
  const { day, from, range } = period
  const isPreset = day === undefined && from === undefined
  return html`
    ${stepper(viewer, now, period, addressOf)}
    ${dates}
    <nav class="choice" aria-label="Range">${Object.entries(ranges).map(([name, { title }]) => {
      // The key is one of the ranges.
      const address = addressOf({ ...PRESET, range: name as Range })
      return html`<a href="${address}"${isPreset && name === range ? html` aria-current="true"` : nothing}>${title}</a>`
    })}</nav>
  `
}

const PRESET = { day: undefined, from: undefined, to: undefined } as const

function stepper({ timeZone }: Viewer, now: number, period: PeriodQuery, addressOf: AddressOf): Html {
  const days = daysOf(period, now, timeZone)
  if (days === undefined) return nothing
  const [first, last] = days
  const today = zoneClock(timeZone).dayOf(now)
  const length = lengthOf(period, days)
  const step = (by: number) => {
    const [start, end] = [formatDate(first + by * length), formatDate(first + by * length + length - 1)]
    if (period.day !== undefined) return addressOf({ ...PRESET, day: start })
    return addressOf({ ...PRESET, from: start, to: end })
  }
  return html`
    <nav class="stepper" aria-label="Period">
      <a href="${step(-1)}" data-shortcut="arrowleft" aria-keyshortcuts="ArrowLeft" rel="prev"><span aria-hidden="true">‹</span><span class="hidden">Period before</span></a>
      <span class="span">${daysText(first, first > today ? last : Math.min(last, today))}</span>
      ${
        last >= today
          ? html`<span class="end" aria-hidden="true">›</span>`
          : html`<a href="${step(1)}" data-shortcut="arrowright" aria-keyshortcuts="ArrowRight" rel="next"><span aria-hidden="true">›</span><span class="hidden">Period after</span></a>`
      }
    </nav>
  `
}

/** `24 Aug – 21 Nov`, with the years where they are not this one's. */
function daysText(first: number, last: number): string {
  const [from, to] = [new Date(first * DAY_MS), new Date(last * DAY_MS)]
  if (first === last) return LONG.format(from)
  return from.getUTCFullYear() === to.getUTCFullYear() && to.getUTCFullYear() === new Date().getUTCFullYear()
    ? `${SHORT.format(from)}\u00a0${NONE} ${SHORT.format(to)}`
    : `${LONG.format(from)}\u00a0${NONE} ${LONG.format(to)}`
}

/** The fields for the first and the last day. */
export function periodFields(viewer: Viewer, now: number, period: PeriodQuery): Html {
  const days = daysOf(period, now, viewer.timeZone)
  const today = dayAt(now, viewer.timeZone)
  const [first, last] = days === undefined ? ['', today] : days.map(formatDate)
  return html`
    <label><span>From</span> <input type="date" name="from" value="${first}" max="${today}"></label>
    <label><span>To</span> <input type="date" name="to" value="${last}"></label>
  `
}

export function compareField({ compare }: PeriodQuery): Html {
  return html`
    <label><span class="hidden">Compare with</span>
      <select name="compare">
        <option value="">No comparison</option>
        ${Object.entries(comparisons).map(
          ([name, { title }]) =>
            html`<option value="${name}"${name === compare ? html` selected` : nothing}>${title}</option>`,
        )}
      </select>
    </label>
  `
}

const SHORT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const LONG = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

function isRange(text: string): text is Range {
  return Object.hasOwn(ranges, text)
}

function isCompare(text: string): text is Compare {
  return Object.hasOwn(comparisons, text)
}
