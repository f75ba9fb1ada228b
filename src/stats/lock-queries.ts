import { type RawBuilder, sql } from '../vendor/kysely.js'
import { isReadableById, isReadableOf, type OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { type Params, query } from '../store/query.ts'
import {
  lockEnd,
  type LockEvent,
  type LockInterval,
  lockIntervals,
  type LockRules,
  parseEvents,
  plannedEnd,
} from './intervals.ts'
import type { KeptReads } from './kept.ts'
import { forEachInParts, inTurns } from './turns.ts'

/** Queries of lock sessions for statistics: they read columns, not records. */

/** A lock session without its record. */
export interface LockStats {
  readonly id: number
  readonly at: number
  readonly state: string
  readonly isActive: boolean
  readonly template: number | null
  /** Undefined if its template is not known. */
  readonly rules: LockRules | undefined
  /** When it ended, null while it runs. */
  readonly endAt: number | null
  /** When it is planned to end; null if it does not run, or that is not known. */
  readonly plannedEnd: number | null
  readonly events: readonly LockEvent[]
  readonly intervals: readonly LockInterval[]
}

/**
 * The lock sessions of an account that were active at or after `from`, oldest first. Other requests are handled while many of them
 * are read from their rows.
 */
export async function lockHistory(
  store: Store,
  access: OwnerAccess,
  now: number,
  from = Number.MIN_SAFE_INTEGER,
): Promise<LockStats[]> {
  const rows = await store.read(locksSince, { ...access, from })
  const sessions: LockStats[] = []
  await inTurns(() => forEachInParts(rows, row => sessions.push(lockStats(row, now))))
  return sessions
}

/** What is needed of each lock session to filter the list of all. */
export interface LockEntry {
  readonly id: number
  readonly state: string
  readonly template: number | null
}

/** All lock sessions of an account, the newest first. */
export async function lockEntries(store: Store, access: OwnerAccess): Promise<LockEntry[]> {
  return store.read(allLocks, access)
}

/** Which of some lock templates are for practice, in ascending order. */
export async function practiceTemplates(store: Store, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return []
  return (await store.read(practiceTemplatesById, { ids })).map(({ id }) => id)
}

/** Some lock sessions of an account, in the order of `ids`; those that are not found are left out. */
export async function someLocks(
  store: Store,
  access: OwnerAccess,
  ids: readonly number[],
  now: number,
): Promise<LockStats[]> {
  const rows = new Map((await store.read(locksById, { ...access, ids })).map(row => [row.id, row]))
  return ids.flatMap(id => {
    const row = rows.get(id)
    return row === undefined ? [] : [lockStats(row, now)]
  })
}

/** The lock sessions of an account that started last, the newest first. */
export async function newestLocks(store: Store, access: OwnerAccess, limit: number, now: number): Promise<LockStats[]> {
  return (await store.read(newestLockSessions, { ...access, limit })).map(row => lockStats(row, now))
}

/** The facts of a running lock session that do not depend on the present time. */
export type RunningLock = Pick<LockStats, 'at' | 'state' | 'plannedEnd' | 'events' | 'rules'>

/** The lock session that runs; the newest where there are several. */
export async function runningLock(
  store: Store,
  access: OwnerAccess,
  kept: KeptReads,
): Promise<RunningLock | undefined> {
  return kept.get(
    `lock of ${access.owner} from ${access.start}`,
    async () => {
      const [row] = await store.read(runningLockSession, access)
      return row && lockFacts(row)
    },
    lock => Math.ceil((lock?.events.length ?? 0) / EVENTS_OF_SIZE_1),
  )
}

/** Events of a lock take as much room as one training session. */
const EVENTS_OF_SIZE_1 = 5

/** The lock session that runs, with its record; the newest where there are several. */
export async function activeLock(store: Store, access: OwnerAccess, now: number) {
  const [row] = await store.read(activeLockSession, access)
  return row && { ...lockStats(row, now), document: row.document }
}

interface LockRow {
  readonly id: number
  readonly at: number
  readonly lock_state: string
  readonly is_active: number
  readonly template_id: number | null
  readonly is_test_lock: number | null
  readonly is_time_displayed: number | null
  readonly ended_at: number | null
  readonly events: string
}

function lockStats(row: LockRow, now: number): LockStats {
  const facts = lockFacts(row)
  const endAt = lockEnd(row, facts.events)
  return {
    ...facts,
    id: row.id,
    isActive: row.is_active === 1,
    template: row.template_id,
    endAt,
    intervals: lockIntervals(facts.events, endAt, now),
  }
}

function lockFacts(row: LockRow): RunningLock {
  return {
    at: row.at,
    state: row.lock_state,
    rules: rulesOf(row),
    plannedEnd: plannedEnd(row),
    events: parseEvents(row.events),
  }
}

/** The rules of the template; undefined where it is not known. */
export function rulesOf({
  is_test_lock,
  is_time_displayed,
}: Pick<LockRow, 'is_test_lock' | 'is_time_displayed'>): LockRules | undefined {
  if (is_test_lock === null) return undefined
  return { isPractice: is_test_lock === 1, showsTime: is_time_displayed === 1 }
}

// Also of templates of other accounts: a reader of the session learns only whether they are for practice and hide the time.
export function ruleColumns({ isDistributed }: Pick<Params<unknown>, 'isDistributed'>): RawBuilder<unknown> {
  if (isDistributed) return sql.raw(RULES.join(', '))
  return sql.raw(
    RULES.map(
      column => `(select max(${column}) from lock_template where lock_template.id = template_id) as ${column}`,
    ).join(', '),
  )
}

/** The lock sessions that are readable, with what `ruleColumns` shows. */
export function lockSessions(
  { isDistributed }: Pick<Params<unknown>, 'isDistributed'>,
  readable: RawBuilder<unknown>,
): RawBuilder<unknown> {
  if (!isDistributed) return sql`lock_session`
  // The templates are of several owners, so they are found before the sessions are joined with them.
  return sql`lock_session left join (
    select id as rules_id, ${sql.raw(RULES.map(column => `max(${column}) as ${column}`).join(', '))} from lock_template
    where id in (select template_id from lock_session where ${readable}) group by id) as rules on rules_id = template_id`
}

const RULES = ['is_test_lock', 'is_time_displayed']

const lockColumns = (param: Params<OwnerAccess>) =>
  sql`id, at, lock_state, is_active, template_id, ${ruleColumns(param)}, ended_at, events`

const locksSince = query<OwnerAccess & { from: number }, LockRow>(
  param => sql`
    select ${lockColumns(param)} from ${lockSessions(param, isReadableOf(param))}
    where ${isReadableOf(param)} and (is_active = 1 or ended_at is null or ended_at >= ${param('from')})
    order by at, id`,
)

const allLocks = query<OwnerAccess, LockEntry>(
  param => sql`
    select id, lock_state as state, template_id as template from lock_session
    where ${isReadableOf(param)}
    order by at desc, id desc`,
)

const practiceTemplatesById = query<{ ids: readonly number[] }, { id: number }>(
  param => sql`
    select distinct id from lock_template
    where id in ${param.rows(values => values.ids)} and is_test_lock = 1
    order by id`,
)

const locksById = query<OwnerAccess & { ids: readonly number[] }, LockRow>(
  param => sql`
    select ${lockColumns(param)} from ${lockSessions(param, isReadableById(param))}
    where ${isReadableById(param)} and id in ${param.rows(values => values.ids)}`,
)

const newestLockSessions = query<OwnerAccess & { limit: number }, LockRow>(
  param => sql`
    select ${lockColumns(param)} from ${lockSessions(param, isReadableOf(param))}
    where ${isReadableOf(param)}
    order by at desc, id desc limit ${param.count('limit')}`,
)

const runningLockSession = query<OwnerAccess, LockRow>(
  param => sql`
    select ${lockColumns(param)} from ${lockSessions(param, isReadableOf(param))}
    where ${isReadableOf(param)} and is_active = 1
    order by at desc, id desc limit 1`,
)

const activeLockSession = query<OwnerAccess, LockRow & { document: string }>(
  param => sql`
    select ${lockColumns(param)}, document from ${lockSessions(param, isReadableOf(param))}
    where ${isReadableOf(param)} and is_active = 1
    order by at desc, id desc limit 1`,
)
