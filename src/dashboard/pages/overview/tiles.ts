import { bucketStart, formatDate } from '../../../contract/calendar.ts'
import { DAY_MS } from '../../../contract/time.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import type { LockStats } from '../../../stats/lock-queries.ts'
import type { LockedShare } from '../../../stats/lock-statistics.ts'
import { compareWeeks, type SessionStats, type Totals } from '../../../stats/training.ts'
import { usualGrade } from '../../../stats/usual.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { shortDay, WEEKDAYS } from '../../charts/days.ts'
import { shareBar, sparkBars } from '../../charts/spark.ts'
import { resultMark } from '../../layout/components.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { isTimeHidden } from '../../text/hidden-time.ts'
import { recordName } from '../../text/names.ts'
import type { Reader, Viewer } from '../../page.ts'
import { programLink, type Programs } from '../../text/program-names.ts'
import {
  ageText,
  countText,
  distanceText,
  durationText,
  monthText,
  NONE,
  numberText,
  partText,
  round1,
  timeAgo,
} from '../../text/text.ts'
import { NOT_SHARED } from '../../layout/subject-notes.ts'
import { knownEnd, lockText, practiceMark, stateMark } from '../locks/states.ts'
import { lockNow, missingEnd, plannedEndDistance, timeBar } from '../locks/time.ts'
import type { DrawnDay } from '../year/days.ts'
import { usualText } from '../training/session.ts'

/** What is known of the locks of the shown days and of this month, up to an instant. */
interface KnownLocks {
  readonly days: readonly DrawnDay[]
  readonly month: LockedShare
  readonly until: number
}

type Active = LockStats & { readonly document: string }

/** The running lock in one line, and how much of each of the last days was locked. */
export function lockCard(
  reader: Reader,
  current: Active | undefined,
  last: LockStats | undefined,
  { days, month, until }: KnownLocks,
): Html {
  const { viewer, now } = reader
  const clock = { until, now }
  if (current === undefined && last === undefined)
    return tile('Lock', html`<p class="muted">No lock session yet. A running one will be shown here.</p>`, 'wide')
  const notes = current === undefined ? endOf(reader, last) : notesOf(viewer, current, until)
  return tile(
    html`${current === undefined ? 'Open' : lockNow(viewer, current, clock)}${ageText(viewer, now)}`,
    html`
      <p>${[...notes, ...monthShare(viewer, month, now)].map((note, index) => html`${index === 0 ? nothing : ' · '}${note}`)}</p>
      ${dayStrip(viewer, days, until)}
      ${current === undefined || isTimeHidden(viewer, viewer.subject.id, current) ? nothing : timeBar(current, clock)}
    `,
    'wide now',
  )
}

function notesOf(viewer: Viewer, current: Active, until: number): Part[] {
  // The archive wrote it in the form of the contract.
  const { id, name } = JSON.parse(current.document) as LockSession
  // The heading says these.
  const isUsual = ['locked', 'break'].includes(current.state)
  const missing = missingEnd(viewer, current, viewer.subject.id)
  const distance = plannedEndDistance(current, until)
  const known = distance.startsWith('countdown') ? distance : `planned end ${distance}`
  const end = missing === NONE ? 'no planned end' : (missing?.toLowerCase() ?? known)
  return [
    html`<a href="/locks/${id}">${recordName(viewer, 'lock', { id, name })}</a>${isUsual ? nothing : html` ${stateMark(viewer, current.state, true)}`}${practiceMark(current.rules)}`,
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

/** `43 % of November`, of the time that is known. */
function monthShare(viewer: Viewer, { lockedSeconds, knownSeconds }: LockedShare, now: number): string[] {
  const [name = ''] = monthText(viewer, now).split(' ')
  return knownSeconds === 0 ? [] : [lockText(`${partText(lockedSeconds, knownSeconds)} of ${name} locked`, viewer)]
}

const STRIP_DAYS = 28

function dayStrip(viewer: Viewer, days: readonly DrawnDay[], until: number): Html {
  const shown = days.slice(-STRIP_DAYS)
  const values = shown.map(({ start, end, lockedSeconds }) => {
    const elapsed = Math.min(end, until) - start
    return elapsed <= 0 ? null : (lockedSeconds * 1000) / elapsed
  })
  const locked = shown.filter(({ lockedSeconds }) => lockedSeconds > 0).length
  const text = lockText(`Locked on ${locked} of the last ${countText(shown.length, 'day')}`, viewer)
  return html`<div class="days-strip">${sparkBars(values, { text, highest: 1 })}<p class="small muted"><span class="nowrap">${shown[0] === undefined ? nothing : shortDay(shown[0].day * DAY_MS)}</span><span>${text}</span><span class="nowrap">now</span></p></div>`
}

/** The days of this week, how much there was so far, and how much is usual by its end. What has not begun yet is not zero. */
export function thisWeek(
  { viewer, now }: Reader,
  sessions: readonly SessionStats[],
  days: readonly DrawnDay[],
  goal: number | null,
): Html {
  const clock = zoneClock(viewer.timeZone)
  const monday = bucketStart('week', 'monday', clock.dayOf(now))
  const { current, before } = compareWeeks(sessions, now, viewer.timeZone)
  const usual = (text: (totals: Totals) => string) => (before === null ? '' : `, usually ${text(before)}`)
  const distance = ({ distance }: Totals) => (distance === null ? NONE : distanceText(viewer, distance))
  const week = WEEKDAYS.map((_, index) => days.find(({ day }) => day === monday + index))
  const line = (name: string, text: (totals: Totals) => string) =>
    html`<div><dt>${name}</dt><dd>${text(current)}<small class="muted">${usual(text)}</small></dd></div>`
  const address = `/training?from=${formatDate(monday)}&to=${formatDate(monday + 6)}`
  return tile(
    html`<a href="${address}">This week</a>`,
    html`
      <table class="week">
        <thead><tr>${WEEKDAYS.map(name => html`<th scope="col">${name.slice(0, 1)}<span class="hidden">${name.slice(1)}</span></th>`)}</tr></thead>
        <tbody><tr>${week.map(day => html`<td><span class="day ${day === undefined ? 'to-come' : day.shade}"><span class="hidden">${dayText(day)}</span></span></td>`)}</tr></tbody>
      </table>
      ${
        current.sessions === 0
          ? html`<p>No session yet this week${usual(totals => countText(sessionsAWeek(totals), 'session'))}.</p>`
          : html`<dl class="lines">
              ${line('Sessions', totals => numberText(sessionsAWeek(totals)))}
              ${line('Repetitions', ({ reps }) => numberText(Math.round(reps)))}
              ${line('Distance', distance)}
            </dl>`
      }
      ${before === null ? nothing : html`<p class="small muted">Usually: the average of the four weeks before.</p>`}
      ${goalBar(goal, current.reps)}
    `,
  )
}

/** Fewer than one in a week on average are a tenth of one and more. */
function sessionsAWeek({ sessions }: Totals): number {
  return sessions < 1 ? round1(sessions) : Math.round(sessions)
}

function dayText(day: DrawnDay | undefined): string {
  if (day === undefined) return 'to come'
  return day.sessions === 0 ? 'no session' : countText(day.sessions, 'session')
}

function goalBar(goal: number | null, reps: number): Html {
  if (goal === null) return nothing
  if (reps === 0) return html`<p class="small muted">Weekly goal: ${countText(goal, 'repetition')}</p>`
  const text = `${numberText(reps)} of ${countText(goal, 'repetition')} (${partText(reps, goal)})`
  return html`<p class="small muted">${text}</p>${shareBar(Math.min(1, reps / goal), text)}`
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
  const isOwn = viewer.subject.id === viewer.session.accountId
  return tile(
    html`<a href="/training/${id}">Last session</a>`,
    html`
      <p class="big">${grade === null ? NONE : html`${grade}<small>\u00a0%</small>`}</p>
      <p>${resultMark(passed)}${grade === null || usual === undefined ? nothing : `, ${usualText(grade, usual, isOwn)}`}</p>
      <p class="muted">${programLink(programs, program)} · ${countText(reps, 'repetition')} · ${timeAgo(viewer, at, now)}</p>
    `,
  )
}

/** In place of tiles of an area that somebody else does not share. */
export function tileNotShared(title: string): Html {
  return tile(title, html`<p class="muted">${NOT_SHARED}.</p>`)
}

function tile(title: Part, body: Html, look = ''): Html {
  return html`<section class="card tile ${look}"><h2>${title}</h2>${body}</section>`
}
