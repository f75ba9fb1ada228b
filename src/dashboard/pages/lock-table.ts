import { lockWriter } from '../../archive/formats/tables.ts'
import type { OwnerAccess } from '../../accounts/access.ts'
import type { LockSession } from '../../contract/lock-sessions.ts'
import { breaksOf, totalsOf } from '../../stats/intervals.ts'
import {
  type LockEntry,
  lockEntries,
  lockRecords,
  locksSince,
  type LockStats,
  someLocks,
} from '../../stats/lock-queries.ts'
import { dayFrom } from '../../stats/periods.ts'
import { countedUntil } from '../../stats/status.ts'
import { type TableColumn, recordLink, downloadLinks, table } from '../layout/components.ts'
import { turnOf } from '../../turns.ts'
import { csvFile, ndjsonFile } from '../files.ts'
import { isTimeHidden, withoutTime } from '../text/hidden-time.ts'
import { html, type Html, nothing } from '../html.ts'
import { label } from '../text/labels.ts'
import { recordName } from '../text/names.ts'
import type { Viewer, Visit } from '../page.ts'
import { paginate, pageNumber, tableFoot } from '../paging.ts'
import { dateText, durationText, NONE, numberText } from '../text/text.ts'
import { knownEnd, practiceMark, stateMark, stateName } from './lock-states.ts'

/** Lock sessions as a table, and as files. */

export async function lockTable(visit: Visit, entries: readonly LockEntry[]): Promise<Html> {
  const { store, viewer, pageAccess, query, now } = visit
  const access = pageAccess.sessions('lkbx')
  const filters = readFilters(visit)
  const { state, days } = filters
  const paged = paginate(await filtered(visit, access, entries, filters), pageNumber(query))
  const ids = paged.rows.map(({ id }) => id)
  const [sessions, records] = await Promise.all([
    someLocks(store, access, ids, countedUntil(viewer.asOf, now)),
    lockRecords(store, access, ids),
  ])
  const rows = sessions.map(session => ({
    ...session,
    ...totalsOf(session.intervals),
    record: recordOf(records.get(session.id)),
  }))
  const set = new URLSearchParams({ ...(state === '' ? {} : { state }), ...days })
  const suffix = set.size === 0 ? '' : `?${set}`
  return html`
    <section class="card" id="sessions">
      <div class="card-head">
        <h2>Sessions</h2>
        <div class="row">
          ${stateFilter(viewer, entries, filters)}
          ${downloadLinks(viewer, `/locks.csv${suffix}`, `/locks.ndjson${suffix}`)}
        </div>
      </div>
      ${
        days === undefined
          ? nothing
          : html`<p class="summary">Those of ${daysText(viewer, days)}; <a href="/locks#sessions">show all sessions</a>.</p>`
      }
      ${
        rows.length === 0
          ? html`<p class="muted">No session matches. <a href="/locks#sessions">Show all sessions</a></p>`
          : html`${table('Sessions', columns(visit), rows, { id: 'session-table' })}${tableFoot('/locks', query, paged)}`
      }
    </section>
  `
}

interface Days {
  readonly from: string
  readonly to: string
}

interface LockFilters {
  /** Empty for any. */
  readonly state: string
  /** The first and the last day. */
  readonly days: Days | undefined
}

function readFilters({ query, viewer }: Visit): LockFilters {
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? '']
  const isKnown = [from, to].every(day => dayFrom(day, viewer.timeZone) !== undefined) && from <= to
  return { state: query.get('state') ?? '', days: isKnown ? { from, to } : undefined }
}

/** The sessions of a state, and of days: also those that began before and went on. */
async function filtered(
  { store, viewer, now }: Visit,
  access: OwnerAccess,
  entries: readonly LockEntry[],
  { state, days }: LockFilters,
): Promise<readonly LockEntry[]> {
  const ofState = state === '' ? entries : entries.filter(entry => entry.state === state)
  if (days === undefined) return ofState
  const until = countedUntil(viewer.asOf, now)
  const [start = 0] = dayFrom(days.from, viewer.timeZone) ?? []
  const [, end = 0] = dayFrom(days.to, viewer.timeZone) ?? []
  const locks = await locksSince(store, access, until, start)
  const ids = new Set(locks.filter(({ at, endAt }) => at < end && (endAt ?? until) >= start).map(({ id }) => id))
  return ofState.filter(({ id }) => ids.has(id))
}

function daysText(viewer: Viewer, { from, to }: Days): string {
  const [start, end] = [from, to].map(day => dateText(viewer, dayFrom(day, viewer.timeZone)?.[0] ?? 0))
  return from === to ? `${start}` : `${start} to ${end}`
}

function stateFilter(viewer: Viewer, entries: readonly LockEntry[], { state, days }: LockFilters): Html {
  const states = [...new Set(entries.map(entry => entry.state))].toSorted()
  return html`
    <form class="filters" action="/locks#sessions" data-submit-on-change>
      ${Object.entries<string>({ ...days }).map(([name, day]) => html`<input type="hidden" name="${name}" value="${day}">`)}
      <select name="state" aria-label="${label('lockState')}">
        <option value="">Any state</option>
        ${states.map(
          name =>
            html`<option value="${name}"${name === state ? html` selected` : nothing}>${stateName(name, viewer)}</option>`,
        )}
      </select>
      <button class="small">Show</button>
    </form>
  `
}

interface LockRow extends LockStats {
  readonly locked: number
  readonly longest: number
  readonly record: LockSession | undefined
}

function columns(visit: Visit): TableColumn<LockRow>[] {
  const { viewer } = visit
  return [
    {
      title: label('startDate'),
      line: 'first',
      cell: ({ id, at }) => recordLink(visit, `/locks/${id}`, at),
    },
    {
      title: label('name'),
      line: 'second',
      cell: ({ id, record }) => recordName(viewer, 'lock', { id, name: record?.name ?? '' }),
    },
    {
      title: label('lockState'),
      line: 'first',
      cell: ({ state, isActive, rules }) => html`${stateMark(viewer, state, isActive)}${practiceMark(rules)}`,
    },
    {
      title: stateName('locked', viewer),
      numeric: true,
      line: 'second',
      unit: `\u00a0${stateName('locked', viewer).toLowerCase()}`,
      cell: ({ intervals, locked }) => knownLength(intervals, locked),
    },
    {
      title: 'Breaks',
      numeric: true,
      cell({ intervals }) {
        const { count, total } = breaksOf(intervals)
        if (intervals.length === 0) return NONE
        return count === 0 ? '0' : `${numberText(count)} · ${durationText(total / 1000)}`
      },
    },
    { title: 'Longest stretch', numeric: true, cell: ({ intervals, longest }) => knownLength(intervals, longest) },
  ]
}

/** Without events, nothing is known of a time under lock. */
export function knownLength(intervals: readonly unknown[], milliseconds: number): string {
  return intervals.length === 0 ? NONE : durationText(milliseconds / 1000)
}

export async function downloadCsv(visit: Visit) {
  const rowOf = ({ session, document }: DownloadedLock) => {
    const { id, at, state, intervals } = session
    const endAt = knownEnd(session)
    const record = recordOf(document)
    const isHidden = isTimeHidden(visit.viewer, visit.viewer.subject.id, session)
    const { locked, open } = totalsOf(intervals)
    // Without events, nothing is known of them.
    const isKnown = intervals.length > 0
    return lockWriter.cells({
      number: id,
      name: recordName(visit.viewer, 'lock', { id, name: record?.name ?? '' }),
      state: stateName(state, visit.viewer),
      started: at,
      ended: endAt,
      planned: isHidden ? null : (record?.duration ?? null),
      locked: isKnown ? Math.round(locked / 1000) : null,
      breakSeconds: isKnown ? Math.round(open / 1000) : null,
      breaks: isKnown ? breaksOf(intervals).count : null,
    })
  }
  return csvFile(visit, 'locks', lockWriter.header, filteredSessions(visit), rowOf)
}

/** The records as the API sends them, one a line, but for times that are hidden. */
export async function downloadRecords(visit: Visit) {
  return ndjsonFile(visit, 'locks', recordLines(visit, filteredSessions(visit)))
}

async function* recordLines({ viewer }: Visit, sessions: AsyncIterable<DownloadedLock>): AsyncGenerator<string> {
  for await (const { session, document } of sessions) {
    // A record that was removed in the meantime is left out.
    if (document === undefined) continue
    yield `${isTimeHidden(viewer, viewer.subject.id, session) ? withoutTime(document) : document}\n`
  }
}

interface DownloadedLock {
  readonly session: LockStats
  readonly document: string | undefined
}

/** The sessions that match the filter, with their records. The read is noted here, because one noted after the response has begun is lost. */
function filteredSessions(visit: Visit): AsyncIterable<DownloadedLock> {
  return readSessions(visit, visit.pageAccess.sessions('lkbx'))
}

/** A few at a time, because records are large. */
async function* readSessions(visit: Visit, access: OwnerAccess): AsyncGenerator<DownloadedLock> {
  const { store, viewer, now } = visit
  const entries = await filtered(visit, access, await lockEntries(store, access), readFilters(visit))
  for (let start = 0; start < entries.length; start += SESSIONS_AT_ONCE) {
    const ids = entries.slice(start, start + SESSIONS_AT_ONCE).map(({ id }) => id)
    const [sessions, records] = await Promise.all([
      someLocks(store, access, ids, countedUntil(viewer.asOf, now)),
      lockRecords(store, access, ids),
    ])
    for (const session of sessions) yield { session, document: records.get(session.id) }
    await turnOf('computation', access.owner)
  }
}

const SESSIONS_AT_ONCE = 100

function recordOf(document: string | undefined): LockSession | undefined {
  // The archive wrote it in the form of the contract.
  return document === undefined ? undefined : (JSON.parse(document) as LockSession)
}
