import type { LockSession } from '../../contract/lock-sessions.ts'
import { lockedByPeriod } from '../../stats/locks.ts'
import { activeLock, type LockFigures, lockHistory } from '../../stats/queries.ts'
import { emptyState, facts } from '../components.ts'
import { html, type Html } from '../html.ts'
import { recordName } from '../names.ts'
import { type Page, view, type Visit } from '../page.ts'
import { countText, dateTime, durationText, inTime } from '../text.ts'
import { lockCalendar, monthChart } from './lock-charts.ts'
import { stateName } from './lock-states.ts'
import { downloadCsv, downloadRecords, lockTable } from './lock-table.ts'

export const lockPages: readonly Page[] = [
  { path: '/locks', handler: showLocks },
  { path: '/locks.csv', handler: downloadCsv },
  { path: '/locks.ndjson', handler: downloadRecords },
]

async function showLocks(visit: Visit) {
  const { store, viewer, now } = visit
  const owner = viewer.subject.id
  const history = await lockHistory(store, owner, now)
  if (history.length === 0) {
    return view({
      section: 'locks',
      title: 'Locks',
      body: emptyState(
        'No lock sessions yet',
        html`Here you would see whether a lock is closed, how long it has been so by month, and every session with its breaks. They come in with an archive: <code>lockstep import records.ndjson</code>.`,
      ),
    })
  }
  const active = await activeLock(store, owner, now)
  return view({
    section: 'locks',
    title: 'Locks',
    lead: leadOf(history, now),
    charts: true,
    body: html`
      ${nowCard(visit, active, history)}
      ${monthChart(viewer, history, now)}
      ${lockCalendar(viewer, history, now)}
      ${await lockTable(visit, history)}
    `,
  })
}

function leadOf(history: readonly LockFigures[], now: number): string {
  const year = lockedByPeriod(
    history.flatMap(({ stretches }) => stretches),
    [now - YEAR_MS, now],
  )
  return `${countText(history.length, 'session')}, ${durationText((year[0]?.locked ?? 0) / 1000)} under lock in the last year.`
}

const YEAR_MS = 365 * 86_400_000

type Active = Awaited<ReturnType<typeof activeLock>>

/** The current lock. */
function nowCard({ viewer, now }: Visit, active: Active, history: readonly LockFigures[]): Html {
  if (active === undefined) {
    const last = Math.max(...history.map(({ endAt, at }) => endAt ?? at))
    return html`
      <section class="card">
        <div class="card-head"><h2>Now</h2><span class="state">Not locked</span></div>
        <p>No session is running. The last one ended ${dateTime(viewer, last)}.</p>
      </section>
    `
  }
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(active.document) as LockSession
  const current = active.stretches.at(-1)
  const end = active.at + record.duration * 1000
  return html`
    <section class="card">
      <div class="card-head">
        <h2>Now</h2>
        <span class="state on">${stateName(active.state)}</span>
      </div>
      ${facts([
        ['Session', html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', record)}</a>`],
        [
          current === undefined || current.locked ? 'Locked since' : 'Open since',
          dateTime(viewer, current?.start ?? active.at),
        ],
        [
          'Elapsed',
          html`${durationText((now - active.at) / 1000)} <small class="muted">of ${durationText(record.duration)}</small>`,
        ],
        ['Planned end', html`${dateTime(viewer, end)} <small class="muted">${inTime(end, now)}</small>`],
      ])}
    </section>
  `
}
