import { type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/**
 * Calls `report` once if statements on the connection `db` wait for a lock for longer than five seconds, with whose it is.
 * PostgreSQL only: on SQLite, a command waits for the one lock there is. Returns a function that ends the watch.
 */
export async function watchLockWaits(
  store: Store,
  db: Kysely<Tables>,
  report: (what: string) => void,
): Promise<() => void> {
  if (store.engine !== 'postgres') return () => {}
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  const [own] = rows
  const look = async () => {
    const what = await blockerOf(store, own?.pid ?? 0)
    if (what === undefined) return
    clearInterval(timer)
    report(what)
  }
  // Without another connection nothing can be said, but the import goes on.
  const timer = setInterval(() => void look().catch(() => {}), LOCK_WAIT_TIMEOUT_MS)
  return () => clearInterval(timer)
}

const LOCK_WAIT_TIMEOUT_MS = 5000

async function blockerOf({ db }: Store, pid: number): Promise<string | undefined> {
  const { rows } = await sql<{ pid: number; name: string; seconds: number }>`
    select blocker.pid, coalesce(blocker.application_name, '') as name,
      cast(extract(epoch from clock_timestamp() - blocker.xact_start) as integer) as seconds
    from pg_stat_activity as blocker join pg_stat_activity as own on own.pid = ${pid}
    where blocker.pid = any(pg_blocking_pids(own.pid)) and clock_timestamp() - own.query_start > interval '4 s'
    order by blocker.xact_start limit 1`.execute(db)
  const [blocker] = rows
  if (blocker === undefined) return undefined
  const name = blocker.name === '' ? '' : ` (${blocker.name})`
  return `waiting for process ${blocker.pid}${name} of the database server, whose transaction of ${blocker.seconds} s has locked what is to be stored`
}
