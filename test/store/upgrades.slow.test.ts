// engine: any
import assert from 'node:assert/strict'
import { importArchive } from '../../src/archive/import.ts'
import { openMigrated } from '../../src/archive/migrate.ts'
import type { Store } from '../../src/store/index.ts'
import { currentVersion, schemaVersion } from '../../src/store/migrations.ts'
import { records } from '../support/all-responses.ts'
import { newSqlite } from '../support/databases.ts'
import { emptyPostgres, testOnBoth } from '../support/engines.ts'
import { anyTable, makeOld } from '../support/old-databases.ts'
import { archiveOf } from '../support/service.ts'

testOnBoth('a database of every earlier schema is upgraded with all that it holds', async ({ url }) => {
  await using newest = closing(await openMigrated(url, WAIT))
  await importArchive(newest.store, archiveOf([...records]))
  for (let version = 1; version < currentVersion; version += 1) {
    const old = newest.store.engine === 'sqlite' ? newSqlite() : await emptyPostgres()
    const tables = await makeOld(old.url, version, newest.store)
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
