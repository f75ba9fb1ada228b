import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { isReadableOf } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import { figures, figuresOf, type SessionRow } from './queries.ts'
import type { SessionFigures } from './training.ts'

/**
 * All training sessions of an account, the oldest first. On SQLite they are kept until the database changes, because
 * streaks and bests need every session each time.
 */
export async function allTrainings(store: Store, owner: number): Promise<readonly SessionFigures[]> {
  const version = await versionOf(store)
  if (version === undefined) return readAll(store, owner)
  const cache = caches.getOrInsertComputed(store, () => new SessionCache())
  const known = cache.find(owner, version)
  if (known !== undefined) return known
  const sessions = await readAll(store, owner)
  // What changed meanwhile may be in them or not.
  if ((await versionOf(store)) === version) cache.keep(owner, sessions)
  return sessions
}

/** A number that changes with every write of another connection, as all writes are to one that reads. */
async function versionOf(store: Store): Promise<number | undefined> {
  if (store.engine !== 'sqlite') return undefined
  const [row] = await store.read(dataVersion, {})
  return row?.data_version
}

const dataVersion = query<object, { data_version: number }>(() => sql`pragma data_version`)

async function readAll(store: Store, owner: number): Promise<SessionFigures[]> {
  const sessions: SessionFigures[] = []
  let after = { at: Number.MIN_SAFE_INTEGER, id: 0 }
  for (;;) {
    const rows = await store.read(sessionsAfter, { owner, ...after, limit: ROWS_AT_ONCE })
    for (const row of rows) sessions.push(figuresOf(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return sessions
    after = { at: last.at, id: last.id }
    // The next rows can wait until others had their turn.
    await nextTurn()
  }
}

const ROWS_AT_ONCE = 2000

const sessionsAfter = query<{ owner: number; at: number; id: number; limit: number }, SessionRow>(
  param => sql`
    select ${figures} from training_session
    where ${isReadableOf(param)} and (at, id) > (${param('at')}, ${param('id')})
    order by at, id limit ${param('limit')}`,
)

const caches = new WeakMap<Store, SessionCache>()

/** The sessions of the accounts that were asked for last, up to a number of sessions in all. */
class SessionCache {
  #version = NaN
  #size = 0
  readonly #sessions = new Map<number, readonly SessionFigures[]>()

  find(owner: number, version: number): readonly SessionFigures[] | undefined {
    if (version !== this.#version) {
      this.#sessions.clear()
      this.#size = 0
      this.#version = version
    }
    const known = this.#sessions.get(owner)
    if (known === undefined) return undefined
    // Put last, so that the account that was not asked for longest comes first.
    this.#sessions.delete(owner)
    this.#sessions.set(owner, known)
    return known
  }

  keep(owner: number, sessions: readonly SessionFigures[]) {
    if (sessions.length > MAX_CACHED || this.#sessions.has(owner)) return
    this.#sessions.set(owner, sessions)
    // An account without sessions takes room, too.
    this.#size += sessions.length + 1
    for (const [oldest, { length }] of this.#sessions) {
      if (this.#size <= MAX_CACHED) return
      this.#sessions.delete(oldest)
      this.#size -= length + 1
    }
  }
}

/** Sessions that a process keeps: about 30 MB. */
const MAX_CACHED = 50_000
