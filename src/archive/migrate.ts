import type { Kysely } from 'kysely'
import { type Engine, open, type OpenOptions, type Store } from '../store/index.ts'
import { applyMigrations, currentVersion, schemaVersion } from '../store/migrations.ts'
import type { Tables } from '../store/tables.ts'
import { fillColumns } from './fill-columns.ts'

/** Opens a database and brings its schema up to date. Throws like `open`. */
export async function openMigrated(url: string, options: Omit<OpenOptions, 'schema'>): Promise<Store> {
  const store = await open(url, { ...options, schema: 'any' })
  try {
    if ((await schemaVersion(store)) < currentVersion) await migrateUnlimited(store, url)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Timeouts must not end a migration, so on PostgreSQL it runs on a store without them. */
async function migrateUnlimited(store: Store, url: string) {
  if (store.engine === 'sqlite') {
    await migrate(store, Date.now())
    return
  }
  const unlimited = await open(url, { busyTimeoutMs: 0, schema: 'any' })
  try {
    await migrate(unlimited, Date.now())
  } finally {
    await unlimited.close()
  }
}

/** Brings the schema up to date in one transaction, and returns the names of the steps it applied. */
export async function migrate(store: Pick<Store, 'db' | 'engine'>, now: number): Promise<readonly string[]> {
  if ((await schemaVersion(store)) === currentVersion) return []
  return store.db.transaction().execute(db => migrateWithin(db, store.engine, now))
}

/** The same in a transaction that is already open on the connection `db`. */
export async function migrateWithin(db: Kysely<Tables>, engine: Engine, now: number): Promise<readonly string[]> {
  const { names, tablesToFill } = await applyMigrations(db, engine, now)
  for (const table of tablesToFill) await fillColumns(db, table)
  return names
}
