import type { LockSession } from '../../contract/lock-sessions.ts'
import { type CalendarDay, calendarWeeks } from '../../stats/calendar.ts'
import {
  activeLock,
  lockHistory,
  type LockFigures,
  newestLocks,
  newestTrainings,
  trainingHistory,
} from '../../stats/queries.ts'
import { lastPeriods } from '../../stats/periods.ts'
import { compareWeeks, passRate, type SessionFigures, type Totals } from '../../stats/training.ts'
import { calendarTable, type DayLook, longDay } from '../calendar.ts'
import { html, type Html, type Part } from '../html.ts'
import { stateLabels } from '../labels.ts'
import { recordName } from '../names.ts'
import { type Page, view, type Viewer, type Visit } from '../page.ts'
import { card, emptyState, resultMark } from '../components.ts'
import { type Programs, readPrograms } from '../program-names.ts'
import { sparkLine } from '../spark.ts'
import { countText, dateTime, dateTimeText, distanceText, durationText, NONE, numberText, timeAgo } from '../text.ts'
import { percentText } from './training-summaries.ts'
import { distanceOf } from './training-table.ts'

export const overviewPages: readonly Page[] = [{ path: '/', answer: showOverview }]

const WEEKS = 26
const RECENT = 8
const SPARK = 10
const FOUR_WEEKS = 28

async function showOverview(visit: Visit) {
  const { store, viewer, now } = visit
  const { timeZone, subject } = viewer
  const [from = 0] = lastPeriods('week', WEEKS, now, timeZone)
  const [newest, sessions, locks, newLocks, current, programs] = await Promise.all([
    newestTrainings(store, subject.id, SPARK),
    trainingHistory(store, subject.id, from),
    lockHistory(store, subject.id, now, from),
    newestLocks(store, subject.id, RECENT, now),
    activeLock(store, subject.id, now),
    readPrograms(store, viewer),
  ])
  if (newest.length === 0 && newLocks.length === 0)
    return view({ section: 'overview', title: 'Overview', body: nothingYet })
  const [fourWeeksAgo = 0] = lastPeriods('day', FOUR_WEEKS, now, timeZone)
  const lately = sessions.filter(({ at }) => at >= fourWeeksAgo && at <= now)
  return view({
    section: 'overview',
    title: 'Overview',
    body: html`
      <div class="tiles">
        ${lastSession(visit, newest, programs)}
        ${thisWeek(viewer, sessions, now)}
        ${fourWeeks(lately)}
        ${lockCard(visit, current, newLocks)}
      </div>
      ${activity(viewer, sessions, locks, now)}
      ${card('Recent activity', recent(visit, newest, newLocks, programs))}
    `,
  })
}

const nothingYet = emptyState(
  'Nothing here yet',
  html`Here you would see your last training session, how this week compares with the ones before, and the state of your lock. Records come in with an archive: <code>lockstep import records.ndjson</code>. Once they are there, <a href="/keys">an API key</a> lets your own programs read them.`,
)

function lastSession({ viewer, now }: Visit, newest: readonly SessionFigures[], programs: Programs): Html {
  const [last] = newest
  if (last === undefined) {
    return tile('Last session', html`<p class="muted">No training session yet. The newest one will be shown here.</p>`)
  }
  const grades = newest.toReversed()
  return tile(
    'Last session',
    html`
      <p class="big">${last.grade === null ? NONE : html`${last.grade}<small>\u00a0%</small>`}</p>
      <p>${resultMark(last.passed)}</p>
      <p class="muted"><a href="/training/${last.id}">${programs.nameOf(last.program)}</a>, ${timeAgo(viewer, last.at, now)}</p>
      ${sparkLine(grades)}
    `,
  )
}

function thisWeek(viewer: Viewer, sessions: readonly SessionFigures[], now: number): Html {
  const { current, before } = compareWeeks(sessions, now, viewer.timeZone)
  const distance = ({ measured, approximate }: Totals) => distanceText(viewer, measured + approximate)
  const rows: readonly (readonly [string, (totals: Totals) => Part])[] = [
    ['Sessions', ({ sessions }) => numberText(sessions)],
    ['Repetitions', ({ reps }) => numberText(Math.round(reps))],
    ['Distance', distance],
    ['Grade', ({ grade }) => (grade === null ? NONE : `${grade}\u00a0%`)],
  ]
  return tile(
    'This week so far',
    html`
      <table class="compact comparison">
        <thead><tr><th scope="col"><span class="hidden">Figure</span></th><th scope="col" class="number">So far</th><th scope="col" class="number">Usual</th></tr></thead>
        <tbody>${rows.map(
          ([name, value]) =>
            html`<tr><th scope="row">${name}</th><td class="number strong">${value(current)}</td><td class="number muted">${before === null ? NONE : value(before)}</td></tr>`,
        )}</tbody>
      </table>
      <p class="muted small">${before === null ? 'No session in the four weeks before.' : 'Usual: a week of the four before, on average.'}</p>
    `,
  )
}

function fourWeeks(sessions: readonly SessionFigures[]): Html {
  const { passed, total } = passRate(sessions)
  return tile(
    'Pass rate, four weeks',
    total === 0
      ? html`<p class="muted">No session in the last four weeks, so there is no rate.</p>`
      : html`
          <p class="big">${passed}<small> / ${total}</small></p>
          <p class="muted">${countText(total, 'session')}, ${percentText(passed, total)} passed</p>
          ${share(passed / total, `${percentText(passed, total)} passed`)}
          <p class="small"><a href="/training?range=4w">Training, four weeks</a></p>
        `,
  )
}

/** A bar out of the whole. */
function share(part: number, name: string): Html {
  return html`<svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="${name}"><rect class="whole" width="100" height="8"/><rect class="part" width="${(part * 100).toFixed(1)}" height="8"/></svg>`
}

type Active = LockFigures & { readonly document: string }

function lockCard({ viewer, now }: Visit, current: Active | undefined, newest: readonly LockFigures[]): Html {
  const [last] = newest
  if (current !== undefined) {
    // The archive wrote it in the form of the contract.
    const { id, name, duration } = JSON.parse(current.document) as LockSession
    const changed = current.stretches.at(-1)?.start ?? current.at
    const planned = current.at + duration * 1000
    return tile(
      'Lock',
      html`
        <p class="big word">${stateLabels[current.state] ?? current.state}<small> for ${durationText((now - changed) / 1000)}</small></p>
        <p class="muted"><a href="/locks/${id}">${recordName(viewer, 'lock', { id, name })}</a></p>
        <dl class="lines">
          <div><dt>Since</dt><dd>${dateTime(viewer, changed)}</dd></div>
          <div><dt>Elapsed</dt><dd>${durationText((now - current.at) / 1000)}</dd></div>
          <div><dt>Planned end</dt><dd>${duration > 0 ? dateTime(viewer, planned) : 'Not set'}</dd></div>
        </dl>
      `,
    )
  }
  if (last === undefined) {
    return tile('Lock', html`<p class="muted">No lock session yet. One that runs will be shown here.</p>`)
  }
  return tile(
    'Lock',
    html`
      <p class="big word">Open</p>
      <p class="muted">No lock session runs.</p>
      <dl class="lines">
        <div><dt>Last ended</dt><dd>${last.endAt === null ? NONE : timeAgo(viewer, last.endAt, now)}</dd></div>
        <div><dt>It took</dt><dd>${durationText(((last.endAt ?? now) - last.at) / 1000)}</dd></div>
      </dl>
      <p class="small"><a href="/locks/${last.id}">Last lock session</a></p>
    `,
  )
}

function tile(title: string, body: Html): Html {
  return html`<section class="card tile"><h2>${title}</h2>${body}</section>`
}

function activity(
  viewer: Viewer,
  sessions: readonly SessionFigures[],
  locks: readonly LockFigures[],
  now: number,
): Html {
  const locked = locks.flatMap(({ stretches }) => stretches.filter(stretch => stretch.locked))
  const weeks = calendarWeeks({ items: sessions, locked }, now, viewer.timeZone, WEEKS)
  const days = weeks.flat()
  const trained = days.filter(({ items }) => items.length > 0).length
  const under = days.filter(({ locked }) => locked > 0).length
  return card(
    'Activity',
    html`
      <p class="summary">In ${WEEKS} weeks there were ${countText(trained, 'day')} with training and ${countText(under, 'day')} under lock.</p>
      ${calendarTable('Activity by day', weeks, day => lookOf(day, locks))}
      <ul class="legend always">
        <li><i class="day one"></i>One session</li>
        <li><i class="day more"></i>Two or more</li>
        <li><i class="day none under"></i>Under lock</li>
      </ul>
    `,
  )
}

function lookOf(
  { date, start, end, items, locked }: CalendarDay<SessionFigures>,
  locks: readonly LockFigures[],
): DayLook {
  const [first] = items
  const { passed, total } = passRate(items)
  const text = [
    longDay(date),
    first === undefined ? 'no session' : `${countText(total, 'session')}, ${passed} passed`,
    ...(locked > 0 ? [`${durationText(locked / 1000)} under lock`] : []),
  ].join(': ')
  const look = `${total === 0 ? 'none' : total === 1 ? 'one' : 'more'}${locked > 0 ? ' under' : ''}`
  if (total > 1) return { look, text, to: `/training?day=${date}` }
  if (first !== undefined) return { look, text, to: `/training/${first.id}` }
  const lock = locks.findLast(({ stretches }) =>
    stretches.some(one => one.locked && one.start < end && one.end > start),
  )
  return { look, text, ...(lock === undefined ? {} : { to: `/locks/${lock.id}` }) }
}

interface Event {
  readonly at: number
  readonly line: Html
}

/** What happened last, of all kinds. */
function recent(
  { viewer, now }: Visit,
  trainings: readonly SessionFigures[],
  locks: readonly LockFigures[],
  programs: Programs,
): Html {
  const events: Event[] = [
    ...trainings.map(session => ({
      at: session.at,
      line: html`<a href="/training/${session.id}">${programs.nameOf(session.program)}</a> ${resultMark(session.passed)}<span class="muted">${session.grade === null ? '' : `${session.grade}\u00a0%, `}${countText(session.reps, 'repetition')}, ${distanceOf(viewer, session)}</span>`,
    })),
    ...locks.flatMap(({ id, at, endAt, state }) => [
      { at, line: html`<a href="/locks/${id}">Lock session</a> <span>started</span>` },
      ...(endAt === null
        ? []
        : [
            {
              at: endAt,
              line: html`<a href="/locks/${id}">Lock session</a> <span>${state === 'abandoned' ? 'ended early' : 'ended'}</span><span class="muted">after ${durationText((endAt - at) / 1000)}</span>`,
            },
          ]),
    ]),
  ]
  const shown = events
    .filter(({ at }) => at <= now)
    .toSorted((a, b) => b.at - a.at)
    .slice(0, RECENT)
  return html`<ol class="recent">${shown.map(
    ({ at, line }) =>
      html`<li><span class="at" title="${dateTimeText(viewer, at)}">${dateTime(viewer, at)}</span><span class="what">${line}</span></li>`,
  )}</ol>`
}
