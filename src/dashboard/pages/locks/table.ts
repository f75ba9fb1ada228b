import { fieldValues, lockFields, lockWriter } from '../../../archive/formats/tables.ts'
import { PartSize } from '../../../archive/part-size.ts'
import type { OwnerAccess } from '../../../accounts/access.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import { breaksOf, totalsOf } from '../../../stats/intervals.ts'
import {
  type LockEntry,
  lockEntries,
  lockRecords,
  locksSince,
  type LockStats,
  someLocks,
} from '../../../stats/lock-queries.ts'
import { countedUntil } from '../../../stats/status.ts'
import { type TableColumn, fieldColumns, recordLink, downloadLinks, table } from '../../layout/components.ts'
import { pause } from '../../../fairness.ts'
import { csvFile, ndjsonFile } from '../../files.ts'
import { isTimeHidden, withoutTime } from '../../text/hidden-time.ts'
import { html, type Html, nothing } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { recordName } from '../../text/names.ts'
import type { Reader, Viewer, Visit } from '../../page.ts'
import { paginate, pageNumber, tableFoot } from '../../paging.ts'
import { periodFor, timeOfDays } from '../../text/period.ts'
import { durationText, NONE, numberText } from '../../text/text.ts'
import { lockAddress, type LockQuery, readLockQuery, sessionsWithin, type ShownLocks } from './filters.ts'
import { hiddenFields } from '../period-bar.ts'
import { knownEnd, practiceMark, stateMark, stateName } from './states.ts'

/** Lock sessions as a table, and as files. */

export async function lockTable(visit: Visit, entries: readonly LockEntry[], shown: ShownLocks): Promise<Html> {
  const { store, viewer, pageAccess, now } = visit
  const access = pageAccess.sessions('lkbx')
  const { query } = shown
  const ofState = entriesOf(entries, query, shown.period && shown.sessions)
  const paged = paginate(ofState, pageNumber(visit.query))
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
  const file = (path: string) => lockAddress(query, { compare: undefined }, path)
  return html`
    <section class="card" id="sessions">
      <div class="card-head">
        <h2>Sessions</h2>
        <div class="row">
          ${stateFilter(viewer, shown)}
          ${downloadLinks(viewer, file('/locks.csv'), file('/locks.ndjson'))}
        </div>
      </div>
      ${
        rows.length === 0
          ? html`<p class="muted">No session matches. <a href="${lockAddress(query, { state: '' })}#sessions">Clear filters</a></p>`
          : html`${table('Sessions', lockColumns(visit), rows, { id: 'session-table' })}${tableFoot('/locks', visit.query, paged)}`
      }
    </section>
  `
}

/** The entries of a state, and of some sessions alone. */
function entriesOf(
  entries: readonly LockEntry[],
  { state }: LockQuery,
  sessions: readonly LockStats[] | undefined,
): readonly LockEntry[] {
  const ids = sessions && new Set(sessions.map(({ id }) => id))
  return entries.filter(entry => (state === '' || entry.state === state) && (ids?.has(entry.id) ?? true))
}

function stateFilter(viewer: Viewer, { query, sessions }: ShownLocks): Html {
  const states = [...new Set([...sessions.map(session => session.state), query.state])].filter(Boolean).toSorted()
  return html`
    <form class="filters" action="/locks#sessions" data-submit-on-change>
      ${hiddenFields(lockAddress(query, { state: '' }))}
      <select name="state" aria-label="${label('lockState')}">
        <option value="">Any state</option>
        ${states.map(
          name =>
            html`<option value="${name}"${name === query.state ? html` selected` : nothing}>${stateName(name, viewer)}</option>`,
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

export function lockColumns(visit: Pick<Reader, 'viewer' | 'now'>): TableColumn<LockRow>[] {
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
      cell: ({ id, record, rules }) =>
        html`${recordName(viewer, 'lock', { id, name: record?.name ?? '' })}${practiceMark(rules)}`,
    },
    {
      title: label('lockState'),
      line: 'first',
      cell: ({ state, isActive }) => stateMark(viewer, state, isActive),
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
        return count === 0 ? '0' : `${numberText(count)} (${durationText(total / 1000)})`
      },
    },
    { title: 'Longest', numeric: true, cell: ({ intervals, longest }) => knownLength(intervals, longest) },
    ...fieldColumns<LockRow>(viewer, lockFields),
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
    const cells = {
      number: id,
      name: recordName(visit.viewer, 'lock', { id, name: record?.name ?? '' }),
      state: stateName(state, visit.viewer),
      started: at,
      ended: endAt,
      planned: isHidden ? null : (record?.duration ?? null),
      locked: isKnown ? Math.round(locked / 1000) : null,
      breakSeconds: isKnown ? Math.round(open / 1000) : null,
      breaks: isKnown ? breaksOf(intervals).count : null,
    }
    return lockWriter.cells(cells, fieldValues(lockFields, record, visit.viewer.discreet))
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

/** A few at a time: records can be long. */
async function* readSessions(visit: Visit, access: OwnerAccess): AsyncGenerator<DownloadedLock> {
  const { store, viewer, now } = visit
  const query = readLockQuery(visit)
  const period = periodFor(query, now, viewer.timeZone)
  const until = countedUntil(viewer.asOf, now)
  const time = period && timeOfDays(period, viewer.timeZone)
  const ofPeriod = time && sessionsWithin(await locksSince(store, access, until, time.from), time, until)
  const entries = entriesOf(await lockEntries(store, access), query, ofPeriod)
  const size = new PartSize()
  for (let start = 0; start < entries.length;) {
    const ids = entries.slice(start, start + size.rows).map(({ id }) => id)
    start += ids.length
    const [sessions, records] = await Promise.all([
      someLocks(store, access, ids, until),
      lockRecords(store, access, ids),
    ])
    size.adaptTo(records)
    for (const session of sessions) yield { session, document: records.get(session.id) }
    await pause()
  }
}

export function recordOf(document: string | undefined): LockSession | undefined {
  // The archive wrote it in the form of the contract.
  return document === undefined ? undefined : (JSON.parse(document) as LockSession)
}
