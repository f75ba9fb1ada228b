import { type CalendarDay, weekday } from '../../stats/calendar.ts'
import { html, type Html } from '../html.ts'

/** The look of a day, its full text, and the address it links to. */
export interface DayLook {
  readonly look: string
  readonly text: string
  readonly to?: string | undefined
}

/** A calendar as a table: a column for each week, a row for each day of it. */
export function calendarTable<Item>(
  name: string,
  weeks: readonly (readonly CalendarDay<Item>[])[],
  lookOf: (day: CalendarDay<Item>) => DayLook,
): Html {
  const byWeekday = DAYS.map((_, index) => weeks.map(week => week.find(({ date }) => weekday(date) === index + 1)))
  return html`
    <div class="scroll" role="region" aria-label="${name}" tabindex="0">
      <table class="calendar">
        <thead>
          <tr class="months" aria-hidden="true"><td></td>${months(weeks).map(({ name, count }) => html`<td colspan="${count}"><span>${name}</span></td>`)}</tr>
          <tr><th scope="col"><span class="hidden">Day</span></th>${weeks.map(week => html`<th scope="col"><span class="hidden">Week of ${longDay(week[0]?.date ?? '')}</span></th>`)}</tr>
        </thead>
        <tbody>${byWeekday.map(
          (row, index) =>
            html`<tr><th scope="row">${DAYS[index]}</th>${row.map(day => (day === undefined ? html`<td></td>` : cell(lookOf(day))))}</tr>`,
        )}</tbody>
      </table>
    </div>
  `
}

/** `Fri, 20 November 2026` of a date as `YYYY-MM-DD`. */
export function longDay(date: string): string {
  return LONG_DAY.format(Date.parse(date))
}

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

type Week = readonly { readonly date: string }[]

/** The months of weeks, each with the number of weeks that end in it. The first has no name if only one does. */
function months(weeks: readonly Week[]): { readonly name: string; readonly count: number }[] {
  const byMonth = Map.groupBy(weeks, week => week.at(-1)?.date.slice(0, 7) ?? '')
  return [...byMonth].map(([month, { length: count }], index) => ({
    name: index === 0 && count === 1 ? '' : MONTH.format(Date.parse(month)),
    count,
  }))
}

/** The text is in the markup once; assets/keyboard.js also shows it as a tooltip. */
function cell({ look, text, to }: DayLook): Html {
  const hiddenText = html`<span class="hidden">${text}</span>`
  return to === undefined
    ? html`<td><span class="day ${look}">${hiddenText}</span></td>`
    : html`<td><a class="day ${look}" href="${to}">${hiddenText}</a></td>`
}

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })
const LONG_DAY = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})
