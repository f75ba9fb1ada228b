import { html, type Html } from '../html.ts'

/** A day, how it looks, and what it says: read aloud, and shown when it is pointed at. */
export interface DayLook {
  /** As `YYYY-MM-DD`. */
  readonly date: string
  readonly look: string
  /** Empty if nothing is known of the day. */
  readonly text: string
  readonly to?: string | undefined
}

/** Each day as a cell, in a row for each month, so that all of them fit on a phone. assets/keyboard.js makes it one tab stop. */
export function daysTable(days: readonly DayLook[]): Html {
  const months = [...Map.groupBy(days, ({ date }) => date.slice(0, 7))]
  return html`
    <table class="calendar">
      <thead><tr><th scope="col"><span class="hidden">Month</span></th>${NUMBERS.map(day => html`<th scope="col">${day}`)}</tr></thead>
      <tbody>${months.map(([month, ofMonth]) => html`<tr><th scope="row">${monthName(Date.parse(month))}${cells(ofMonth)}</tr>`)}</tbody>
    </table>
  `
}

const NUMBERS = Array.from({ length: 31 }, (_, index) => index + 1)

/** Those before the first day are empty. A page has hundreds of them, so they do without end tags. */
function cells(days: readonly DayLook[]): Html[] {
  const byNumber = new Map(days.map(day => [Number(day.date.slice(8)), day]))
  const last = Math.max(...byNumber.keys())
  return NUMBERS.slice(0, last).map(number => cell(byNumber.get(number)))
}

function cell(day: DayLook | undefined): Html {
  if (day === undefined) return html`<td>`
  const { look, text, to } = day
  return to === undefined
    ? html`<td class="day ${look}">${text}`
    : html`<td><a class="day ${look}" href="${to}">${text}</a>`
}

/** `Jan` */
export function monthName(day: number): string {
  return MONTH.format(day)
}

/** `23 Nov` */
export function shortDay(day: number): string {
  return DAY.format(day)
}

export const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

/** `Fri, 20 November 2026` of a date as `YYYY-MM-DD`. */
export function longDay(date: string): string {
  return LONG_DAY.format(Date.parse(date))
}

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const LONG_DAY = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

/** From the fewest to the most. */
export const SHADES = ['one', 'two', 'three', 'more'] as const

/** Four shades for as many parts of the values, from the lowest to the highest. Values that are all the same have the last one. */
export function shadesOf(values: readonly number[]): (value: number) => (typeof SHADES)[number] {
  const sorted = values.toSorted((a, b) => a - b)
  return value => SHADES[Math.ceil(((sorted.lastIndexOf(value) + 1) * SHADES.length) / sorted.length) - 1] ?? 'one'
}
