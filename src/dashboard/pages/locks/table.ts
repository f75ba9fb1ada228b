import { lockFields, lockWriter } from '../../../archive/formats/tables.ts'
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
import { type TableColumn, fieldColumns, recordLink, table } from '../../layout/components.ts'
import { isTimeHidden, withoutTime } from '../../text/hidden-time.ts'
import { html, type Html, nothing } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { recordName } from '../../text/names.ts'
import type { Reader, Viewer, Visit } from '../../page.ts'
import { paginate, tableFoot } from '../../paging.ts'
import { type Period, timeOfDays } from '../../text/period.ts'
import { durationText, NONE, numberText } from '../../text/text.ts'
import type { Store } from '../../../store/index.ts'
import { addressOf, type Area, fewAtOnce, hiddenFields, type WithDocument } from '../area.ts'
import { lockAddresses, type LockQuery, sessionsWithin, type ShownLocks } from './filters.ts'
import { knownEnd, practiceMark, stateMark, stateName } from './states.ts'

/** Lock sessions as a table, and as files. */

export async function lockRows(visit: Visit, entries: readonly LockEntry[], shown: ShownLocks) {
  const { store, viewer, pageAccess, now } = visit
  const access = pageAccess.sessions('lkbx')
  const { query } = shown
  const paged = paginate(entriesOf(entries, query, shown.period && shown.sessions), visit.query)
  const { sessions, documents } = await readLocks(store, access, countedUntil(viewer.asOf, now), paged.rows)
  const rows = sessions.map(session => {
    return { ...session, ...totalsOf(session.intervals), record: recordOf(documents.get(session.id)) }
  })
  return {
    filter: stateFilter(viewer, shown),
    rows:
      rows.length === 0
        ? html`<p class="muted">No session matches. <a href="${addressOf(lockAddresses, query, { state: '' })}#sessions">Clear filters</a></p>`
        : html`${table('Sessions', lockColumns(visit), rows, { id: 'session-table' })}${tableFoot('/locks', visit.query, paged)}`,
  }
}

async function readLocks(store: Store, access: OwnerAccess, until: number, entries: readonly LockEntry[]) {
  const ids = entries.map(({ id }) => id)
  const [sessions, documents] = await Promise.all([
    someLocks(store, access, ids, until),
    lockRecords(store, access, ids),
  ])
  return { sessions, documents }
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
      ${hiddenFields(addressOf(lockAddresses, query, { state: '' }))}
      <select name="state" aria-label="${label('lockState')}">
        <option value="">Any state</option>
        ${states.map(
          name =>
            html`<option value="${name}"${name === query.state ? html` selected` : nothing}>${stateName(name, viewer)}</option>`,
        )}
      </select>
      <button class="small no-script">Show</button>
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

export const lockFile: Area<LockQuery, ShownLocks, LockStats>['file'] = {
  header: ({ discreet }) => lockWriter.header(discreet),
  sessions: (visit, query, period) => sessionsOf(visit, visit.pageAccess.sessions('lkbx'), query, period),
  cells: visit => Promise.resolve(item => cellsOf(visit.viewer, item)),
  line: ({ viewer }, session, document) =>
    isTimeHidden(viewer, viewer.subject.id, session) ? withoutTime(document) : document,
}

function cellsOf(viewer: Viewer, { session, document }: WithDocument<LockStats>) {
  const { id, at, state, intervals } = session
  const record = recordOf(document)
  const isHidden = isTimeHidden(viewer, viewer.subject.id, session)
  const { locked, open } = totalsOf(intervals)
  // Without events, nothing is known of them.
  const isKnown = intervals.length > 0
  const cells = {
    number: id,
    name: record?.name ?? '',
    state: stateName(state, viewer),
    started: at,
    ended: knownEnd(session),
    planned: isHidden ? null : (record?.duration ?? null),
    locked: isKnown ? Math.round(locked / 1000) : null,
    breakSeconds: isKnown ? Math.round(open / 1000) : null,
    breaks: isKnown ? breaksOf(intervals).count : null,
  }
  return lockWriter.cells(cells, record, viewer.discreet)
}

async function* sessionsOf(
  { store, viewer, now }: Visit,
  access: OwnerAccess,
  query: LockQuery,
  period: Period | undefined,
): AsyncGenerator<WithDocument<LockStats>> {
  const until = countedUntil(viewer.asOf, now)
  const time = period && timeOfDays(period, viewer.timeZone)
  const ofPeriod = time && sessionsWithin(await locksSince(store, access, until, time.from), time, until)
  const entries = entriesOf(await lockEntries(store, access), query, ofPeriod)
  yield* fewAtOnce(entries, some => readLocks(store, access, until, some))
}

export function recordOf(document: string | undefined): LockSession | undefined {
  // The archive wrote it in the form of the contract.
  return document === undefined ? undefined : (JSON.parse(document) as LockSession)
}
