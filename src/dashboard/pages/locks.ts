import type { LockSession } from '../../contract/lock-sessions.ts'
import { DAY_MS } from '../../contract/time.ts'
import { lockStatistics, withoutPractice } from '../../stats/lock-statistics.ts'
import { lockHistory } from '../../stats/lock-history.ts'
import { activeLock, locksSince, type LockStats, someLocks } from '../../stats/lock-queries.ts'
import { countedUntil } from '../../stats/status.ts'
import { chartCards } from '../charts/charts.ts'
import { facts, noRecords } from '../layout/components.ts'
import { HIDDEN, isTimeHidden } from '../text/hidden-time.ts'
import { html, type Html, nothing } from '../html.ts'
import { recordName } from '../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../page.ts'
import { ageText, countText, dateTime, durationText } from '../text/text.ts'
import { lockCalendar, monthChart } from './lock-charts.ts'
import { plannedEndText, tickingTime, timeBar } from './lock-time.ts'
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
      ${nowCard(visit, active, last === undefined ? history : [...history, last])}
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
function nowCard({ viewer, now }: Visit, active: Active, history: readonly LockStats[]): Html {
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
  const current = active.intervals.at(-1)
  const isHidden = isTimeHidden(viewer, viewer.subject.id, active)
  const until = countedUntil(viewer.asOf, now)
  return html`
    <section class="card" data-live="now">
      <div class="card-head">
        <h2>Now</h2>
        <span class="state on">${stateName(active.state, viewer)}${ageText(viewer, now)}</span>${practiceMark(active.rules)}
      </div>
      ${facts([
        ['Session', html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', record)}</a>`],
        ['Started', dateTime(viewer, active.at)],
        ...(current === undefined || current.start <= active.at
          ? []
          : [[sinceTitle(viewer, current.locked), dateTime(viewer, current.start)] as const]),
        // The bar shows how much of the time until the planned end has passed.
        [
          'Running for',
          html`${tickingTime(active.at, { until, now })} ${isHidden || record.duration === 0 || active.plannedEnd !== null ? nothing : html`<small class="muted">of ${durationText(record.duration)}</small>`}`,
        ],
        ['Planned end', isHidden ? HIDDEN : plannedEndText(viewer, active, until)],
      ])}
      ${isHidden ? nothing : timeBar(active, { until, now })}
    </section>
  `
}

function sinceTitle({ discreet }: Viewer, locked: boolean): string {
  if (discreet) return locked ? 'Active again since' : 'Paused since'
  return locked ? 'Locked again since' : 'Open since'
}
