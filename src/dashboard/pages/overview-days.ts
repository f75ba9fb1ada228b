import { formatDate } from '../../contract/calendar.ts'
import { sum } from '../../contract/numbers.ts'
import { DAY_MS } from '../../contract/time.ts'
import { boundariesOf, type Bucket } from '../../stats/buckets.ts'
import type { LockStats } from '../../stats/lock-queries.ts'
import { lockStatistics } from '../../stats/lock-statistics.ts'
import { groupByPeriod } from '../../stats/periods.ts'
import type { SessionStats } from '../../stats/training.ts'
import { SHADES, shadesOf } from '../charts/shades.ts'
import { html, type Html, nothing } from '../html.ts'
import { card } from '../layout/components.ts'
import { sharedAreas } from '../layout/subject-notes.ts'
import type { Viewer } from '../page.ts'
import { countText, dateText, durationText } from '../text/text.ts'
import { lockText } from './lock-states.ts'

/** The days of the overview. */

/** What the locks of an account are known to be: sessions that count, since when, and up to when. */
export interface KnownLocks {
  readonly locks: readonly LockStats[]
  readonly since: number
  readonly until: number
}

/** A day, and how it is drawn. */
export interface OverviewDay extends Bucket {
  readonly sessions: number
  readonly reps: number
  readonly lockedSeconds: number
  /** A shade by its repetitions, `none` without a session. */
  readonly shade: string
}

export function daysOf(
  buckets: readonly Bucket[],
  sessions: readonly SessionStats[],
  locks: readonly LockStats[],
  until: number,
): OverviewDay[] {
  const groups = groupByPeriod(sessions, boundariesOf(buckets))
  const reps = groups.map(found => sum(found.map(({ reps }) => reps)))
  const shades = shadesOf(reps.filter((_, index) => (groups[index]?.length ?? 0) > 0))
  const { buckets: locked } = lockStatistics(locks, buckets, until)
  return buckets.map((bucket, index) => {
    const count = groups[index]?.length ?? 0
    const ofDay = reps[index] ?? 0
    return {
      ...bucket,
      sessions: count,
      reps: ofDay,
      lockedSeconds: locked[index]?.lockedSeconds ?? 0,
      shade: count === 0 ? 'none' : shades(ofDay),
    }
  })
}

/** Each day as a cell, in a row for each month, so that all of them fit on a phone. */
export function yearCard(viewer: Viewer, days: readonly OverviewDay[]): Html {
  const areas = sharedAreas(viewer)
  const trained = days.filter(({ sessions }) => sessions > 0).length
  const under = days.filter(({ lockedSeconds }) => lockedSeconds > 0).length
  const counts = [
    ...(areas.includes('dtt') ? [`${countText(trained, 'day')} with training`] : []),
    ...(areas.includes('lkbx') ? [`${countText(under, 'day')} ${lockText('under lock', viewer)}`] : []),
  ]
  const months = [...Map.groupBy(days, ({ day }) => formatDate(day).slice(0, 7)).values()]
  const numbers = Array.from({ length: 31 }, (_, index) => index + 1)
  return card(
    'Year',
    html`
      <p class="summary">${counts.join(' and ')} since ${dateText(viewer, days[0]?.start ?? 0)}.</p>
      <table class="calendar months">
        <thead><tr><th scope="col"><span class="hidden">Month</span></th>${numbers.map(day => html`<th scope="col">${day}</th>`)}</tr></thead>
        <tbody>${months.map(month => html`<tr><th scope="row">${MONTH.format((month[0]?.day ?? 0) * DAY_MS)}</th>${month.map(day => dayCell(viewer, day))}</tr>`)}</tbody>
      </table>
      <ul class="legend">
        ${areas.includes('dtt') ? html`<li>Repetitions: fewest ${SHADES.map(shade => html`<i class="day ${shade}"></i>`)} most</li>` : nothing}
        ${areas.includes('lkbx') ? html`<li><i class="day none under"></i>${lockText('Under lock', viewer)}</li>` : nothing}
      </ul>
    `,
  )
}

function dayCell(viewer: Viewer, { day, sessions, lockedSeconds, shade }: OverviewDay): Html {
  if (sessions === 0 && lockedSeconds === 0) return html`<td><i class="day none"></i></td>`
  const date = formatDate(day)
  const text = `${DAY.format(day * DAY_MS)}: ${activityText(viewer, { sessions, lockedSeconds })}`
  return html`<td><a class="day ${shade}${lockedSeconds > 0 ? ' under' : ''}" href="/?day=${date}#day">${text}</a></td>`
}

/** `2 sessions, 7 h locked` */
function activityText(viewer: Viewer, { sessions, lockedSeconds }: Pick<OverviewDay, 'sessions' | 'lockedSeconds'>) {
  return [
    ...(sessions > 0 ? [countText(sessions, 'session')] : []),
    ...(lockedSeconds > 0 ? [lockText(`${durationText(lockedSeconds)} locked`, viewer)] : []),
  ].join(', ')
}

const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
