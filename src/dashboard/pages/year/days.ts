import { daysCalendar, SHADES, shadesOf } from '../../charts/days.ts'
import { formatDate } from '../../../contract/time.ts'
import type { KnownDay } from '../../../stats/year.ts'
import { card } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { type Viewer, sharedAreas } from '../../page.ts'
import { countText, durationText, numberText, shortDay } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'

/** The days of a year. */

/** Each day, with both areas. */
export function daysCard(viewer: Viewer, days: readonly KnownDay[]): Html {
  const shadeOf = shadesOf(days.filter(({ sessions }) => sessions > 0).map(({ reps }) => reps))
  const areas = sharedAreas(viewer)
  const locked = days.filter(({ lockedSeconds }) => lockedSeconds > 0).length
  // A line at every day would say nothing. Today may be without only because it has just begun.
  const isDrawn = locked < days.length - 1
  return card(
    'Days',
    html`
      ${daysCalendar(days.map(day => dayLook(viewer, day, `${day.sessions === 0 ? 'none' : shadeOf(day.reps)}${isDrawn && day.lockedSeconds > 0 ? ' under' : ''}`)))}
      <ul class="legend">
        ${areas.includes('dtt') ? html`<li>Repetitions:\u00a0fewest\u00a0${SHADES.map(shade => html`<i class="day ${shade}"></i>`)}\u00a0most</li>` : nothing}
        ${areas.includes('lkbx') && locked > 0 ? html`<li>${isDrawn ? html`<i class="line"></i>` : nothing}${lockText('Locked', viewer)} on ${isDrawn ? countText(locked, 'day') : `${numberText(locked)} of ${countText(days.length, 'day')}`}</li>` : nothing}
      </ul>
    `,
    { id: 'days' },
  )
}

function dayLook(viewer: Viewer, { day, sessions, reps, lockedSeconds }: KnownDay, look: string) {
  const date = formatDate(day)
  if (sessions === 0 && lockedSeconds === 0) return { date, look: 'none', text: '' }
  const text = [
    ...(sessions > 0 ? [countText(sessions, 'session'), countText(reps, 'rep')] : []),
    ...(lockedSeconds > 0 ? [lockText(`${durationText(lockedSeconds)} locked`, viewer)] : []),
  ]
  return {
    date,
    look,
    text: `${shortDay(Date.parse(date))}: ${text.join(', ')}`,
    to: `/${sessions > 0 ? 'training' : 'locks'}?day=${date}`,
  }
}
