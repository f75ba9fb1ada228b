import { addBuckets, bucketStart, type Unit } from '../../../contract/calendar.ts'
import { bucketsOf } from '../../../stats/buckets.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, locksSince, newestLock } from '../../../stats/lock-queries.ts'
import { addLocks, LockFigures, withoutPractice } from '../../../stats/lock-statistics.ts'
import { countedUntil } from '../../../stats/status.ts'
import { knownDays } from '../../../stats/training-days.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import { sessionsBetween } from '../../../stats/training.ts'
import { endOfTomorrow, zoneClock } from '../../../stats/zone-clock.ts'
import { emptyState, noRecords } from '../../layout/components.ts'
import { sharedAreas } from '../../layout/subject-notes.ts'
import { html, type Html } from '../../html.ts'
import { type DashboardPage, type Reader, view, type Viewer, type Visit } from '../../page.ts'
import { DEFAULT_PRESET, lastWeeks, presets } from '../../text/period.ts'
import { dateText } from '../../text/text.ts'
import { readPrograms } from '../../text/program-names.ts'
import { dayCard } from '../day-card.ts'
import { lastSession, lockCard, thisWeek, tileNotShared } from './tiles.ts'
import { weeksCard } from './weeks.ts'
import { sourceNotice } from '../source/states.ts'
import { daysCard, drawnDays } from '../year/days.ts'

export const overviewPages: readonly DashboardPage[] = [
  { section: 'overview', reads: 'statistics', area: 'both', path: '/', handler: showOverview },
]

/** The page answers "how am I doing now?": the running lock, this week, the last twelve weeks, and the days of a year. */
async function showOverview(visit: Visit) {
  const { viewer } = visit
  const isOwn = viewer.subject.id === viewer.session.accountId
  const [shown, notice] = await Promise.all([
    readOverview(visit, isOwn ? viewer.session.weeklyGoal : null),
    sourceNotice(visit),
  ])
  if (shown === undefined) return view({ title: 'Overview', body: html`${notice}${nothingYet(viewer)}` })
  const { cards, days, known, programs } = shown
  return view({
    title: 'Overview',
    body: html`
      ${notice}
      ${cards}
      ${daysCard(viewer, 'Year', days, ` since ${dateText(viewer, known.from)}`)}
      ${dayCard(visit, known, programs)}
    `,
  })
}

/** The cards of the present, and the days of a year; undefined without records. */
export async function readOverview(reader: Reader, goal: number | null) {
  const { store, viewer, pageAccess, now } = reader
  const clock = zoneClock(viewer.timeZone)
  const lockSessions = pageAccess.sessions('lkbx')
  const until = countedUntil(viewer.asOf, now)
  const today = clock.dayOf(now)
  const limit = endOfTomorrow(clock, today)
  const first = addBuckets('month', bucketStart('month', 'monday', today), 1 - MONTHS)
  const from = clock.startOf(first)
  const [history, locks, { since, entries }, last, current, programs] = await Promise.all([
    trainingHistory(store, pageAccess.sessions('dtt')),
    locksSince(store, lockSessions, until, from),
    lockHistory(store, lockSessions),
    newestLock(store, lockSessions, limit, until),
    activeLock(store, lockSessions, until),
    readPrograms(reader),
  ])
  if (history.sessions.length === 0 && entries.length === 0) return undefined
  const readable = sharedAreas(viewer)
  // Days to come are shown as such.
  const sessions = sessionsBetween(history.sessions, from, clock.startOf(today + 1))
  const counted = withoutPractice(locks)
  const figuresOf = (unit: Unit, from: number) =>
    new LockFigures(bucketsOf({ unit, weekStart: 'monday', from, to: today }, clock, now))
  const ofDays = figuresOf('day', first)
  const ofMonth = figuresOf('month', bucketStart('month', 'monday', today))
  const ofWeeks = figuresOf('week', lastWeeks(presets[DEFAULT_PRESET], today).first)
  await addLocks(counted, { since, until }, [ofDays, ofMonth, ofWeeks])
  const training = await history.days(viewer.timeZone, first, today)
  const days = drawnDays(knownDays(ofDays.buckets, training, ofDays.statistics(counted, until).buckets))
  const month = ofMonth.shares(until).total
  const cards = html`
    <div class="tiles" data-live="tiles">
      ${readable.includes('lkbx') ? lockCard(reader, current, last, { days, month, until }) : tileNotShared('Lock')}
      ${
        readable.includes('dtt')
          ? html`${thisWeek(reader, sessions, days, goal)}${lastSession(reader, history.sessions, programs, limit)}`
          : tileNotShared('Training')
      }
    </div>
    ${await weeksCard(reader, history, ofWeeks.buckets, ofWeeks.shares(until))}
  `
  return { cards, days, known: { sessions, locks: counted, from, until }, programs }
}

/** Those of the calendar, with the one that is running. */
const MONTHS = 12

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
