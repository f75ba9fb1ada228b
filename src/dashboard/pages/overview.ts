import { sum } from '../../contract/numbers.ts'
import { type CalendarDay, calendarWeeks } from '../../stats/calendar.ts'
import { lockedTimes, withoutPractice } from '../../stats/lock-statistics.ts'
import { lastPeriods } from '../../stats/periods.ts'
import { activeLock, type LockStats, locksSince, newestLocks } from '../../stats/lock-queries.ts'
import { countedUntil } from '../../stats/status.ts'
import { trainingHistory } from '../../stats/training-history.ts'
import { passRate, sessionsBetween, type SessionStats } from '../../stats/training.ts'
import { SHADES, shadesOf } from '../charts/shades.ts'
import { calendarTable, type DayLook, longDay } from '../charts/calendar.ts'
import { card, emptyState, noRecords } from '../layout/components.ts'
import { html, type Html, nothing } from '../html.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../page.ts'
import { type Programs, readPrograms } from '../text/program-names.ts'
import { countText, durationText } from '../text/text.ts'
import { dayCard, type Event, eventTable, isUnderLock, trainingEvent } from './day-card.ts'
import { sourceNotice } from './source-states.ts'
import { sharedAreas } from '../layout/subject-notes.ts'
import { fourWeeks, lastSession, lockCard, thisWeek, tileNotShared } from './overview-tiles.ts'
import { knownEnd, lockText } from './lock-states.ts'

export const overviewPages: readonly DashboardPage[] = [
  { section: 'overview', reads: 'statistics', area: 'both', path: '/', handler: showOverview },
]

const WEEKS = 26
const MAX_RECENT_EVENTS = 8
const MAX_SPARK_GRADES = 10

async function showOverview(visit: Visit) {
  const { store, viewer, pageAccess, now } = visit
  const { timeZone } = viewer
  const lockSessions = pageAccess.sessions('lkbx')
  const until = countedUntil(viewer.asOf, now)
  const [from = 0] = lastPeriods('week', WEEKS, now, timeZone)
  const [history, locks, newLocks, current, programs, notice] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    locksSince(store, lockSessions, until, from),
    newestLocks(store, lockSessions, MAX_RECENT_EVENTS, until),
    activeLock(store, lockSessions, until),
    readPrograms(visit),
    sourceNotice(visit),
  ])
  const newest = history.sessions.slice(-MAX_SPARK_GRADES).toReversed()
  if (newest.length === 0 && newLocks.length === 0)
    return view({ title: 'Overview', body: html`${notice}${nothingYet(viewer)}` })
  const readable = sharedAreas(viewer)
  const sessions = sessionsBetween(history.sessions, from)
  return view({
    title: 'Overview',
    body: html`
      ${notice}
      <div class="tiles" data-live="tiles">
        ${
          readable.includes('dtt')
            ? html`
                ${lastSession(visit, newest, programs)}
                ${thisWeek(viewer, sessions, now)}
                ${fourWeeks(viewer, sessions, now)}
              `
            : tileNotShared('Training')
        }
        ${readable.includes('lkbx') ? lockCard(visit, current, newLocks) : tileNotShared('Lock')}
      </div>
      ${activity(viewer, sessions, withoutPractice(locks), { now, until })}
      ${dayCard(visit, { sessions, locks: withoutPractice(locks), from, until }, programs)}
      ${card('Recent activity', recent(visit, newest, newLocks, programs))}
    `,
  })
}

function nothingYet(viewer: Viewer): Html {
  const title = 'Nothing here yet'
  if (viewer.subject.id !== viewer.session.accountId)
    return emptyState(title, 'There are no records here that you may read.')
  return noRecords(
    viewer,
    title,
    html`This page will show your last training session, how this week compares with the ones before, and the state of your lock. Once there are records, <a href="/keys">an API key</a> lets your own programs read them.`,
  )
}

function activity(
  viewer: Viewer,
  sessions: readonly SessionStats[],
  locks: readonly LockStats[],
  { now, until }: { readonly now: number; readonly until: number },
): Html {
  const locked = lockedTimes(locks, until)
  const weeks = calendarWeeks({ items: sessions, locked }, now, viewer.timeZone, WEEKS)
  const days = weeks.flat()
  const readable = sharedAreas(viewer)
  const shades = shadesOf(days.filter(({ items }) => items.length > 0).map(repetitionsOf))
  const trained = days.filter(({ items }) => items.length > 0).length
  const under = days.filter(({ locked }) => locked > 0).length
  const counts = [
    ...(readable.includes('dtt') ? [`${countText(trained, 'day')} with training`] : []),
    ...(readable.includes('lkbx') ? [`${countText(under, 'day')} ${lockText('under lock', viewer)}`] : []),
  ]
  return card(
    'Activity',
    html`
      <p class="summary">In ${WEEKS} weeks there were ${counts.join(' and ')}.</p>
      ${calendarTable('Activity by day', weeks, day => lookOf(viewer, day, locks, shades))}
      <ul class="legend">
        ${
          readable.includes('dtt')
            ? html`
                <li>Repetitions: fewest ${SHADES.map(shade => html`<i class="day ${shade}"></i>`)} most</li>
              `
            : nothing
        }
        ${readable.includes('lkbx') ? html`<li><i class="day none under"></i>${lockText('Under lock', viewer)}</li>` : nothing}
      </ul>
    `,
  )
}

function repetitionsOf({ items }: CalendarDay<SessionStats>): number {
  return sum(items.map(({ reps }) => reps))
}

function lookOf(
  viewer: Viewer,
  { date, start, end, items, locked }: CalendarDay<SessionStats>,
  locks: readonly LockStats[],
  shades: (repetitions: number) => string,
): DayLook {
  const [first] = items
  const { passed, total } = passRate(items)
  const text = [
    longDay(date),
    ...(first === undefined && !sharedAreas(viewer).includes('dtt')
      ? []
      : [first === undefined ? 'no session' : `${countText(total, 'session')}, ${passed} passed`]),
    ...(locked > 0 ? [lockText(`${durationText(locked / 1000)} under lock`, viewer)] : []),
  ].join(': ')
  const look = `${total === 0 ? 'none' : shades(sum(items.map(({ reps }) => reps)))}${locked > 0 ? ' under' : ''}`
  if (total > 0 && locked > 0) return { look, text, to: `/?day=${date}#day` }
  if (total > 1) return { look, text, to: `/training?day=${date}` }
  if (first !== undefined) return { look, text, to: `/training/${first.id}` }
  const lock = locks.findLast(lock => isUnderLock(lock, { start, end }))
  return { look, text, ...(lock === undefined ? {} : { to: `/locks/${lock.id}` }) }
}

/** The latest sessions of both kinds. */
function recent(
  visit: Visit,
  trainings: readonly SessionStats[],
  locks: readonly LockStats[],
  programs: Programs,
): Html {
  const events = [
    ...trainings.map(session => trainingEvent(visit.viewer, session, programs)),
    ...locks.flatMap(lockEvents),
  ]
  const shown = events
    .filter(({ at }) => at <= visit.now)
    .toSorted((a, b) => b.at - a.at)
    .slice(0, MAX_RECENT_EVENTS)
  if (shown.length === 0) return html`<p class="muted">All sessions start in the future.</p>`
  return eventTable(visit, 'Recent activity', shown)
}

function lockEvents(lock: LockStats): Event[] {
  const { id, at, state } = lock
  const endAt = knownEnd(lock)
  const event = { to: `/locks/${id}`, name: 'Lock session' }
  const started = { ...event, at, result: 'Started' }
  if (endAt === null) return [started]
  const details = `after ${durationText((endAt - at) / 1000)}`
  return [started, { ...event, at: endAt, result: state === 'abandoned' ? 'Ended early' : 'Ended', details }]
}
