// engine: sqlite
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { account } from '../support/records.ts'

test('an existing file is never overwritten', async () => {
  await using folder = await makeFolder()
  await folder.run(['import', '-'], { input: JSON.stringify(account(1, 'ann')) })
  writeFileSync(folder.file('precious.db'), 'precious')
  for (const file of ['precious.db', 'data/lockstep.db', '.']) {
    const { code, stdout, stderr } = await folder.run(['backup', file])
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /exists: name a new file/)
  }
  assert.equal(readFileSync(folder.file('precious.db'), 'utf8'), 'precious')
})

test('a backup that cannot be written, or of a missing database, ends with code 3 and leaves no file', async () => {
  await using folder = await makeFolder()
  await folder.refuses(['backup', 'copy.db'], 3, /there is no database at/)
  await folder.run(['migrate'])
  const tooLong = await folder.run(['backup', `${'x'.repeat(300)}.db`])
  assert.equal(tooLong.code, 3)
  assert.match(tooLong.stderr, /no backup was made, because x+\.db cannot be written: ENAMETOOLONG/)
  assert.doesNotMatch(tooLong.stderr, /\n {4}at /)
  assert.deepEqual(readdirSync(folder.path), ['data'])
  assert.ok(!existsSync(folder.file('copy.db')))
})
