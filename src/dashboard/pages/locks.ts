import type { LockSession } from '../../contract/lock-sessions.ts'
import { DAY_MS } from '../../contract/time.ts'
import { lockStatistics, withoutPractice } from '../../stats/lock-statistics.ts'
import { lockHistory } from '../../stats/lock-history.ts'
import { activeLock, locksSince, type LockStats, someLocks } from '../../stats/lock-queries.ts'
import { lockTemplate } from '../../stats/lock-template-queries.ts'
import { countedUntil } from '../../stats/status.ts'
import { chartCards } from '../charts/charts.ts'
import { facts, noRecords } from '../layout/components.ts'
import { isTimeHidden } from '../text/hidden-time.ts'
import { html, type Html, nothing } from '../html.ts'
import { recordName } from '../text/names.ts'
import { type DashboardPage, view, type Visit } from '../page.ts'
import { ageText, countText, dateTime, durationText, NONE } from '../text/text.ts'
import { lockCalendar, monthChart } from './lock-charts.ts'
import { breaksText, lockNow, plannedEndText, timeBar } from './lock-time.ts'
import { knownEnd, lockText, practiceMark, stateName } from './lock-states.ts'
import { downloadCsv, downloadRecords, lockTable } from './lock-table.ts'

const OF_LOCKS = { section: 'locks', area: 'lkbx' } as const

export const lockPages: readonly DashboardPage[] = [
  { ...OF_LOCKS, path: '/locks', reads: 'list', handler: showLocks },
  { ...OF_LOCKS, path: '/locks.csv', reads: 'export', isDownload: true, handler: downloadCsv },
  { ...OF_LOCKS, path: '/locks.ndjson', reads: 'export', isDownload: true, handler: downloadRecords },
]

async function showLocks(visit: Visit) {
  const { store, viewer, pageAccess, now } = visit
  const sessions = pageAccess.sessions('lkbx')
  const until = countedUntil(viewer.asOf, now)
  const { entries } = await lockHistory(store, sessions)
  const [newest] = entries
  if (newest === undefined) {
    return view({
      title: 'Locks',
      body: noRecords(
        viewer,
        'No lock sessions yet',
        `This page will show the running session, the ${lockText('time under lock', viewer)} by month, and every session with its breaks.`,
      ),
    })
  }
  const [history, active, [last]] = await Promise.all([
    locksSince(store, sessions, until, until - YEAR_MS),
    activeLock(store, sessions, until),
    someLocks(store, sessions, [newest.id], until),
  ])
  const counted = withoutPractice(history)
  const charts = [monthChart(viewer, counted, { now, until })]
  return view({
    title: 'Locks',
    lead: lockText(leadOf(entries.length, counted, until), viewer),
    charts,
    body: html`
      ${await nowCard(visit, active, last === undefined ? history : [...history, last])}
      ${chartCards(visit, charts)}
      ${lockCalendar(viewer, counted, { now, until })}
      ${await lockTable(visit, entries)}
    `,
  })
}

function leadOf(count: number, counted: readonly LockStats[], until: number): string {
  const isKnown = counted.some(({ events }) => events.length > 0)
  const year = { day: 0, start: until - 365 * DAY_MS, end: until, partial: false }
  const { lockedSeconds } = lockStatistics(counted, [year], until).total
  const locked = isKnown ? `${durationText(lockedSeconds)} under lock` : 'no time under lock is known'
  return `${countText(count, 'session')} in all, ${locked} in the last 365 days.`
}

/** Enough history for everything on the page: the sentence at the top, twelve months and the days. */
const YEAR_MS = 366 * DAY_MS

type Active = Awaited<ReturnType<typeof activeLock>>

/** The current lock. */
async function nowCard(
  { store, pageAccess, viewer, now }: Visit,
  active: Active,
  history: readonly LockStats[],
): Promise<Html> {
  if (active === undefined) {
    const ends = history.flatMap(session => knownEnd(session) ?? []).filter(end => end <= now)
    const last = ends.length === 0 ? nothing : html` The last one ended ${dateTime(viewer, Math.max(...ends))}.`
    return html`
      <section class="card" data-live="now">
        <div class="card-head"><h2>Now</h2><span class="state">Open${ageText(viewer, now)}</span></div>
        <p>No session is running.${last}</p>
      </section>
    `
  }
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(active.document) as LockSession
  const clock = { until: countedUntil(viewer.asOf, now), now }
  const template =
    active.template === null ? undefined : await lockTemplate(store, pageAccess.ofAll('lock_template'), active.template)
  if (template !== undefined) pageAccess.note('lkbx', template.owner)
  return html`
    <section class="card" data-live="now">
      <div class="card-head">
        <h2>${lockNow(viewer, active, clock)}</h2>
        <span class="state on">${stateName(active.state, viewer)}${ageText(viewer, now)}</span>${practiceMark(active.rules)}
      </div>
      ${facts([
        ['Session', html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', record)}</a>`],
        [lockText('Locked since', viewer), dateTime(viewer, active.at)],
        ['Breaks', active.intervals.length === 0 ? NONE : breaksText(active, template?.record)],
        ['Planned end', plannedEndText(viewer, active, clock.until)],
      ])}
      ${isTimeHidden(viewer, viewer.subject.id, active) ? nothing : timeBar(active, clock)}
    </section>
  `
}
