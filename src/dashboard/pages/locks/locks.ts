import type { LockSession } from '../../../contract/lock-sessions.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { totalsOf } from '../../../stats/intervals.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplate } from '../../../stats/lock-template-queries.ts'
import { countedUntil } from '../../../stats/status.ts'
import { emptyState, facts, noRecords } from '../../layout/components.ts'
import { isTimeHidden } from '../../text/hidden-time.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Visit } from '../../page.ts'
import { periodProblem, periodText } from '../../text/period.ts'
import { ageText, dateTime, durationText, NONE } from '../../text/text.ts'
import { isLongerThanWeek } from '../parts.ts'
import { lockCalendar, lockTiles, sharePicture, shareText } from './charts.ts'
import { lockFilters, shownLocks } from './filters.ts'
import { breaksText, lockNow, plannedEndText, timeBar } from './time.ts'
import { knownEnd, lockText, practiceMark, stateName } from './states.ts'
import { downloadCsv, downloadRecords, lockTable } from './table.ts'

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
  const history = await lockHistory(store, sessions)
  const { entries } = history
  const [newest] = entries
  if (newest === undefined) {
    return view({
      title: 'Locks',
      body: noRecords(
        viewer,
        'No lock sessions yet',
        `This page will show the running session, the ${lockText('time under lock', viewer)} by week and month, and every session with its breaks.`,
      ),
    })
  }
  const [shown, active, [last]] = await Promise.all([
    shownLocks(visit, history),
    activeLock(store, sessions, until),
    someLocks(store, sessions, [newest.id], until),
  ])
  const problem = shown.period && periodProblem(shown.period)
  const isEmpty = shown.sessions.length === 0
  const isOneDay = shown.first === shown.last
  return view({
    title: 'Locks',
    lead: isEmpty ? undefined : shareText(viewer, shown),
    body: html`
      ${await nowCard(visit, active, last === undefined ? shown.sessions : [...shown.sessions, last])}
      ${lockFilters(shown)}
      ${
        isEmpty
          ? emptyState(
              'No lock sessions',
              problem ?? `There is none${shown.period === undefined ? '' : ` ${periodText(shown.period)}`}.`,
            )
          : html`
              ${lockTiles(viewer, shown)}
              ${isLongerThanWeek(shown) ? sharePicture(viewer, shown) : nothing}
              ${isOneDay ? nothing : lockCalendar(viewer, shown)}
              ${await lockTable(visit, entries, shown)}
            `
      }
    `,
  })
}

type Active = Awaited<ReturnType<typeof activeLock>>

/** The current lock. */
async function nowCard(
  { store, pageAccess, viewer, now }: Visit,
  active: Active,
  history: readonly LockStats[],
): Promise<Html> {
  if (active === undefined) {
    const ends = history.flatMap(session => knownEnd(session) ?? []).filter(end => end <= now)
    const last =
      ends.length === 0
        ? 'No session is running.'
        : html`The last lock session ended ${dateTime(viewer, Math.max(...ends))}.`
    return html`
      <section class="card" data-live="now">
        <div class="card-head"><h2>Open${ageText(viewer, now)}</h2></div>
        <p>${last}</p>
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
        ['Open', openText(active, viewer.discreet ? undefined : template?.record)],
        ['Planned end', plannedEndText(viewer, active, clock.until)],
      ])}
      ${isTimeHidden(viewer, viewer.subject.id, active) ? nothing : timeBar(active, clock)}
    </section>
  `
}

/** How long a lock was open so far, and its breaks. */
function openText(lock: LockStats, template: LockTemplate | undefined): Part {
  if (lock.intervals.length === 0) return NONE
  const { open } = totalsOf(lock.intervals)
  return html`${open === 0 ? 'Not yet' : durationText(open / 1000)} <small class="muted">${breaksText(lock, template)}</small>`
}
