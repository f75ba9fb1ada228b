import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { TrainingTemplate } from '../contract/training-templates.ts'
import type { Store } from '../store/index.ts'
import {
  type Access,
  ANY_OWNERS,
  ANY_SESSIONS,
  isReadable,
  isReadableById,
  isReadableOf,
  type OwnerAccess,
} from '../accounts/access.ts'
import { query } from '../store/query.ts'
import {
  lockIntervals,
  lockEnd,
  type LockInterval,
  type LockEvent,
  type LockRules,
  parseEvents,
  plannedEnd,
} from './intervals.ts'
import type { KeptReads } from './kept.ts'
import type { KindStats, SessionStats } from './training.ts'

/** Queries for statistics: they read columns of the rows of one account, not the records. */

/**
 * The training sessions of an account from one instant to before another, oldest first. Others have their turn while a
 * long history is read.
 */
export async function trainingHistory(
  store: Store,
  access: OwnerAccess,
  from = Number.MIN_SAFE_INTEGER,
  to = Number.MAX_SAFE_INTEGER,
): Promise<SessionStats[]> {
  const sessions: SessionStats[] = []
  let after = { at: from, id: 0 }
  for (;;) {
    // With both conditions alike, the engine starts where the last part ended, whichever of them it takes for the index.
    const start = Math.max(access.start, after.at)
    const rows = await store.read(sessionsBetween, { ...access, start, ...after, to, limit: ROWS_AT_ONCE })
    for (const row of rows) sessions.push(statsOf(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return sessions
    after = { at: last.at, id: last.id }
    await nextTurn()
  }
}

const ROWS_AT_ONCE = 2000

/** The newest training sessions of an account, the newest first. */
export async function newestTrainings(store: Store, access: OwnerAccess, limit: number): Promise<SessionStats[]> {
  return (await store.read(newestSessions, { ...access, limit })).map(statsOf)
}

/** The training sessions of an account that were run with a program, the oldest first. */
export async function trainingsWith(store: Store, access: OwnerAccess, program: number): Promise<SessionStats[]> {
  return (await store.read(sessionsOfProgram, { ...access, program })).map(statsOf)
}

/** The training sessions before and after one, by time. */
export async function neighboursOf(store: Store, access: OwnerAccess, { id, at }: { id: number; at: number }) {
  const [[before], [after]] = await Promise.all([
    store.read(sessionBefore, { ...access, id, at }),
    store.read(sessionAfter, { ...access, id, at }),
  ])
  return { before: before && statsOf(before), after: after && statsOf(after) }
}

/** A training session of one of the owners, with its record; undefined where there is none. */
export async function trainingSession(store: Store, access: Access, id: number) {
  const [row] = await store.read(sessionById, { ...access, id })
  return row && { ...statsOf(row), owner: row.owner_id, document: row.document }
}

/** How often a program was run, and with what result. */
export interface ProgramUse {
  readonly program: number
  readonly sessions: number
  readonly passed: number
  readonly last: number
}

/** The use of every program of which an account has training sessions. */
export async function programUses(store: Store, access: OwnerAccess): Promise<ProgramUse[]> {
  return store.read(usesByProgram, access)
}

/** A program as it is listed. */
export type ListedProgram = Omit<TrainingTemplate, 'Segment'>

/** The programs of some accounts, the newest first. */
export async function programsOf(store: Store, access: Access): Promise<ListedProgram[]> {
  const rows = await store.read(programsByOwner, access)
  // The archive wrote it in the form of the contract.
  return rows.map(({ summary }) => JSON.parse(summary) as ListedProgram)
}

/** A program with its record as it is stored; undefined if the access has none with this identifier. */
export async function findProgram(store: Store, access: Access, id: number) {
  const [row] = await store.read(programById, { ...access, id })
  // The archive wrote it in the form of the contract.
  return row && { program: JSON.parse(row.document) as TrainingTemplate, document: row.document }
}

/** The records of some training sessions of an account, as the API sends them. */
export async function trainingRecords(
  store: Store,
  access: OwnerAccess,
  ids: readonly number[],
): Promise<Map<number, string>> {
  const rows = await store.read(sessionRecords, { ...access, ids })
  return new Map(rows.map(({ id, document }) => [id, document]))
}

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

/** The lock sessions of an account that were active at or after `from`, oldest first. */
export async function lockHistory(
  store: Store,
  access: OwnerAccess,
  now: number,
  from = Number.MIN_SAFE_INTEGER,
): Promise<LockStats[]> {
  return (await store.read(locksSince, { ...access, from })).map(row => lockStats(row, now))
}

/** Little of a lock session: what lists of all of them are filtered by. */
export interface LockEntry {
  readonly id: number
  readonly state: string
  readonly template: number | null
}

/** All lock sessions of an account, the newest first. */
export async function lockEntries(store: Store, access: OwnerAccess): Promise<LockEntry[]> {
  return store.read(allLocks, access)
}

/** Some lock sessions of an account, in the order of their identifiers here. */
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

/** What is known of a lock session that runs, whatever the time is. */
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

/** The same, with its record. */
export async function activeLock(store: Store, access: OwnerAccess, now: number) {
  const [row] = await store.read(activeLockSession, access)
  return row && { ...lockStats(row, now), document: row.document }
}

interface SessionRow {
  readonly id: number
  readonly at: number
  readonly passed: number
  readonly settings_id: number
  readonly segments: number
  readonly grade: number | null
  readonly reps: number
  readonly distance_um: number | null
  readonly approximate: number
  readonly kinds: string
}

/** The statistics of a training session from its columns. Its kinds are parsed on first use. */
function statsOf({ kinds: text, ...row }: SessionRow): SessionStats {
  let kinds: KindStats[] | undefined
  return {
    id: row.id,
    at: row.at,
    passed: row.passed === 1,
    program: row.settings_id,
    segments: row.segments,
    grade: row.grade,
    reps: row.reps,
    distance: row.distance_um,
    approximate: row.approximate === 1,
    get kinds() {
      kinds ??= kindsOf(text)
      return kinds
    },
  }
}

type KindCells = [
  kind: string,
  segments: number,
  passed: number,
  grades: number[],
  gradedPassed: number,
  reps: number,
  distance: number | null,
  duration: number,
  points: number,
]

function kindsOf(text: string): KindStats[] {
  // The archive wrote it as a list of these tuples.
  const kinds = JSON.parse(text) as KindCells[]
  return kinds.map(([kind, segments, passed, grades, gradedPassed, reps, distance, duration, points]) => {
    return { kind, segments, passed, grades, gradedPassed, reps, distance, duration, points }
  })
}

/** The columns of SessionRow. */
const SESSION_STATS = sql.raw('id, at, passed, settings_id, segments, grade, reps, distance_um, approximate, kinds')

const sessionsBetween = query<OwnerAccess & { at: number; id: number; to: number; limit: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')}) and at < ${param('to')}
    order by at, id limit ${param('limit')}`,
)

const newestSessions = query<OwnerAccess & { limit: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)}
    order by at desc, id desc limit ${param('limit')}`,
)

const sessionsOfProgram = query<OwnerAccess & { program: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)} and settings_id = ${param('program')}
    order by at, id`,
)

const sessionById = query<Access & { id: number }, SessionRow & { owner_id: number; document: string }>(
  param => sql`
    select ${SESSION_STATS}, owner_id, document from training_session
    where ${isReadable(param, ANY_SESSIONS)} and id = ${param('id')}`,
)

const sessionBefore = neighbour('<', 'desc')
const sessionAfter = neighbour('>', 'asc')

function neighbour(side: '<' | '>', order: 'asc' | 'desc') {
  const direction = sql.raw(order)
  return query<OwnerAccess & { id: number; at: number }, SessionRow>(
    param => sql`
      select ${SESSION_STATS} from training_session
      where ${isReadableOf(param)} and (at, id) ${sql.raw(side)} (${param('at')}, ${param('id')})
      order by at ${direction}, id ${direction} limit 1`,
  )
}

const usesByProgram = query<OwnerAccess, ProgramUse>(
  param => sql`
    select settings_id as program, count(*) as sessions, cast(sum(passed) as bigint) as passed, max(at) as last
    from training_session
    where ${isReadableOf(param)}
    group by settings_id`,
)

const programsByOwner = query<Access, { summary: string }>(
  param => sql`
    select summary from training_template
    where ${isReadable(param, ANY_OWNERS)}
    order by at desc, id desc`,
)

const programById = query<Access & { id: number }, { document: string }>(
  param => sql`
    select document from training_template
    where ${isReadable(param, ANY_OWNERS)} and id = ${param('id')}`,
)

const sessionRecords = query<OwnerAccess & { ids: readonly number[] }, { id: number; document: string }>(
  param => sql`
    select id, document from training_session
    where ${isReadableById(param)} and id in ${param.rows(values => values.ids)}`,
)

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

// The templates of other accounts count too: all that a reader learns of them is what they hide.
export const ruleColumns = sql.raw(
  ['is_test_lock', 'is_time_displayed']
    .map(column => `(select max(${column}) from lock_template where lock_template.id = template_id) as ${column}`)
    .join(', '),
)

const lockColumns = sql`id, at, lock_state, is_active, template_id, ${ruleColumns}, ended_at, events`

const locksSince = query<OwnerAccess & { from: number }, LockRow>(
  param => sql`
    select ${lockColumns} from lock_session
    where ${isReadableOf(param)} and (is_active = 1 or ended_at is null or ended_at >= ${param('from')})
    order by at, id`,
)

const allLocks = query<OwnerAccess, LockEntry>(
  param => sql`
    select id, lock_state as state, template_id as template from lock_session
    where ${isReadableOf(param)}
    order by at desc, id desc`,
)

const locksById = query<OwnerAccess & { ids: readonly number[] }, LockRow>(
  param => sql`
    select ${lockColumns} from lock_session
    where ${isReadableOf(param)} and id in ${param.rows(values => values.ids)}`,
)

const newestLockSessions = query<OwnerAccess & { limit: number }, LockRow>(
  param => sql`
    select ${lockColumns} from lock_session
    where ${isReadableOf(param)}
    order by at desc, id desc limit ${param('limit')}`,
)

const runningLockSession = query<OwnerAccess, LockRow>(
  param => sql`
    select ${lockColumns} from lock_session
    where ${isReadableOf(param)} and is_active = 1
    order by at desc, id desc limit 1`,
)

const activeLockSession = query<OwnerAccess, LockRow & { document: string }>(
  param => sql`
    select ${lockColumns}, document from lock_session
    where ${isReadableOf(param)} and is_active = 1
    order by at desc, id desc limit 1`,
)
