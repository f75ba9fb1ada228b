import { formatDate } from '../../contract/calendar.ts'
import { sum } from '../../contract/numbers.ts'
import { DAY_MS } from '../../contract/time.ts'
import type { YearStatistics } from '../../stats/year.ts'
import { SHADES, shadesOf } from '../charts/shades.ts'
import { card } from '../layout/components.ts'
import { sharedAreas } from '../layout/subject-notes.ts'
import { html, type Html, nothing } from '../html.ts'
import type { Reader, Viewer } from '../page.ts'
import { countText, durationText, NONE, numberText } from '../text/text.ts'
import { lockText } from './lock-states.ts'

/** The days of a year, and its hours of the week. */

/** A day of a year, and how it is drawn. */
export interface DrawnDay {
  /** As `YYYY-MM-DD`. */
  readonly date: string
  readonly sessions: number
  readonly reps: number
  readonly lockedSeconds: number
  /** A shade by its repetitions, `none` without a session. */
  readonly shade: (typeof SHADES)[number] | 'none'
}

/** The days that have begun, by month. */
export function daysByMonth({ total, days, lockedDays }: YearStatistics): DrawnDay[][] {
  const shades = shadesOf(days.days.filter(({ sessions }) => sessions > 0).map(({ reps }) => reps))
  const drawn = days.days.map(({ sessions, reps }, index): DrawnDay => {
    const { lockedSeconds = 0 } = lockedDays[index] ?? {}
    const shade = sessions === 0 ? 'none' : shades(reps)
    return { date: formatDate(total.from + index), sessions, reps, lockedSeconds, shade }
  })
  return [...Map.groupBy(drawn, ({ date }) => date.slice(0, 7)).values()]
}

/** Twelve rows of days, with both areas. */
export function daysCard({ viewer }: Reader, year: YearStatistics): Html {
  const areas = sharedAreas(viewer)
  const months = daysByMonth(year)
  const trained = months.flat().filter(({ sessions }) => sessions > 0).length
  const under = months.flat().filter(({ lockedSeconds }) => lockedSeconds > 0).length
  const counts = [
    ...(areas.includes('dtt') ? [`${countText(trained, 'day')} with training`] : []),
    ...(areas.includes('lkbx') ? [`${countText(under, 'day')} ${lockText('under lock', viewer)}`] : []),
  ]
  const days = Array.from({ length: 31 }, (_, index) => index + 1)
  return card(
    'Days',
    html`
      <p class="summary">${counts.join(', ')}.</p>
      <table class="calendar months">
        <thead><tr><th scope="col"><span class="hidden">Month</span></th>${days.map(day => html`<th scope="col">${day}</th>`)}</tr></thead>
        <tbody>${months.map((month, index) => html`<tr><th scope="row">${monthName(index)}</th>${month.map(day => dayCell(viewer, day))}</tr>`)}</tbody>
      </table>
      <ul class="legend">
        ${areas.includes('dtt') ? html`<li>Repetitions: fewest ${SHADES.map(shade => html`<i class="day ${shade}"></i>`)} most</li>` : nothing}
        ${areas.includes('lkbx') ? html`<li><i class="day none under"></i>${lockText('Under lock', viewer)}</li>` : nothing}
      </ul>
    `,
  )
}

function dayCell(viewer: Viewer, { date, sessions, reps, lockedSeconds, shade }: DrawnDay): Html {
  if (sessions === 0 && lockedSeconds === 0) return html`<td><i class="day none"></i></td>`
  const text = [
    ...(sessions > 0 ? [countText(sessions, 'session'), countText(reps, 'rep')] : []),
    ...(lockedSeconds > 0 ? [lockText(`${durationText(lockedSeconds)} locked`, viewer)] : []),
  ].join(', ')
  return html`<td><a class="day ${shade}${lockedSeconds > 0 ? ' under' : ''}" href="?day=${date}#day">${text}</a></td>`
}

/** `Jan` of 0. */
export function monthName(index: number): string {
  return MONTH.format(Date.UTC(2000, index))
}

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })

/** How many sessions there were in each hour of the week. */
export function hoursCard({ days: { hours } }: YearStatistics): Html {
  const counts = hours.flat()
  const all = sum(counts)
  if (all === 0) return nothing
  const shades = shadesOf(counts.filter(count => count > 0))
  const most = Math.max(...counts)
  const busiest = counts.indexOf(most)
  const weekdays = hours.map(sum)
  const top = weekdays.indexOf(Math.max(...weekdays))
  return card(
    'Hours of the week',
    html`
      <p class="summary">Most sessions were on ${WEEKDAYS[top] ?? NONE} (${numberText(weekdays[top] ?? 0)} of ${numberText(all)}). The hour with the most is ${WEEKDAYS[Math.floor(busiest / 24)] ?? NONE}, ${hourText(busiest % 24)} (${numberText(most)}).</p>
      <table class="calendar hours">
        <thead><tr><th scope="col"><span class="hidden">Day</span></th>${(hours[0] ?? []).map((_, hour) => html`<th scope="col">${hour}</th>`)}</tr></thead>
        <tbody>${hours.map(
          (ofDay, weekday) =>
            html`<tr><th scope="row">${WEEKDAYS[weekday]?.slice(0, 3) ?? ''}</th>${ofDay.map(count => html`<td><i class="day ${count === 0 ? 'none' : shades(count)}">${count}</i></td>`)}</tr>`,
        )}</tbody>
      </table>
    `,
  )
}

function hourText(hour: number): string {
  return `${String(hour).padStart(2, '0')}:00 to ${String((hour + 1) % 24).padStart(2, '0')}:00`
}

const WEEKDAYS = Array.from({ length: 7 }, (_, index) =>
  // 1970-01-05 was a Monday.
  new Intl.DateTimeFormat('en-GB', { weekday: 'long', timeZone: 'UTC' }).format((index + 4) * DAY_MS),
)
