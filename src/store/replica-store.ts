import type pg from 'pg'
import { Kysely, PostgresDialect } from 'kysely'
import { guarded } from './postgres-pool.ts'
import type { Reader } from './postgres-reader.ts'
import { type Store, StoreUnavailableError } from './store.ts'
import type { Tables } from './tables.ts'

interface ReplicaReader {
  readonly pool: pg.Pool
  readonly read: Reader
}

/** A store that reads from a replica. Its connections stay read-only when the replica is promoted. */
export function makeReplicaStore({ pool, read }: ReplicaReader): Store {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: guarded(pool) }) })
  const refuse = () => Promise.reject(new StoreUnavailableError('nothing can be written to a replica'))
  return {
    engine: 'postgres',
    db,
    reads: db,
    read,
    isReplica: true,
    health: () => Promise.resolve(),
    snapshot: work => snapshotOf(db, work),
    locked: refuse,
    tryLock: refuse,
    requireAlone: refuse,
    erase: undefined,
    // The pool belongs to the store of the primary.
    close: () => Promise.resolve(),
  }
}

/** Runs reads that all see the same state. */
export function snapshotOf<Result>(db: Kysely<Tables>, work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work)
}
