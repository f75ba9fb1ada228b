import type { Kysely } from 'kysely'
import { migrate, SchemaError, schemaVersion, currentVersion } from './migrations.ts'
import type { Query } from './query.ts'
import { openSqlite } from './sqlite.ts'
import type { Tables } from './tables.ts'

export type Engine = 'sqlite' | 'postgres'

/** Where rows live. */
export interface Store {
  readonly engine: Engine
  /** For everything that is not on the path of a read. Its transactions take the write lock at their start. */
  readonly db: Kysely<Tables>
  /** Runs a compiled read; at once on SQLite. Throws StoreUnavailable when the store cannot answer now. */
  read<Values extends object, Row>(query: Query<Values, Row>, values: Values): Row[] | Promise<Row[]>
  /** Runs reads that all see the store as it is now, without holding up a writer. */
  snapshot<Result>(work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result>
  /** Runs work on a connection of `db` as one transaction that holds the write lock from its start. */
  locked<Result>(connection: Kysely<Tables>, work: () => Promise<Result>): Promise<Result>
  /** Copies the whole store to a new file while it is in use; SQLite only. */
  readonly backup: ((file: string) => Promise<void>) | undefined
  close(): Promise<void>
}

/** The store cannot answer now; the request may succeed later. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The store cannot be opened as asked; the message says what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
}

export interface OpenOptions {
  /** How long a writer waits for another one, in milliseconds. A server waits inside its event loop: keep it short. */
  readonly patience: number
  /** An old schema is brought up to date if not said otherwise; `current` refuses it, `any` leaves it as it is. */
  readonly schema?: 'migrate' | 'current' | 'any'
  /** Whether the database may be made when it is not there. */
  readonly create?: boolean
  /** Whether much will be written at once, which wants a larger cache. */
  readonly bulk?: boolean
}

/**
 * Opens the store a URL names: `sqlite:<path>`. Throws StoreError when it cannot be opened, SchemaError when its schema
 * does not fit.
 */
export async function open(url: string, options: OpenOptions): Promise<Store> {
  const store = openEngine(url, options)
  try {
    const { schema = 'migrate' } = options
    if (schema === 'migrate') await migrate(store.db, store.engine, Date.now())
    if (schema === 'current' && (await schemaVersion(store.db)) !== currentVersion) {
      throw new SchemaError('the schema of the database is out of date: run `lockstep migrate` first')
    }
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

function openEngine(url: string, options: OpenOptions): Store {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), options)
  throw new StoreError('the database must be named as sqlite:<path>')
}
