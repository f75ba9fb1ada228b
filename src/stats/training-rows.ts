import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { isReadableOf, type OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import { type KeptReads, keptReads } from './kept.ts'
import { SESSION_STATS, statsOf, type SessionRow } from './queries.ts'
import { firstFrom, type SessionStats } from './training.ts'

/** All training sessions of an account that may be read, the oldest first: streaks and bests need every one of them each time. */
export async function allTrainings(
  store: Store,
  { owner, start }: OwnerAccess,
  kept?: KeptReads,
): Promise<readonly SessionStats[]> {
  const reads = kept ?? (await keptReads(store))
  const all = await reads.get(
    `training of ${owner}`,
    () => readAll(store, owner),
    ({ length }) => length,
  )
  return sessionsFrom(all, start)
}

/** Of sessions in order, those from an instant on: the same list each time, so that what is computed for it is used again. */
function sessionsFrom(sessions: readonly SessionStats[], start: number): readonly SessionStats[] {
  if ((sessions[0]?.at ?? Infinity) >= start) return sessions
  const known = partsOf.getOrInsertComputed(sessions, () => new Map())
  return known.getOrInsertComputed(start, () => sessions.slice(firstFrom(sessions, start)))
}

const partsOf = new WeakMap<readonly SessionStats[], Map<number, readonly SessionStats[]>>()

async function readAll(store: Store, owner: number): Promise<SessionStats[]> {
  const sessions: SessionStats[] = []
  let after = { at: Number.MIN_SAFE_INTEGER, id: 0 }
  for (;;) {
    const rows = await store.read(sessionsAfter, { owner, start: after.at, ...after, limit: ROWS_AT_ONCE })
    for (const row of rows) sessions.push(statsOf(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return sessions
    after = { at: last.at, id: last.id }
    // Lets other requests run.
    await nextTurn()
  }
}

const ROWS_AT_ONCE = 2000

const sessionsAfter = query<OwnerAccess & { at: number; id: number; limit: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')})
    order by at, id limit ${param('limit')}`,
)
