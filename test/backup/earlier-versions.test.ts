import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption'
import { open } from '../../src/store/index.ts'
import { makeFolder } from '../support/command.ts'
import { everything } from '../support/every-table.ts'
import { makeReleasedFile, releasedBackup } from '../support/old-databases.ts'

test('a backup of the version of 2026-11-24, encrypted or not, is checked in full and restored with all its rows', async () => {
  await using folder = await makeFolder()
  const identity = await generateIdentity()
  const encrypter = new Encrypter()
  encrypter.addRecipient(await identityToRecipient(identity))
  writeFileSync(folder.file('key'), identity)
  writeFileSync(folder.file('copy.db'), releasedBackup())
  writeFileSync(folder.file('copy.db.age'), await encrypter.encrypt(releasedBackup()))
  const copy = await open(`sqlite:${folder.file('copy.db')}`, { busyTimeoutMs: 0, inspect: true, schema: 'any' })
  const { account, ...before } = await everything(copy)
  await copy.close()
  for (const file of [['copy.db'], ['copy.db.age', '--identity', 'key']]) {
    await folder.succeeds(['backup', 'check', ...file, '--full'])
    const restored = await folder.succeeds(['restore', ...file, '--force'])
    assert.match(restored.stderr, /^Valid again, as they were then: 1 API key and /m)
    await using store = await folder.store()
    const found = await everything(store)
    assert.deepEqual(found['browser_session'], [], 'everybody has to sign in again')
    assert.equal(found['account']?.length, account?.length)
    for (const [table, rows] of Object.entries(before)) {
      // Columns of later versions.
      const known = found[table]?.map(row => row.replace(/\["made_here",null\],|\["language",""\],/, ''))
      if (!CHANGED.includes(table)) assert.deepEqual(known, rows, table)
    }
    assert.equal(found['source_connection']?.length, before['source_connection']?.length)
    assert.match(String(found['job']), /"pull 1"/)
  }
})

/** By the restore, or by steps since; what becomes of connections is tested with the steps. */
const CHANGED = ['backup', 'browser_session', 'note', 'pull_access', 'source_connection']

test('a copy or a backup of an older version is refused, and the message says what to do', async () => {
  await using folder = await makeFolder()
  makeReleasedFile(folder.file('copy.db'))
  {
    using database = new DatabaseSync(folder.file('copy.db'))
    database.exec('delete from migration where version > 20; pragma journal_mode = delete')
  }
  for (const command of [
    ['backup', 'check'],
    ['restore', '--force'],
  ]) {
    const { code, stderr } = await folder.run([...command, 'copy.db', '--plain-copy'])
    assert.equal(code, 1)
    assert.match(stderr, /copy\.db has schema 20, .*: start it once with the version of 2026-11-24/)
  }
})
