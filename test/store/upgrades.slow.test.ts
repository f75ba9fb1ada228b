// engine: any
import assert from 'node:assert/strict'
import type { Kysely } from '../../src/vendor/kysely.js'
import { importArchive } from '../../src/archive/import.ts'
import { openMigrated } from '../../src/archive/migrate.ts'
import { open, type Store } from '../../src/store/index.ts'
import { applyMigrations, currentVersion, schemaVersion } from '../../src/store/migrations.ts'
import type { Tables } from '../../src/store/tables.ts'
import { records } from '../support/all-responses.ts'
import { newSqlite, type TestDatabase } from '../support/databases.ts'
import { emptyPostgres, testOnBoth } from '../support/engines.ts'
import { archiveOf } from '../support/service.ts'

testOnBoth('a database of every earlier schema is upgraded with all that it holds', async ({ url }) => {
  await using newest = closing(await openMigrated(url, WAIT))
  await importArchive(newest.store, archiveOf([...records]))
  for (let version = 1; version < currentVersion; version += 1) {
    const old = newest.store.engine === 'sqlite' ? newSqlite() : await emptyPostgres()
    const tables = await makeOld(old, version, newest.store)
    await using upgraded = closing(await openMigrated(old.url, WAIT))
    assert.equal(await schemaVersion(upgraded.store), currentVersion)
    for (const table of tables) {
      const [before, after] = [await rowsOf(newest.store, table), await rowsOf(upgraded.store, table)]
      assert.deepEqual(after, before, `${table} of version ${version}`)
    }
  }
})

function closing(store: Store) {
  return { store, [Symbol.asyncDispose]: () => store.close() }
}

/** In any order, without the revisions, which every upgrade renews. */
async function rowsOf({ db }: Store, table: string): Promise<string[]> {
  const rows = await anyTable(db).selectFrom(table).selectAll().execute()
  const kept = rows.map(row => Object.entries(row).filter(([column]) => !column.endsWith('revision')))
  return kept.map(columns => JSON.stringify(columns.toSorted(([a], [b]) => a.localeCompare(b)))).toSorted()
}

const WAIT = { busyTimeoutMs: 10_000 }

/** Makes a database as the program left it at a version: with the rows of another one, in the columns that there were. Returns the tables that the
 * program still has. */
async function makeOld({ url }: TestDatabase, version: number, { db: source }: Store): Promise<string[]> {
  const store = await open(url, { ...WAIT, schema: 'any' })
  await store.db.transaction().execute(db => applyMigrations(db, store.engine, Date.now(), version))
  const tables = (await store.db.introspection.getTables()).filter(({ name }) => name !== 'migration')
  // Other tables refer to accounts.
  const inOrder = tables.toSorted((a, b) => Number(b.name === 'account') - Number(a.name === 'account'))
  const known = new Set((await source.introspection.getTables()).map(({ name }) => name))
  for (const { name, columns } of inOrder) {
    if (!known.has(name)) continue
    const rows = await anyTable(source).selectFrom(name).selectAll().execute()
    for (const row of rows) {
      const kept = Object.entries(row).filter(([column]) => columns.some(({ name }) => name === column))
      await anyTable(store.db).insertInto(name).values(Object.fromEntries(kept)).execute()
    }
  }
  await store.close()
  return inOrder.map(({ name }) => name).filter(name => known.has(name))
}

/** The tables of earlier versions are not those of the program. */
function anyTable(db: Kysely<Tables>) {
  return db as unknown as Kysely<Record<string, Record<string, unknown>>>
}
