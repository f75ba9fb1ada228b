import type { LockSession } from '../../contract/lock-sessions.ts'
import { formatTimestamp } from '../../contract/time.ts'
import { calendarTable, longDay } from '../calendar.ts'
import { chart } from '../charts.ts'
import { csv } from '../csv.ts'
import { calendarWeeks } from '../../stats/calendar.ts'
import { activeLock, type LockFigures, lockHistory } from '../../stats/queries.ts'
import { lockedByPeriod, lockRecords, totalsOf } from '../../stats/locks.ts'
import { lastPeriods, wallClock } from '../../stats/periods.ts'
import { html, type Html, nothing } from '../html.ts'
import { label, stateLabels } from '../labels.ts'
import { recordName } from '../names.ts'
import { download, type Page, view, type Viewer, type Visit } from '../page.ts'
import { emptyState, facts, pager, table } from '../components.ts'
import { countText, dateTime, dateTimeText, durationText, inTime, monthText, NONE, numberText } from '../text.ts'

export const lockPages: readonly Page[] = [
  { path: '/locks', answer: showLocks },
  { path: '/locks.csv', answer: downloadCsv },
  { path: '/locks.ndjson', answer: downloadRecords },
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
      ${calendar(viewer, history, now)}
      ${await sessionTable(visit, history)}
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

/** What is the case now. */
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

const MONTHS = 12

function monthChart(viewer: Viewer, history: readonly LockFigures[], now: number): Html {
  const periods = lastPeriods('month', MONTHS, now, viewer.timeZone)
  const months = lockedByPeriod(
    history.flatMap(({ stretches }) => stretches),
    periods,
  ).map((time, index) => {
    const [start = 0, end = 0] = periods.slice(index, index + 2)
    return { ...time, start, end, isCurrent: start <= now && now < end }
  })
  const whole = months.filter(({ isCurrent }) => !isCurrent)
  const average = whole.reduce((sum, { locked }) => sum + locked, 0) / Math.max(1, whole.length)
  const current = months.find(({ isCurrent }) => isCurrent)
  return chart<(typeof months)[number]>({
    chartType: 'bars',
    title: 'Locked time by month (h)',
    summary: `${durationText(average / 1000)} in an average month of the last ${whole.length}, ${durationText((current?.locked ?? 0) / 1000)} this month so far.`,
    empty: 'No locked time in these months',
    wide: true,
    data: { average: hours(average), unit: 'h' },
    legend: [
      ['solid', 'Locked'],
      ['open', 'Breaks'],
      ['so-far', 'This month so far'],
      ['average', 'Average of whole months'],
    ],
    columns: [
      {
        key: 'start',
        title: 'Month',
        cell: ({ start, isCurrent }) => `${monthText(viewer, start)}${isCurrent ? ' (so far)' : ''}`,
        value: ({ start }) => wallClock(start, viewer.timeZone),
      },
      {
        key: 'end',
        title: 'Until',
        cell: ({ end }) => dateTimeText(viewer, Math.min(end, now)),
        value: ({ end }) => wallClock(end, viewer.timeZone),
      },
      {
        key: 'current',
        title: 'Whole',
        cell: ({ isCurrent }) => (isCurrent ? 'So far' : 'Yes'),
        value: ({ isCurrent }) => (isCurrent ? 1 : 0),
      },
      {
        key: 'locked',
        title: 'Locked (h)',
        numeric: true,
        series: 'solid',
        cell: ({ locked }) => numberText(hours(locked)),
        value: ({ locked }) => hours(locked),
      },
      {
        key: 'open',
        title: 'Breaks (h)',
        numeric: true,
        series: 'open',
        cell: ({ open }) => numberText(hours(open)),
        value: ({ open }) => hours(open),
      },
    ],
    rows: months,
  })
}

const WEEKS = 26

function calendar(viewer: Viewer, history: readonly LockFigures[], now: number): Html {
  const locked = history.flatMap(({ stretches }) => stretches.filter(stretch => stretch.locked))
  const weeks = calendarWeeks({ items: history, locked }, now, viewer.timeZone, WEEKS)
  const under = weeks.flat().filter(day => day.locked > 0).length
  return html`
    <section class="card">
      <div class="card-head"><h2>Days</h2></div>
      <p class="summary">${countText(under, 'day')} with time under lock in ${WEEKS} weeks.</p>
      ${calendarTable('Days under lock', weeks, ({ date, start, end, locked }) => {
        const session = history.findLast(({ stretches }) =>
          stretches.some(one => one.locked && one.start < end && one.end > start),
        )
        // Breaks take less than that of a day.
        const whole = locked >= (Math.min(end, now) - start) * MOST_OF
        return {
          look: locked === 0 ? 'none' : whole ? 'more' : 'one',
          text: `${longDay(date)}: ${locked === 0 ? 'not locked' : `${durationText(locked / 1000)} under lock`}`,
          to: session === undefined ? undefined : `/locks/${session.id}`,
        }
      })}
      <ul class="legend">
        <li><i class="day one"></i>Part of the day</li>
        <li><i class="day more"></i>Nearly all of it</li>
      </ul>
    </section>
  `
}

const MOST_OF = 0.8

function hours(milliseconds: number): number {
  return Math.round(milliseconds / 360_000) / 10
}

const PAGE_SIZE = 25

/** What the address asks of the table. */
function chosen(query: URLSearchParams, history: readonly LockFigures[]) {
  const state = query.get('state') ?? ''
  const newest = history.toReversed()
  return { state, sessions: state === '' ? newest : newest.filter(session => session.state === state) }
}

async function sessionTable({ store, viewer, query }: Visit, history: readonly LockFigures[]): Promise<Html> {
  const { state, sessions } = chosen(query, history)
  const pages = Math.max(1, Math.ceil(sessions.length / PAGE_SIZE))
  const page = Math.min(Math.max(1, Math.trunc(Number(query.get('page') ?? 1)) || 1), pages)
  const shown = sessions.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
  const records = await lockRecords(
    store,
    viewer.subject.id,
    shown.map(({ id }) => id),
  )
  const rows = shown.map(session => ({
    ...session,
    ...totalsOf(session.stretches),
    record: recordOf(records, session.id),
  }))
  const states = [...new Set(history.map(session => session.state))].toSorted()
  const suffix = state === '' ? '' : `?${new URLSearchParams({ state })}`
  return html`
    <section class="card" id="sessions">
      <div class="card-head">
        <h2>Sessions</h2>
        <div class="row">
          <form class="filters" action="/locks#sessions" data-submit-on-change>
            <select name="state" aria-label="${label('lockState')}">
              <option value="">Any state</option>
              ${states.map(
                name =>
                  html`<option value="${name}"${name === state ? html` selected` : nothing}>${stateName(name)}</option>`,
              )}
            </select>
            <button class="small no-script">Show</button>
          </form>
          <p class="downloads">
            <a href="/locks.csv${suffix}" download>CSV</a>
            <a href="/locks.ndjson${suffix}" download>NDJSON</a>
          </p>
        </div>
      </div>
      ${
        rows.length === 0
          ? html`<p class="muted">No session fits. <a href="/locks#sessions">Show all sessions</a></p>`
          : html`
              ${table(
                'Sessions',
                [
                  {
                    title: label('startDate'),
                    cell: ({ id, at }) => html`<a class="when" href="/locks/${id}">${dateTimeText(viewer, at)}</a>`,
                  },
                  {
                    title: label('name'),
                    cell: ({ id, record }) => recordName(viewer, 'lock', { id, name: record?.name ?? '' }),
                  },
                  { title: label('lockState'), cell: ({ state, isActive }) => stateMark(state, isActive) },
                  {
                    title: 'Planned',
                    numeric: true,
                    cell: ({ record }) => (record === undefined ? NONE : durationText(record.duration)),
                  },
                  { title: 'Locked', numeric: true, cell: ({ locked }) => durationText(locked / 1000) },
                  {
                    title: 'Breaks',
                    numeric: true,
                    cell: ({ stretches }) => numberText(stretches.filter(stretch => !stretch.locked).length),
                  },
                  { title: 'Longest stretch', numeric: true, cell: ({ longest }) => durationText(longest / 1000) },
                ],
                rows,
                'session-table',
              )}
              <div class="table-foot">
                <p class="muted">${numberText((page - 1) * PAGE_SIZE + 1)}–${numberText((page - 1) * PAGE_SIZE + rows.length)} of ${numberText(sessions.length)}</p>
                ${pager('/locks', query, { page, pages })}
              </div>
            `
      }
    </section>
  `
}

function recordOf(records: ReadonlyMap<number, string>, id: number): LockSession | undefined {
  const document = records.get(id)
  // The archive wrote it in the form of the contract.
  return document === undefined ? undefined : (JSON.parse(document) as LockSession)
}

/** A state of a lock. The set is open: one that is not known is shown as it is. */
export function stateName(state: string): string {
  return stateLabels[state] ?? (state === '' ? 'Unknown' : state)
}

export function stateMark(state: string, isActive: boolean): Html {
  return html`<span class="state${isActive ? ' on' : ''}">${stateName(state)}</span>`
}

/** Sessions that the table shows, with their records. */
async function filteredSessions({ store, viewer, now, query }: Visit) {
  const { sessions } = chosen(query, await lockHistory(store, viewer.subject.id, now))
  const records = await lockRecords(
    store,
    viewer.subject.id,
    sessions.map(({ id }) => id),
  )
  return { sessions, records }
}

async function downloadCsv(visit: Visit) {
  const { sessions, records } = await filteredSessions(visit)
  const header = ['Number', 'Name', 'State', 'Started', 'Ended', 'Planned (s)', 'Locked (s)', 'Breaks (s)', 'Breaks']
  const rows = sessions.map(({ id, at, state, endAt, stretches }) => {
    const record = recordOf(records, id)
    const { locked, open } = totalsOf(stretches)
    return [
      id,
      recordName(visit.viewer, 'lock', { id, name: record?.name ?? '' }),
      stateName(state),
      formatTimestamp(at),
      endAt === null ? null : formatTimestamp(endAt),
      record?.duration ?? null,
      Math.round(locked / 1000),
      Math.round(open / 1000),
      stretches.filter(stretch => !stretch.locked).length,
    ]
  })
  return download({ file: fileName(visit, 'csv'), type: 'text/csv; charset=utf-8', body: csv(header, rows) })
}

/** The records as the API sends them, one a line. */
async function downloadRecords(visit: Visit) {
  const { sessions, records } = await filteredSessions(visit)
  const lines = sessions.map(({ id }) => records.get(id)).filter(record => record !== undefined)
  return download({
    file: fileName(visit, 'ndjson'),
    type: 'application/x-ndjson',
    body: lines.map(record => `${record}\n`).join(''),
  })
}

function fileName({ now }: Visit, ending: string): string {
  return `locks-${new Date(now).toISOString().slice(0, 10)}.${ending}`
}
