import { sql } from 'kysely'
import { importArchive } from '../../src/archive/import.ts'
import { readTables } from '../../src/backup/tables.ts'
import { open, type Store } from '../../src/store/index.ts'
import { records } from './all-responses.ts'
import type { Folder } from './command.ts'
import { deletion } from './records.ts'
import { archiveOf } from './service.ts'

/** Stores without empty tables, and all their rows. */

/** Imports records of every kind, and puts a row into each table that has none then. */
export async function fillEveryTable(store: Store): Promise<void> {
  await importArchive(store, archiveOf([...records, deletion(1, 'lock-device', 999)]))
  const empty = await open('sqlite::memory:', { busyTimeoutMs: 0 })
  for (const { name } of await readTables()) {
    if ((await rowsOf(store, name)).length > 0) continue
    const { rows: columns } = await sql<{ name: string; type: string }>`
      select name, type from pragma_table_info(${name})`.execute(empty.db)
    const names = columns.map(column => column.name)
    const values = columns.map(({ type }) => (type === 'INTEGER' || type === 'integer' ? 1 : 'x'))
    await sql`insert into ${sql.table(name)} (${sql.join(names.map(column => sql.ref(column)))})
      values (${sql.join(values)})`.execute(store.db)
  }
  await empty.close()
}

/** The same for the database of a folder. */
export async function fillFolder(folder: Folder): Promise<void> {
  await using store = await folder.store()
  await fillEveryTable(store)
}

/** Every row of every table that the database itself lists, by table. */
export async function everything(store: Store): Promise<Record<string, readonly string[]>> {
  const { rows: tables } =
    store.engine === 'sqlite'
      ? await sql<{ name: string }>`select name from sqlite_schema
          where type = 'table' and name not like 'sqlite\\_%' escape '\\'`.execute(store.db)
      : await sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(
          store.db,
        )
  const found: Record<string, readonly string[]> = {}
  for (const { name } of tables) {
    // The times at which schema steps were applied differ in each database.
    if (name !== 'migration') found[name] = await rowsOf(store, name)
  }
  return found
}

/** Rows as texts, whatever the order of their columns. */
async function rowsOf({ db }: Store, table: string): Promise<string[]> {
  const { rows } = await sql<object>`select * from ${sql.table(table)}`.execute(db)
  return rows.map(row => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))).toSorted()
}
