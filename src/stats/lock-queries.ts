import { type RawBuilder, type Selectable, sql } from 'kysely'
import {
  type Access,
  ANY_SESSIONS,
  isReadable,
  isReadableOf,
  type OwnerAccess,
  checkedQuery,
  readChecked,
  recordQuery,
} from '../accounts/access.ts'
import type { LockSession } from '../contract/lock-sessions.ts'
import { documentsById } from './documents.ts'
import type { Store } from '../store/index.ts'
import { pause } from '../fairness.ts'
import { bounded, checkHistorySize, maxMegabytes, ONE_MORE } from './history-cache.ts'
import type { Params } from '../store/query.ts'
import type { Tables } from '../store/tables.ts'
import { lockEnd, type LockEvent, type LockInterval, lockIntervals } from './intervals.ts'
import { withoutPractice } from './lock-statistics.ts'

/** Queries of lock sessions for statistics: most read columns, not records. */

/**
 * The lock sessions of an account that were active at or after `from`, oldest first. Others have their turns while there are many. Throws
 * ApiError if they are too many.
 */
export async function locksSince(
  store: Store,
  access: OwnerAccess,
  now: number,
  from = Number.MIN_SAFE_INTEGER,
): Promise<LockStats[]> {
  const sessions: LockStats[] = []
  let bytes = 0
  let after: Position = { at: Number.MIN_SAFE_INTEGER, id: 0 }
  const rest = () => ({ ...access, start: Math.max(access.start, after.at), at: after.at, id: after.id })
  for (;;) {
    const [end] = await readChecked(store, endOfPart, rest())
    const { at: lastAt, id: lastId } = end ?? { at: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER }
    let count: number
    do {
      const rows = await readChecked(store, activeSince, { ...rest(), lastAt, lastId, from, limit: MAX_BATCH_ROWS })
      for (const row of rows) {
        bytes += 300 + row.events.length * 5
        checkHistorySize(bytes, maxMegabytes.locks)
        sessions.push(lockStats(row, now))
      }
      after = rows.at(-1) ?? after
      count = rows.length
      await pause()
    } while (count === MAX_BATCH_ROWS)
    if (end === undefined) return sessions
    after = end
  }
}

type Position = Pick<LockRow, 'at' | 'id'>

/** So few that reading them takes about two milliseconds. */
const MAX_BATCH_ROWS = 200

/** So few that passing over all of them, because they ended before `from`, takes no longer. */
const ROWS_IN_PART = 2000

/** Of lock sessions, those of a time, which statistics count, and what is known of their templates. */
export function locksWithin(
  sessions: readonly LockStats[],
  { start, end }: Pick<LockInterval, 'start' | 'end'>,
  until: number,
) {
  const overlapping = sessions.filter(({ at, endAt }) => at <= until && at < end && (endAt ?? Infinity) >= start)
  const counted = withoutPractice(overlapping)
  return {
    counted,
    practiceSessions: overlapping.length - counted.length,
    unknownTemplate: counted.filter(({ rules }) => rules === undefined).length,
  }
}

/** What is needed of each lock session to find those of a template. */
export interface LockEntry {
  readonly id: number
  readonly at: number
  readonly template: number | null
}

/** All lock sessions of an account, the newest first. Throws ApiError if they are too many. */
export async function lockEntries(store: Store, access: OwnerAccess): Promise<LockEntry[]> {
  const rows = bounded(await readChecked(store, allLocks, access))
  return rows.map(({ id, at, template }) => ({ id, at, template }))
}

/** Which of the lock templates that an account uses are for practice, in ascending order. */
export async function practiceTemplates(
  store: Store,
  { owner }: OwnerAccess,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  return (await readChecked(store, practiceTemplatesById, { owner, ids })).map(({ id }) => id)
}

/** Some lock sessions of an account, in the order of `ids`; those that are not found are left out. */
export async function someLocks(
  store: Store,
  access: OwnerAccess,
  ids: readonly number[],
  now: number,
): Promise<LockStats[]> {
  const rows = new Map((await readChecked(store, locksById, { ...access, ids })).map(row => [row.id, row]))
  return ids.flatMap(id => {
    const row = rows.get(id)
    return row === undefined ? [] : [lockStats(row, now)]
  })
}

/** The lock session of an account that started last; those that start or ended at or after `before` do not count. */
export async function newestLock(store: Store, access: OwnerAccess, before: number, now: number) {
  const [row] = await readChecked(store, newestLockSession, { ...access, before })
  return row && lockStats(row, now)
}

/** The facts of a running lock session that do not depend on the present time. */
export type RunningLock = Pick<LockStats, 'at' | 'state' | 'plannedEnd' | 'events' | 'rules'>

/** The lock session that runs, with its record; the newest where there are several. */
export async function activeLock(store: Store, access: OwnerAccess, now: number) {
  const [row] = await readChecked(store, activeLockSession, access)
  return row && { ...lockStats(row, now), document: row.document }
}

export type LockDetails = NonNullable<Awaited<ReturnType<typeof lockSession>>>

/** One lock session of some accounts; undefined when they have none with this identifier. */
export async function lockSession(store: Store, access: Access, id: number, now: number) {
  const [row] = await readChecked(store, sessionById, { ...access, id })
  if (row === undefined) return undefined
  const { owner_id: owner, document } = row
  // The archive wrote it in the form of the contract.
  return { ...lockStats(row, now), owner, document, record: JSON.parse(document) as LockSession }
}

export const lockRecords = documentsById('lock_session', 'records of lock sessions')

type LockRow = Pick<
  Selectable<Tables['lock_session']>,
  'id' | 'at' | 'lock_state' | 'is_active' | 'template_id' | 'ended_at' | 'events' | 'made_here'
> & { readonly is_test_lock: number | null; readonly is_time_displayed: number | null }

/** A lock session without its record. */
export type LockStats = ReturnType<typeof lockStats>

function lockStats(row: LockRow, now: number) {
  // The archive wrote it as a list of these tuples.
  const events = JSON.parse(row.events) as LockEvent[]
  const endAt = lockEnd(row, events)
  return {
    id: row.id,
    at: row.at,
    state: row.lock_state,
    isActive: row.is_active === 1,
    template: row.template_id,
    /** Undefined if its template is not known. */
    rules:
      row.is_test_lock === null
        ? undefined
        : { isPractice: row.is_test_lock === 1, showsTime: row.is_time_displayed === 1 },
    /** When it ended, null while it runs. */
    endAt,
    /** Null if it is not active, or its planned end is not known. */
    plannedEnd: row.is_active === 1 ? row.ended_at : null,
    /** Whether somebody typed it into a table. */
    isTyped: row.made_here !== null,
    events,
    intervals: lockIntervals(events, endAt, now),
  }
}

// Also of templates of other accounts: a reader of the session learns only whether they are for practice and hide the time.
function ruleColumns(param: ServersParam): RawBuilder<unknown> {
  const ofTemplate = (column: string) =>
    `(select max(${column}) from lock_template where lock_template.id = template_id) as ${column}`
  return sql.raw(param.onOneServer(RULES.map(ofTemplate), RULES).join(', '))
}

type ServersParam = Pick<Params<unknown>, 'onOneServer'>

/** The lock sessions that are readable, with what `ruleColumns` shows. */
function lockSessionTable(param: ServersParam, readable: RawBuilder<unknown>): RawBuilder<unknown> {
  return param.onOneServer(
    sql`lock_session`,
    // The templates are of several owners, so they are found before the sessions are joined with them.
    sql`lock_session left join (
      select id as rules_id, ${sql.raw(RULES.map(column => `max(${column}) as ${column}`).join(', '))} from lock_template
      where id in (select template_id from lock_session where ${readable}) group by id) as rules on rules_id = template_id`,
  )
}

const RULES = ['is_test_lock', 'is_time_displayed']

const lockColumns = (param: ServersParam) =>
  sql`id, at, lock_state, is_active, template_id, ${ruleColumns(param)}, ended_at, events, made_here`

// Both conditions have the same start: whichever the engine uses for the index, it begins where the last part ended.
const isAfter = (param: Params<OwnerAccess & Position>) =>
  sql`${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')})`

const endOfPart = recordQuery<OwnerAccess & Position, Position>(
  'end of a part of the lock sessions',
  (param, owned) => sql`
    select ${owned}, at, id from lock_session where ${isAfter(param)}
    order by at, id limit 1 offset ${sql.lit(ROWS_IN_PART - 1)}`,
)

type Part = OwnerAccess & Position & { from: number; lastAt: number; lastId: number; limit: number }

const activeSince = recordQuery<Part, LockRow>(
  'lock sessions since',
  (param, owned) => sql`
    select ${owned}, ${lockColumns(param)} from ${lockSessionTable(param, isReadableOf(param))}
    where ${isAfter(param)} and at <= ${param('lastAt')} and (at, id) <= (${param('lastAt')}, ${param('lastId')})
      and (is_active = 1 or ended_at is null or ended_at >= ${param('from')})
    order by at, id limit ${param.count('limit')}`,
)

const allLocks = recordQuery<OwnerAccess, LockEntry>(
  'all lock sessions',
  (param, owned) => sql`
    select ${owned}, id, at, template_id as template from lock_session
    where ${isReadableOf(param)}
    order by at desc, id desc limit ${sql.lit(ONE_MORE)}`,
)

// The templates may be of any account, so only their ids are returned. Their rows say who asked: no more of them can be checked.
const practiceTemplatesById = checkedQuery<{ owner: number; ids: readonly number[] }, { id: number }>(
  'templates for practice',
  (param, named) => sql`
    select distinct ${named}, cast(${param('owner')} as bigint) as owner_id, id from lock_template
    where id in ${param.rows(values => values.ids)} and is_test_lock = 1
    order by id`,
)

const locksById = recordQuery<OwnerAccess & { ids: readonly number[] }, LockRow>(
  'lock sessions by id',
  (param, owned) => sql`
    select ${owned}, ${lockColumns(param)} from ${lockSessionTable(param, isReadableOf(param, 'by id'))}
    where ${isReadableOf(param, 'by id')} and id in ${param.rows(values => values.ids)}`,
)

const newestLockSession = recordQuery<OwnerAccess & { before: number }, LockRow>(
  'newest lock session',
  (param, owned) => sql`
    select ${owned}, ${lockColumns(param)} from ${lockSessionTable(param, isReadableOf(param))}
    where ${isReadableOf(param)} and at < ${param('before')}
      and (is_active = 1 or ended_at is null or ended_at < ${param('before')})
    order by at desc, id desc limit 1`,
)

const activeLockSession = recordQuery<OwnerAccess, LockRow & { document: string }>(
  'active lock session',
  (param, owned) => sql`
    select ${owned}, ${lockColumns(param)}, document from ${lockSessionTable(param, isReadableOf(param))}
    where ${isReadableOf(param)} and is_active = 1
    order by at desc, id desc limit 1`,
)

const sessionById = recordQuery<Access & { id: number }, LockRow & { document: string }>(
  'lock session by id',
  (param, owned) => sql`
    select ${owned}, ${lockColumns(param)}, document from ${lockSessionTable(param, isReadable(param, ANY_SESSIONS))}
    where ${isReadable(param, ANY_SESSIONS)} and id = ${param('id')}`,
)
