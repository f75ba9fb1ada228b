import type { Kysely } from 'kysely'
import { open, type Store } from '../../src/store/index.ts'
import { applyMigrations } from '../../src/store/migrations.ts'
import type { Tables } from '../../src/store/tables.ts'

/**
 * Makes an empty database as the program left it at a version of the schema: with the rows of another one, if it is given, in the columns
 * that there were. Returns the tables that have them.
 */
export async function makeOld(url: string, version: number, source?: Store): Promise<readonly string[]> {
  const store = await open(url, { busyTimeoutMs: 10_000, schema: 'any' })
  try {
    await store.db.transaction().execute(db => applyMigrations(db, store.engine, Date.now(), version))
    return source === undefined ? [] : await copyRows(source, store)
  } finally {
    await store.close()
  }
}

async function copyRows(from: Store, to: Store): Promise<readonly string[]> {
  const known = new Set((await from.db.introspection.getTables()).map(({ name }) => name))
  const tables = (await to.db.introspection.getTables()).filter(({ name }) => known.has(name) && name !== 'migration')
  // Other tables refer to accounts.
  const inOrder = tables.toSorted((a, b) => Number(b.name === 'account') - Number(a.name === 'account'))
  for (const { name, columns } of inOrder) {
    const rows = await anyTable(from.db).selectFrom(name).selectAll().execute()
    for (const row of rows) {
      const kept = Object.entries(row).filter(([column]) => columns.some(({ name }) => name === column))
      await anyTable(to.db).insertInto(name).values(Object.fromEntries(kept)).execute()
    }
  }
  return inOrder.map(({ name }) => name)
}

/** The tables of earlier versions are not those of the program. */
export function anyTable(db: Kysely<Tables>) {
  return db as unknown as Kysely<Record<string, Record<string, unknown>>>
}
