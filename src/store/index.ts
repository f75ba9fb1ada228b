import { sql } from 'kysely'
import { applySteps, currentVersion, schemaVersion } from './migrations.ts'
import { makeFolders, syncFile, syncFolder, withFile } from './disk-sync.ts'
import { lockFile, openSqlite, waitForLock } from './sqlite.ts'
import { createDatabaseFile, messageOf } from './sqlite-connection.ts'
import { type OpenOptions, SchemaError, type Store, StoreLocationError } from './store.ts'

export { type Engine, jsonRows } from './query.ts'
export { createDatabaseFile, lockFile, makeFolders, messageOf, syncFile, syncFolder, waitForLock, withFile }
export {
  type OpenOptions,
  SchemaError,
  type Store,
  StoreError,
  StoreBusyError,
  StoreFullError,
  StoreUnavailableError,
  TooLongError,
} from './store.ts'

/**
 * Opens the database at a URL: `sqlite:<path>` or `postgres://…`. Throws StoreError if it cannot be opened, SchemaError
 * if its schema does not fit.
 */
export async function open(url: string, options: OpenOptions): Promise<Store> {
  const store = await openEngine(url, options)
  try {
    if (options.exclusive === true) await store.requireAlone()
    const { schema = 'create' } = options
    if (schema === 'any') return store
    const version = await schemaVersion(store)
    if (version === currentVersion) return store
    if (version > 0 || schema === 'current') throw new SchemaError(version > 0 ? OLD_SCHEMA : NO_SCHEMA)
    await store.db.transaction().execute(db => applySteps(db, store.engine, Date.now()))
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

const OLD_SCHEMA =
  'the schema of the database is out of date: make a backup with the version that wrote it, then run `lockstep migrate`'
const NO_SCHEMA = 'the database has no tables of Lockstep: run `lockstep migrate`'

/** The file of an SQLite database; undefined for PostgreSQL. */
export function sqliteFile(url: string): string | undefined {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
}

async function openEngine(url: string, options: OpenOptions): Promise<Store> {
  const file = sqliteFile(url)
  if (file !== undefined) return openSqlite(file, options)
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Loaded only when needed: most installations use SQLite.
    const { openPostgres } = await import('./postgres.ts')
    return openPostgres(url, options)
  }
  throw new StoreLocationError('the database must be named as sqlite:<path> or postgres://user@host:port/database')
}

/** The version of the server of PostgreSQL: 150018 for 15.18. */
export async function serverVersion({ reads }: Pick<Store, 'reads'>): Promise<number> {
  const { rows } = await sql<{ server_version_num: string }>`show server_version_num`.execute(reads)
  return Number(rows[0]?.server_version_num)
}
