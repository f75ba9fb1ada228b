import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { isReadableOf } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import { SESSION_STATS, statsOf, type SessionRow } from './queries.ts'
import type { SessionStats } from './training.ts'

/**
 * All training sessions of an account, the oldest first. On SQLite they are kept until the database changes, because
 * streaks and bests need every session each time.
 */
export async function allTrainings(store: Store, owner: number): Promise<readonly SessionStats[]> {
  const version = await versionOf(store)
  if (version === undefined) return readAll(store, owner)
  const cache = caches.getOrInsertComputed(store, () => new SessionCache())
  const known = cache.find(owner, version)
  if (known !== undefined) return known
  const sessions = await readAll(store, owner)
  // Changes made meanwhile may or may not be in them.
  if ((await versionOf(store)) === version) cache.keep(owner, sessions)
  return sessions
}

/** A number that changes with every write of another connection. Reading connections never write. */
async function versionOf(store: Store): Promise<number | undefined> {
  if (store.engine !== 'sqlite') return undefined
  const [row] = await store.read(dataVersion, {})
  return row?.data_version
}

const dataVersion = query<object, { data_version: number }>(() => sql`pragma data_version`)

async function readAll(store: Store, owner: number): Promise<SessionStats[]> {
  const sessions: SessionStats[] = []
  let after = { at: Number.MIN_SAFE_INTEGER, id: 0 }
  for (;;) {
    const rows = await store.read(sessionsAfter, { owner, ...after, limit: ROWS_AT_ONCE })
    for (const row of rows) sessions.push(statsOf(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return sessions
    after = { at: last.at, id: last.id }
    // Lets other requests run.
    await nextTurn()
  }
}

const ROWS_AT_ONCE = 2000

const sessionsAfter = query<{ owner: number; at: number; id: number; limit: number }, SessionRow>(
  param => sql`
    select ${SESSION_STATS} from training_session
    where ${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')})
    order by at, id limit ${param('limit')}`,
)

const caches = new WeakMap<Store, SessionCache>()

/** The sessions of the accounts that were read last, up to MAX_CACHED sessions in all. */
class SessionCache {
  #version = NaN
  #size = 0
  readonly #sessions = new Map<number, readonly SessionStats[]>()

  find(owner: number, version: number): readonly SessionStats[] | undefined {
    if (version !== this.#version) {
      this.#sessions.clear()
      this.#size = 0
      this.#version = version
    }
    const known = this.#sessions.get(owner)
    if (known === undefined) return undefined
    // Moved to the end, so that the least recently used account comes first.
    this.#sessions.delete(owner)
    this.#sessions.set(owner, known)
    return known
  }

  keep(owner: number, sessions: readonly SessionStats[]) {
    if (sessions.length > MAX_CACHED || this.#sessions.has(owner)) return
    this.#sessions.set(owner, sessions)
    // An account without sessions takes memory too.
    this.#size += sessions.length + 1
    for (const [oldest, { length }] of this.#sessions) {
      if (this.#size <= MAX_CACHED) return
      this.#sessions.delete(oldest)
      this.#size -= length + 1
    }
  }
}

/** About 30 MB in each process. */
const MAX_CACHED = 50_000
