import { html, type Html, nothing } from '../html.ts'
import { monthName } from '../text/text.ts'

/** A day, how it looks, and what it says: read aloud, and shown when it is pointed at. */
export interface DayLook {
  /** As `YYYY-MM-DD`. */
  readonly date: string
  readonly look: string
  /** Empty if nothing is known of the day. */
  readonly text: string
  readonly to?: string | undefined
}

/**
 * Each day as a cell. Wide screens have weeks as columns, in equal parts of up to half a year; narrow ones have them as rows, and of several parts
 * show the last. assets/keyboard.js makes it one tab stop.
 */
export function daysCalendar(days: readonly DayLook[]): Html {
  const cells: (DayLook | undefined)[] = [...days]
  for (let gaps = weekdayOf(days[0]?.date ?? ''); gaps > 0; gaps -= 1) cells.unshift(undefined)
  const count = Math.ceil(cells.length / MAX_PART_DAYS)
  const partDays = 7 * Math.ceil(cells.length / 7 / count)
  const parts = Array.from({ length: count }, (_, part) => cells.slice(part * partDays, (part + 1) * partDays))
  const drawn = parts.map((part, index) => {
    const isLast = index === parts.length - 1
    const weeks = html`<div class="weeks">${weeksOf(part, !isLast)}</div>`
    return isLast ? weeks : html`<details class="fold"><summary>Show ${monthsText(part)}</summary>${weeks}</details>`
  })
  return html`<div class="calendar">${drawn}</div>`
}

const MAX_PART_DAYS = 27 * 7

/** The month that the last week begins is named in the part after it. */
function weeksOf(part: readonly (DayLook | undefined)[], isContinued: boolean): Html[] {
  const head = html`<span></span>${WEEKDAYS.map((name, index) => html`<span>${index % 2 === 0 ? name.slice(0, 1) : nothing}</span>`)}`
  const weeks = Array.from({ length: Math.ceil(part.length / 7) }, (_, week) => part.slice(week * 7, (week + 1) * 7))
  return [
    head,
    ...weeks.map((week, index) => {
      const first =
        week.find(day => day?.date.endsWith('-01')) ?? (index === 0 ? week.find(day => day !== undefined) : undefined)
      const isNamed = first !== undefined && !(isContinued && index === weeks.length - 1)
      return html`<span>${!isNamed ? nothing : monthName(Date.parse(first.date))}</span>${week.map(cell)}`
    }),
  ]
}

function cell(day: DayLook | undefined): Html {
  if (day === undefined) return html`<span class="gap"></span>`
  const { look, text, to } = day
  return to === undefined
    ? html`<span class="day ${look}">${text}</span>`
    : html`<a class="day ${look}" href="${to}">${text}</a>`
}

/** `Jan to Jun`: the month that begins in its last week is named in the part after it. */
function monthsText(part: readonly (DayLook | undefined)[]): string {
  const [first, last] = [part.find(day => day !== undefined), part.at(-14)].map(day =>
    monthName(Date.parse(day?.date ?? '')),
  )
  return `${first} to ${last}`
}

/** From 0 for Monday. */
function weekdayOf(date: string): number {
  return (new Date(date).getUTCDay() + 6) % 7
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

export const SHADES = ['one', 'two', 'three', 'more'] as const

/** Four shades for as many parts of the values that differ, from the lowest to the highest. If all are the same, they have the last one. */
export function shadesOf(values: readonly number[]): (value: number) => (typeof SHADES)[number] {
  const sorted = [...new Set(values)].toSorted((a, b) => a - b)
  return value => SHADES[Math.ceil(((sorted.lastIndexOf(value) + 1) * SHADES.length) / sorted.length) - 1] ?? 'one'
}
