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
 * Each day as a cell. Wide screens have weeks as columns, from 28 on in two parts, of which the second begins with July; narrow ones have them
 * as rows, and of two parts show the second. assets/keyboard.js makes it one tab stop.
 */
export function daysCalendar(days: readonly DayLook[]): Html {
  const cells: (DayLook | undefined)[] = [...days]
  for (let gaps = weekdayOf(days[0]?.date ?? ''); gaps > 0; gaps -= 1) cells.unshift(undefined)
  const weeks = Array.from({ length: Math.ceil(cells.length / 7) }, (_, week) => cells.slice(week * 7, (week + 1) * 7))
  const isFirstOfJuly = (day: DayLook | undefined) => day?.date.endsWith('-07-01')
  const cut = weeks.length <= MAX_WEEKS ? 0 : weeks.findIndex(week => week.some(isFirstOfJuly))
  const [before, after] = [weeks.slice(0, cut), weeks.slice(cut)]
  const names = [days[0], before.at(-1)?.at(-1)].map(day => day && monthName(Date.parse(day.date)))
  return html`<div class="calendar">
    ${cut === 0 ? nothing : html`<details class="fold"><summary>Show ${names.join(' to ')}</summary><div class="weeks">${weeksOf(before)}</div></details>`}
    <div class="weeks">${weeksOf(after)}</div>
  </div>`
}

type Week = readonly (DayLook | undefined)[]

const MAX_WEEKS = 27

function weeksOf(weeks: readonly Week[]): Html[] {
  const head = html`<span></span>${WEEKDAYS.map((name, index) => html`<span>${index % 2 === 0 ? name : nothing}</span>`)}`
  return [
    head,
    ...weeks.map((week, index) => {
      const first = week.find(day => day?.date.endsWith('-01')) ?? week.find(day => day !== undefined && index === 0)
      return html`<span>${first && monthName(Date.parse(first.date))}</span>${week.map(cell)}`
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

/** From 0 for Monday. */
function weekdayOf(date: string): number {
  return (new Date(date).getUTCDay() + 6) % 7
}

export const WEEKDAYS = [...'MTWTFSS']

export const SHADES = ['one', 'two', 'three', 'more'] as const

/** Four shades for as many parts of the values that differ, from the lowest to the highest. If all are the same, they have the last one. */
export function shadesOf(values: readonly number[]): (value: number) => (typeof SHADES)[number] {
  const sorted = [...new Set(values)].toSorted((a, b) => a - b)
  return value => SHADES[Math.ceil(((sorted.lastIndexOf(value) + 1) * SHADES.length) / sorted.length) - 1] ?? 'one'
}
