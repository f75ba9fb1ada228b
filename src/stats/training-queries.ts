import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from '../vendor/kysely.js'
import {
  type Access,
  ANY_SESSIONS,
  isReadable,
  isReadableById,
  isReadableOf,
  type OwnerAccess,
} from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import { type SessionRow, sessionsOf } from './training-columns.ts'
import type { SessionStats } from './training.ts'

/** Queries of training sessions for statistics: they read columns, not records. */

/**
 * The training sessions of an account from one instant to before another, oldest first. Other requests are
 * handled while a long history is read.
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
    // Both conditions have the same start: whichever the engine uses for the index, it begins where the last part ended.
    const start = Math.max(access.start, after.at)
    const rows = await store.read(sessionsBetween, { ...access, start, ...after, to, limit: ROWS_AT_ONCE })
    sessions.push(...sessionsOf(rows))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return sessions
    after = { at: last.at, id: last.id }
    await nextTurn()
  }
}

const ROWS_AT_ONCE = 300

/** The newest training sessions of an account, the newest first. */
export async function newestTrainings(store: Store, access: OwnerAccess, limit: number): Promise<SessionStats[]> {
  return sessionsOf(await store.read(newestSessions, { ...access, limit }))
}

/** The training sessions of an account that were run with a program, the oldest first. */
export async function trainingsWith(store: Store, access: OwnerAccess, program: number): Promise<SessionStats[]> {
  return sessionsOf(await store.read(sessionsOfProgram, { ...access, program }))
}

/** The training sessions before and after one, by time. */
export async function neighboursOf(store: Store, access: OwnerAccess, { id, at }: { id: number; at: number }) {
  const [before, after] = await Promise.all([
    store.read(sessionBefore, { ...access, id, at }),
    store.read(sessionAfter, { ...access, id, at }),
  ])
  return { before: sessionsOf(before)[0], after: sessionsOf(after)[0] }
}

/** A training session of one of the owners, with its record; undefined where there is none. */
export async function trainingSession(store: Store, access: Access, id: number) {
  const rows = await store.read(sessionById, { ...access, id })
  const [row] = rows
  const [session] = sessionsOf(rows)
  return row && session && { session, owner: row.owner_id, document: row.document }
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

/** The columns of SessionRow. */
const SESSION_STATS = sql.raw('id, at, passed, settings_id, segments, grade, reps, distance_um, approximate, kinds')

const sessionsBetween = query<OwnerAccess & { at: number; id: number; to: number; limit: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')}) and at < ${param('to')}
    order by at, id limit ${param.count('limit')}`,
)

const newestSessions = query<OwnerAccess & { limit: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)}
    order by at desc, id desc limit ${param.count('limit')}`,
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

const sessionRecords = query<OwnerAccess & { ids: readonly number[] }, { id: number; document: string }>(
  param => sql`
    select id, document from training_session
    where ${isReadableById(param)} and id in ${param.rows(values => values.ids)}`,
)
