import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { newDatabase } from '../support/databases.ts'

// schema-3.sql is a copy that an earlier version wrote after it had imported schema-3.ndjson.
const support = join(import.meta.dirname, '../support')

test('a copy that an earlier version wrote is checked, and restored into either engine with all that it holds', async () => {
  await using folder = await makeFolder()
  await using other = await importedNow()
  writeOld(folder.file('copy.db'))
  const checked = await folder.run(['backup', 'check', 'copy.db', '--full', '--plain-copy'])
  assert.equal(checked.code, 0, checked.stderr)
  assert.match(checked.stdout, /is intact: a plain copy, 2 accounts, 7 records/)
  const restored = await folder.run(['restore', 'copy.db', '--plain-copy'])
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(restored.stderr, /^Valid again, as they were then: 1 API key and 1 grant of access/m)
  assert.equal(await exported(folder), await exported(folder, other.url))
})

test('a database whose third step is the one that was released first is brought up to date', async () => {
  await using folder = await makeFolder()
  await using other = await importedNow()
  writeOld(folder.file('own.db'))
  const { code, stdout, stderr } = await folder.run(['migrate', '--database', 'sqlite:own.db'])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^applied: extra fields/)
  assert.equal(await exported(folder, 'sqlite:own.db'), await exported(folder, other.url))
})

async function importedNow() {
  const database = await newDatabase()
  await using folder = await makeFolder()
  const { code, stderr } = await folder.run(['import', join(support, 'schema-3.ndjson'), '--database', database.url])
  assert.equal(code, 0, stderr)
  return { url: database.url, [Symbol.asyncDispose]: () => database.remove() }
}

/** A database as an earlier version left it, with the first content of the third step. */
function writeOld(path: string) {
  using database = new DatabaseSync(path)
  database.exec(readFileSync(join(support, 'schema-3.sql'), 'utf8'))
}

async function exported(folder: Folder, url = folder.databaseUrl): Promise<string> {
  const { code, stdout, stderr } = await folder.run(['export', '--database', url])
  assert.equal(code, 0, stderr)
  return stdout.replaceAll(/,"asOf":"[^"]*"/g, '')
}
