import { sql } from 'kysely'
import {
  type Access,
  ANY_SESSIONS,
  isReadable,
  isReadableOf,
  type OwnerAccess,
  readChecked,
  recordQuery,
} from '../accounts/access.ts'
import { pause } from '../fairness.ts'
import type { Store } from '../store/index.ts'
import { documentsById } from './documents.ts'
import { checkHistorySize, maxMegabytes } from './history-cache.ts'
import type { TypeStats, SessionStats } from './training.ts'

/** Queries of training sessions for statistics: they read columns, not records. */

/**
 * The training sessions of an account, the oldest first, and what they take in memory. Others have their turns while a long history is
 * read. Throws ApiError if they are too many.
 */
export async function trainingSessions(store: Store, access: OwnerAccess) {
  const sessions: SessionStats[] = []
  let bytes = 0
  let after = { at: Number.MIN_SAFE_INTEGER, id: 0 }
  for (;;) {
    // Both conditions have the same start: whichever the engine uses for the index, it begins where the last part ended.
    const start = Math.max(access.start, after.at)
    const rows = await readChecked(store, nextSessions, { ...access, start, ...after, limit: MAX_BATCH_ROWS })
    for (const row of rows) {
      bytes += 250 + row.kinds.length * 4
      checkHistorySize(bytes, maxMegabytes.training)
      sessions.push(sessionOf(row))
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < MAX_BATCH_ROWS) return { sessions, bytes }
    after = { at: last.at, id: last.id }
    await pause()
  }
}

const MAX_BATCH_ROWS = 300

/** A training session of one of the owners, with its record; undefined where there is none. */
export async function trainingSession(store: Store, access: Access, id: number) {
  const [row] = await readChecked(store, sessionById, { ...access, id })
  return row && { session: sessionOf(row), owner: row.owner_id, document: row.document }
}

export const trainingRecords = documentsById('training_session', 'records of training sessions')

type SessionRow = Omit<SessionStats, 'passed' | 'approximate' | 'isTyped' | 'types'> & {
  readonly passed: number
  readonly approximate: number
  /** What `derived-columns.ts` of the archive wrote: a list of tuples as JSON. */
  readonly kinds: string
  readonly made_here: string | null
}

function sessionOf(row: SessionRow): SessionStats {
  const { id, at, program, segments, grade, reps, distance } = row
  return {
    id,
    at,
    passed: row.passed === 1,
    program,
    segments,
    grade,
    reps,
    distance,
    approximate: row.approximate === 1,
    isTyped: row.made_here !== null,
    types: typesOf(row.kinds),
  }
}

type TypeCells = [string, number, number, number[], number, number, number | null, number, number]

function typesOf(text: string): TypeStats[] {
  // The archive wrote it as a list of these tuples.
  const cells = JSON.parse(text) as TypeCells[]
  return cells.map(([type, segments, , grades, gradedPassed, reps, distance, duration, points]) => {
    return { type, segments, grades, gradedPassed, reps, distance, duration, points }
  })
}

const SESSION_STATS = sql.raw(
  'id, at, passed, settings_id as program, segments, grade, reps, distance_um as distance, approximate, kinds, made_here',
)

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
