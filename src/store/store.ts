import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Engine, Query } from './query.ts'
import type { Tables } from './tables.ts'

export interface Store extends AsyncDisposable {
  readonly engine: Engine
  /** For everything but the reads of requests. Its transactions take the write lock at their start. */
  readonly db: Kysely<Tables>
  /** For reads that need not be fast. They do not wait for writes, and see what was written before. */
  readonly reads: Kysely<Tables>
  /**
   * Runs a compiled query; synchronously on SQLite. Throws StoreUnavailableError when the store cannot answer now, and
   * TooLongError (SQLite only).
   */
  read<Values extends object, Row>(query: Query<Values, Row>, values: Values): Row[] | Promise<Row[]>
  /** Throws StoreUnavailableError unless records can be read. */
  health(): Promise<void>
  /** Runs reads that all see the same state of the database, without blocking writers. */
  snapshot<Result>(work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result>
  /** Runs work on a connection of `db` as one transaction that holds the write lock from its start. */
  locked<Result>(connection: Kysely<Tables>, work: () => Promise<Result>): Promise<Result>
  /** For a database that was opened as `exclusive`: throws StoreError if another process also has it open. */
  requireAlone(): Promise<void>
  /** Rewrites the whole file without what was deleted, in another thread; SQLite only. Throws StoreError. */
  readonly erase: (() => Promise<void>) | undefined
  close(): Promise<void>
}

/** The store cannot answer now; the request may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError'
}

/** Another writer, such as an import, has kept this one waiting for too long. Nothing was written. */
export class StoreBusyError extends StoreUnavailableError {
  override readonly name = 'StoreBusyError'
}

export class StoreFullError extends StoreUnavailableError {
  override readonly name = 'StoreFullError'
}

/** The result of a query is longer than a process should hold at once; it can be read in parts. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError'
}

/** The database cannot be opened or used as requested; the message says what to do. */
export class StoreError extends Error {
  override readonly name: string = 'StoreError'
}

/** The schema of the database cannot be used by this program. */
export class SchemaError extends StoreError {
  override readonly name: string = 'SchemaError'
}

/** There is no database where the address leads, or it is no address. */
export class StoreLocationError extends StoreError {
  override readonly name = 'StoreLocationError'
}

export interface OpenOptions {
  /** How long a writer waits for another one. */
  readonly busyTimeoutMs: number
  /** How long to wait for a connection to PostgreSQL; two seconds by default. */
  readonly connectTimeoutMs?: number
  /** How long one statement may take, if the engine can cancel it; unlimited by default. */
  readonly statementTimeoutMs?: number
  /** What to do with a schema: create a missing one and refuse an old one (the default), refuse both (`current`) or leave it (`any`). */
  readonly schema?: 'create' | 'current' | 'any'
  readonly create?: boolean
  /** Whether SQLite writes in a thread of its own, so that reads do not wait for a slow disk. */
  readonly writerThread?: boolean
  /** Whether much will be written at once, which needs a larger cache. */
  readonly bulk?: boolean
  /**
   * Refuses a database that another process has open; an SQLite file cannot be opened by others until it is closed. `read`
   * must not be used.
   */
  readonly exclusive?: boolean
  /** For a database that others may be writing: only `reads` and `snapshot` may be used. Nothing is changed, and no file is created. */
  readonly inspect?: boolean
}

/** Runs work in the transaction that `begin` starts on a connection; if it fails, nothing of it is stored. */
export async function runTransaction<Result>(
  connection: Kysely<Tables>,
  begin: RawBuilder<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  await begin.execute(connection)
  try {
    const result = await work()
    await sql`commit`.execute(connection)
    return result
  } catch (error) {
    // A connection that cannot roll back has lost the transaction already.
    await sql`rollback`.execute(connection).catch(() => {})
    throw error
  }
}
