import type { Kysely } from 'kysely'
import { type Engine, open, type OpenOptions, sqliteFile, type Store, StoreError } from '../store/index.ts'
import { applySteps, currentVersion, schemaVersion } from '../store/migrations.ts'
import { inParts } from '../store/parts.ts'
import { saveBefore } from '../store/save-before.ts'
import type { RecordName, Tables } from '../store/tables.ts'
import { InvalidError } from './faults.ts'
import { etagOf, type Kind, type Row, UnfinishedError } from './kind.ts'
import { kinds } from './kinds.ts'
import { readAgain } from './records.ts'

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

/**
 * Reads all records of a table again, as an import reads their lines, and stores what is different then: documents, and the columns that
 * follow from them. A damaged record stays as it is, so that a backup finds it. Throws StoreError for one that this version would not
 * import.
 */
async function rewriteRecords(db: Kysely<Tables>, table: RecordName): Promise<void> {
  const kind = kinds.find(one => one.table === table)
  if (kind === undefined) throw new Error(`no kind has the table ${table}`)
  const all = db.selectFrom(table).selectAll().orderBy('owner_id').orderBy('id').limit(MAX_BATCH_ROWS)
  const read = (last: { readonly owner_id: number; readonly id: number }) =>
    all.where(({ eb, refTuple, tuple }) => eb(refTuple('owner_id', 'id'), '>', tuple(last.owner_id, last.id))).execute()
  for await (const rows of inParts(MAX_BATCH_ROWS, { owner_id: 0, id: 0 }, read, row => row)) {
    for (const row of rows) {
      const changed = changesOf(kind, { ...row })
      if (Object.keys(changed).length === 0) continue
      await db.updateTable(table).set(changed).where('owner_id', '=', row.owner_id).where('id', '=', row.id).execute()
    }
  }
}

/** A row can take a megabyte. */
const MAX_BATCH_ROWS = 50

function changesOf(kind: Kind, row: Row): Row {
  if (row['etag'] !== etagOf(String(row['document']))) return {}
  try {
    const read = readAgain(kind, row)
    const changed = kind.columns.filter(column => (read[column] ?? null) !== row[column])
    return Object.fromEntries(changed.map(column => [column, read[column] ?? null]))
  } catch (error) {
    if (!(error instanceof InvalidError || error instanceof UnfinishedError)) throw error
    throw new StoreError(`${kind.name} ${row['id']} does not fit into the new schema: ${error.message}`, {
      cause: error,
    })
  }
}
