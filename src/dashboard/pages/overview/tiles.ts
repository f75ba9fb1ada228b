import { bucketStart, formatDate } from '../../../contract/calendar.ts'
import { DAY_MS } from '../../../contract/time.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import { gradeRank } from '../../../stats/bests.ts'
import type { LockStats } from '../../../stats/lock-queries.ts'
import type { LockStatistics } from '../../../stats/lock-statistics.ts'
import type { SessionStats, Totals } from '../../../stats/training.ts'
import { usualGrade } from '../../../stats/usual.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { shortDay } from '../../charts/days.ts'
import { type Box, boxes } from '../../charts/plane.ts'
import { measureBar } from '../../charts/spark.ts'
import { resultMark } from '../../layout/components.ts'
import { figure, html, type Html, nothing, type Part } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import type { Reader, Viewer } from '../../page.ts'
import { daysName } from '../../text/period.ts'
import { programLink, type Programs } from '../../text/program-names.ts'
import {
  ageText,
  capital,
  countText,
  longDistanceText,
  durationText,
  NONE,
  numberText,
  partText,
  timeAgo,
} from '../../text/text.ts'
import { knownEnd, lockText, practiceMark } from '../locks/states.ts'
import { lockNow, missingEnd, plannedEndDistance } from '../locks/time.ts'
import { strip, usualNow } from '../parts.ts'
import { measuredOf } from '../training/pictures.ts'
import { placeText, usualText } from '../training/session.ts'
import type { ShownTraining } from '../training/training.ts'

/** How much was locked of the last days, up to an instant. */
interface LockedTime {
  readonly days: readonly LockStatistics[]
  readonly until: number
}

type Active = LockStats & { readonly document: string }

/** The running lock in one line, and how much of each of the last days was locked. */
export function lockCard(
  reader: Reader,
  current: Active | undefined,
  last: LockStats | undefined,
  { days, until }: LockedTime,
): Html {
  const { viewer, now } = reader
  if (current === undefined && last === undefined)
    return tile('Lock', html`<p class="muted">No lock session yet. A running one will be shown here.</p>`, 'wide')
  const notes = current === undefined ? endOf(reader, last) : notesOf(viewer, current, until)
  return tile(
    html`${current === undefined ? 'No lock' : lockNow(viewer, current, { until, now })}${ageText(viewer, now)}`,
    html`
      <p>${notes.map((note, index) => html`${index === 0 ? nothing : ' · '}${note}`)}</p>
      ${dayStrip(viewer, days, zoneClock(viewer.timeZone).dayOf(now))}
    `,
    'wide now',
  )
}

function notesOf(viewer: Viewer, current: Active, until: number): Part[] {
  // The archive wrote it in the form of the contract.
  const { id, name } = JSON.parse(current.document) as LockSession
  const missing = missingEnd(viewer, current, viewer.subject.id)
  const distance = plannedEndDistance(current, until)
  const known = distance.startsWith('countdown') ? distance : `planned end ${distance}`
  const end = missing === NONE ? 'no planned end' : (missing?.toLowerCase() ?? known)
  return [
    html`<a href="/locks/${id}">${recordName(viewer, 'lock', { id, name })}</a>${practiceMark(current.rules)}`,
    end,
  ]
}

function endOf({ viewer, now }: Reader, last: LockStats | undefined): Part[] {
  if (last === undefined) return []
  const end = knownEnd(last)
  const link = html`<a href="/locks/${last.id}">Last lock session</a>`
  return end === null
    ? [link]
    : [html`${link} ended ${timeAgo(viewer, end, now)}, after ${durationText((end - last.at) / 1000)}`]
}

export const STRIP_DAYS = 28

/** How much of each of the last days was locked, as a link to them. */
function dayStrip(viewer: Viewer, days: readonly LockStatistics[], today: number): Html {
  const step = 100 / days.length
  const bars = days.map(({ percent }, index): Box => {
    return { x: [index * step + step / 8, (index + 1) * step - step / 8], y: [100 - (percent ?? 0), 100] }
  })
  const locked = days.filter(({ lockedSeconds }) => lockedSeconds > 0).length
  const first = today + 1 - days.length
  const text = lockText(`Locked on ${locked} of the last ${countText(days.length, 'day')}`, viewer)
  return html`<a class="days-strip" href="/locks?from=${formatDate(first)}&to=${formatDate(today)}">${strip(boxes('solid', bars))}<span class="small muted"><span class="nowrap">${shortDay(first * DAY_MS)}</span><span>${text}</span><span class="nowrap">now</span></span></a>`
}

/** How much there was so far this week, and how much is usual by its end. What has not begun yet is not zero. */
export function thisWeek({ viewer, now }: Reader, training: ShownTraining, goal: number | null): Html {
  const today = zoneClock(viewer.timeZone).dayOf(now)
  const monday = bucketStart('week', 'monday', today)
  const week = training.summary.periods.at(-1)
  const scope = daysName({ first: monday, last: today })
  const line = (
    name: string,
    of: string,
    valueOf: (totals: Totals) => number | null,
    text: (value: number) => string,
  ) => {
    const { measured, earlier } = measuredOf(viewer, training, now, valueOf)
    const usual = usualNow(training.time, earlier, measured)
    const value = week === undefined ? 0 : valueOf(week)
    const range =
      usual === undefined
        ? nothing
        : html`<small class="muted">usually ${text(usual.low)} to ${text(usual.high)}</small>`
    return html`<div><dt>${name}</dt><dd>${value === null ? NONE : figure(`${of} ${scope}`, value, text(value))} ${range}</dd></div>`
  }
  return tile(
    html`<a href="/training?from=${formatDate(monday)}&to=${formatDate(monday + 6)}">This week</a>`,
    html`
      <dl class="lines">
        ${line('Sessions', 'sessions', ({ sessions }) => sessions, numberText)}
        ${line('Repetitions', 'reps', ({ reps }) => reps, numberText)}
        ${line(
          'Distance',
          'distance',
          ({ distance }) => distance,
          value => longDistanceText(viewer, value),
        )}
      </dl>
      ${goalBar(goal, week?.reps ?? 0)}
    `,
  )
}

function goalBar(goal: number | null, reps: number): Html {
  if (goal === null) return nothing
  const text = `${numberText(reps)} of ${countText(goal, 'repetition')} (${partText(reps, goal)})`
  return html`<p class="small muted">Weekly goal: ${text}</p>${measureBar(reps, goal, goal)}`
}

/** The last session before `limit`, which is that of `/status`, beside what is usual with its program. */
export function lastSession(
  { viewer, now }: Reader,
  sessions: readonly SessionStats[],
  programs: Programs,
  limit: number,
): Html {
  const index = sessions.findLastIndex(({ at }) => at < limit)
  const last = sessions[index]
  if (last === undefined) {
    const text =
      sessions.length === 0
        ? 'No training session yet. The newest one will be shown here.'
        : 'All sessions start in the future.'
    return tile('Last session', html`<p class="muted">${text}</p>`)
  }
  const { id, at, grade, passed, program, reps } = last
  const usual = grade === null ? undefined : usualGrade(sessions, index)
  const rank = gradeRank(sessions, last, limit)
  const isOwn = viewer.subject.id === viewer.session.accountId
  return tile(
    html`<a href="/training/${id}">Last session</a>`,
    html`
      <p class="big">${grade === null ? NONE : html`${grade}<small>\u00a0%</small>`}</p>
      <p>${resultMark(passed)}${grade === null || usual === undefined ? nothing : `, ${usualText(grade, usual, isOwn)}`}</p>
      ${rank === undefined ? nothing : html`<p>${capital(placeText(rank))} with this program</p>`}
      <p class="muted">${programLink(programs, program)} · ${countText(reps, 'repetition')} · ${timeAgo(viewer, at, now)}</p>
    `,
  )
}

function tile(title: Part, body: Html, look = ''): Html {
  return html`<section class="card tile ${look}"><h2>${title}</h2>${body}</section>`
}
