import assert from 'node:assert/strict'
import { type Kysely, sql } from 'kysely'
import { open, type OpenOptions, type Store } from '../src/store/index.ts'
import { currentVersion, SchemaError, schemaVersion } from '../src/store/migrations.ts'
import type { Tables } from '../src/store/tables.ts'
import { run } from './support/command.ts'
import { testOnBoth } from './support/engines.ts'

// engine: any

testOnBoth('several who migrate at once wait for each other, and one of them does the work', async ({ url }) => {
  const ended = await Promise.all(Array.from({ length: 3 }, () => run(['migrate', '--database', url])))
  for (const { code, stderr } of ended) assert.equal(code, 0, stderr)
  const said = ended.map(({ stdout }) => stdout).toSorted()
  const before = `the schema has version ${currentVersion}, as before\n`
  assert.deepEqual(said.slice(1), [before, before])
  assert.match(
    said[0] ?? '',
    new RegExp(`^(applied: .+\n){${currentVersion}}the schema has version ${currentVersion}\n$`),
  )
})

testOnBoth('several services that start at once on an empty database all find it ready', async ({ url }) => {
  const stores = await Promise.all(Array.from({ length: 5 }, () => opened(url)))
  for (const store of stores) {
    assert.equal(await schemaVersion(store), currentVersion)
    await store.close()
  }
})

const unfit: readonly { title: string; spoil: string; says: RegExp }[] = [
  {
    title: 'a schema newer than the program is refused',
    spoil: `insert into migration (version, name, checksum, applied_at) values (${currentVersion + 1}, 'later', 'x', 0)`,
    says: /version 3, this program knows 2: use a newer program/,
  },
  {
    title: 'a step that was edited after it was released is refused',
    spoil: "update migration set checksum = 'edited' where version = 1",
    says: /schema version 1 of the database is not the one this program knows/,
  },
  {
    title: 'a step that is missing between others is refused',
    spoil: 'delete from migration where version = 1',
    says: /schema version 2 of the database is not the one this program knows/,
  },
]

for (const { title, spoil, says } of unfit) {
  testOnBoth(title, async ({ url }) => {
    await change(url, spoil)
    for (const schema of ['migrate', 'current'] as const) {
      await assert.rejects(opened(url, schema), error => error instanceof SchemaError && says.test(error.message))
    }
  })
}

testOnBoth('a first step that fails leaves nothing behind, and works once its way is clear', async ({ url }) => {
  await change(url, 'create table lock_session (id integer)', 'any')
  await assert.rejects(opened(url), /already exists/)
  assert.deepEqual(await tables(url), ['lock_session'])
  await change(url, 'drop table lock_session', 'any')
  await (await opened(url)).close()
})

testOnBoth('a later step that fails leaves the schema at the version before it', async ({ url }) => {
  await toFirstVersion(url)
  // Its last statement is in the way, so all others have been run when it fails.
  await change(url, 'create table preference (id integer)', 'any')
  const before = await tables(url)
  const { code } = await run(['migrate', '--database', url])
  assert.notEqual(code, 0)
  assert.deepEqual(await tables(url), before)
  const store = await opened(url, 'any')
  assert.equal(await schemaVersion(store), 1)
  await store.close()
  await change(url, 'drop table preference', 'any')
  await (await opened(url)).close()
  assert.ok((await tables(url)).includes('browser_session'))
})

testOnBoth('serve --no-migrate refuses an old schema and leaves it as it is', async ({ url }) => {
  await toFirstVersion(url)
  const before = await tables(url)
  const { code, stdout, stderr } = await run(['serve', '--no-migrate', '--port', '0', '--database', url])
  assert.match(stderr, /out of date: run `lockstep migrate` first/)
  assert.equal(code, 3)
  assert.equal(stdout, '')
  assert.deepEqual(await tables(url), before)
})

function opened(url: string, schema: OpenOptions['schema'] = 'migrate'): Promise<Store> {
  return open(url, { patience: 10_000, schema })
}

/** Runs a statement on a database, brought up to date before if not said otherwise. */
async function change(url: string, statement: string, schema: OpenOptions['schema'] = 'migrate') {
  const store = await opened(url, schema)
  await sql.raw(statement).execute(store.db)
  await store.close()
}

/** Makes the database as the program left it before there was a second step. */
async function toFirstVersion(url: string) {
  await change(url, 'drop table browser_session')
  await change(url, 'drop table preference', 'any')
  await change(url, 'delete from migration where version > 1', 'any')
}

async function tables(url: string): Promise<string[]> {
  const store = await opened(url, 'any')
  const found = await namesOf(store.db)
  await store.close()
  return found
}

async function namesOf(db: Kysely<Tables>): Promise<string[]> {
  const tables = await db.introspection.getTables()
  return tables.map(({ name }) => name).toSorted()
}
