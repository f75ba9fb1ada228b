import type { Kysely } from 'kysely'
import type { Query } from './query.ts'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'

/** Where rows live. */
export interface Store {
  readonly engine: Engine
  /** For everything that is not on the path of a read. Its transactions take the write lock at their start. */
  readonly db: Kysely<Tables>
  /** Runs a compiled read; at once on SQLite. Throws StoreUnavailable when the store cannot answer now, TooLong on SQLite. */
  read<Values extends object, Row>(query: Query<Values, Row>, values: Values): Row[] | Promise<Row[]>
  /** Whether it answers in full, or only what replicas and memory have. Throws StoreUnavailable when it does not answer. */
  health(): Promise<'ready' | 'degraded'>
  /** Runs reads that all see the store as it is now, without holding up a writer. */
  snapshot<Result>(work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result>
  /** Runs work on a connection of `db` as one transaction that holds the write lock from its start. */
  locked<Result>(connection: Kysely<Tables>, work: () => Promise<Result>): Promise<Result>
  /** Copies the whole store to a new file while it is in use; SQLite only. */
  readonly backup: ((file: string) => Promise<void>) | undefined
  /** Whether the server is there at all; not given where the store is a file. */
  readonly reach?: PrimaryHealth
  close(): Promise<void>
}

/** What is known of a server: one that is slow or refuses something is there. */
export interface PrimaryHealth {
  /** It was gone when it was last asked, less than a second ago. */
  readonly lost: boolean
  /** Asks it, unless it is known to be lost. Resolves at once or within two seconds; never rejects. */
  isLost(): Promise<boolean>
}

/** The store cannot answer now; the request may succeed later. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailable'
}

/** What a read would answer is longer than a process should hold; parts of it can be read. */
export class TooLongError extends Error {
  override readonly name = 'TooLong'
}

/** The store cannot be opened as asked; the message says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

export interface OpenOptions {
  /** How long a writer waits for another one, in milliseconds. */
  readonly busyTimeoutMs: number
  /** How long one statement may take, in milliseconds, where the engine can end it; any time if not given. */
  readonly statementTimeout?: number
  /** An old schema is brought up to date if not said otherwise; `current` refuses it, `any` leaves it as it is. */
  readonly schema?: 'migrate' | 'current' | 'any'
  /** Databases that follow this one, for reads of records. */
  readonly readUrls?: readonly string[]
  /** Whether the database may be made when it is not there. */
  readonly create?: boolean
  /** Whether much will be written at once, which wants a larger cache. */
  readonly bulk?: boolean
}
