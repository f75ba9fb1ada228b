import { sql } from 'kysely'
import { type Access, ANY_SESSIONS, isReadable, isReadableOf, type OwnerAccess } from '../accounts/access.ts'
import { documentsById } from './documents.ts'
import { readChecked, recordQuery } from '../accounts/checked-reads.ts'
import type { Store } from '../store/index.ts'
import { pause } from '../fairness.ts'
import { type SessionRow, sessionsOf } from './session-columns.ts'
import type { SessionStats } from './training.ts'

/** Queries of training sessions for statistics: they read columns, not records. */

/** The training sessions of an account, the oldest first. Others have their turns while a long history is read. */
export async function trainingSessions(store: Store, access: OwnerAccess): Promise<SessionStats[]> {
  const sessions: SessionStats[] = []
  let after = { at: Number.MIN_SAFE_INTEGER, id: 0 }
  for (;;) {
    // Both conditions have the same start: whichever the engine uses for the index, it begins where the last part ended.
    const start = Math.max(access.start, after.at)
    const rows = await readChecked(store, nextSessions, { ...access, start, ...after, limit: ROWS_AT_ONCE })
    sessions.push(...sessionsOf(rows))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return sessions
    after = { at: last.at, id: last.id }
    await pause()
  }
}

const ROWS_AT_ONCE = 300

/** A training session of one of the owners, with its record; undefined where there is none. */
export async function trainingSession(store: Store, access: Access, id: number) {
  const rows = await readChecked(store, sessionById, { ...access, id })
  const [row] = rows
  const [session] = sessionsOf(rows)
  return row && session && { session, owner: row.owner_id, document: row.document }
}

/** The records of some training sessions of an account, as the API sends them. */
export const trainingRecords = documentsById('training_session', 'records of training sessions')

/** The columns of SessionRow. */
const SESSION_STATS = sql.raw('id, at, passed, settings_id, segments, grade, reps, distance_um, approximate, kinds')

const nextSessions = recordQuery<OwnerAccess & { at: number; id: number; limit: number }, SessionRow>(
  'training sessions in parts',
  (param, owned) => sql`
    select ${owned}, ${SESSION_STATS} from training_session
    where ${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')})
    order by at, id limit ${param.count('limit')}`,
)

const sessionById = recordQuery<Access & { id: number }, SessionRow & { document: string }>(
  'training session by id',
  (param, owned) => sql`
    select ${owned}, ${SESSION_STATS}, document from training_session
    where ${isReadable(param, ANY_SESSIONS)} and id = ${param('id')}`,
)
