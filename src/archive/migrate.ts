import type { Kysely } from 'kysely'
import { type Engine, open, type OpenOptions, sqliteFile, type Store } from '../store/index.ts'
import { applySteps, currentVersion, schemaVersion } from '../store/migrations.ts'
import { saveBefore } from '../store/save-before.ts'
import type { Tables } from '../store/tables.ts'
import { rewriteRecords } from './rewrite.ts'

/** Where a database is that is copied before its records are rewritten, if it is SQLite, and who is told of the copy. */
interface Saving {
  readonly url: string
  readonly onSaved: (copy: string) => void
}

/** Opens a database and brings its schema up to date. Throws like `open`. */
export async function openMigrated(
  url: string,
  options: Omit<OpenOptions, 'schema'>,
  onSaved: Saving['onSaved'] = () => {},
): Promise<Store> {
  const store = await open(url, { ...options, schema: 'any' })
  try {
    if ((await schemaVersion(store)) < currentVersion) await migrateUnlimited(store, { url, onSaved })
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Timeouts must not end a migration, so on PostgreSQL it runs on a store without them. */
async function migrateUnlimited(store: Store, saving: Saving) {
  if (store.engine === 'sqlite') {
    await migrate(store, Date.now(), saving)
    return
  }
  await using unlimited = await open(saving.url, { busyTimeoutMs: 0, schema: 'any' })
  await migrate(unlimited, Date.now())
}

/** Brings the schema up to date in one transaction, and returns the names of the steps it applied. */
export async function migrate(store: Store, now: number, saving?: Saving): Promise<readonly string[]> {
  if ((await schemaVersion(store)) === currentVersion) return []
  const path = saving && sqliteFile(saving.url)
  const save = (version: number) => {
    const copy = path === undefined ? undefined : saveBefore(path, version)
    if (copy !== undefined) saving?.onSaved(copy)
  }
  return store.db.transaction().execute(db => migrateWithin(db, store.engine, now, save))
}

/** The same in a transaction that is already open on the connection `db`. */
export function migrateWithin(
  db: Kysely<Tables>,
  engine: Engine,
  now: number,
  save = (_version: number) => {},
): Promise<readonly string[]> {
  return applySteps(db, engine, now, { save, rewrite: table => rewriteRecords(db, table) })
}
