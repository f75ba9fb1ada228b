// engine: sqlite
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { makeClient } from '../../src/client.ts'
import { makeFolder } from '../support/command.ts'
import { account, trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

test('a backup made while the service runs is complete, private, and can be served', async () => {
  await using folder = await makeFolder()
  await using service = await startService([...world, trainingSession(1, 1)])
  const token = await service.token('ann')
  const ann = await service.as('ann')
  const abort = new AbortController()
  const busy = (async () => {
    for (let id = 2; !abort.signal.aborted; id += 1) {
      await service.import([trainingSession(id, 1)])
      await ann.get('/api/v1/dtt/sessions/latest')
      await sleep(5)
    }
  })()
  const made = await folder.run(['backup', 'copy.db', '--database', service.databaseUrl])
  abort.abort()
  await busy
  const stderr =
    'The backup is complete and verified: copy.db\nIt is not encrypted: only the owner of the file may read it.\n'
  assert.deepEqual(made, { code: 0, stdout: '', stderr })
  assert.equal((statSync(folder.file('copy.db')).mode & 0o777).toString(8), '600')
  assert.deepEqual(readdirSync(folder.path), ['copy.db'], 'one file, and nothing left beside it')

  await using running = folder.start(['serve', '--port', '0', '--database', 'sqlite:copy.db'])
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  const copied = await Array.fromAsync(makeClient({ baseUrl: url, token }).all('/api/v1/dtt/sessions'))
  const ids = copied.map(({ id }) => id)
  assert.ok(ids.length > 0)
  assert.deepEqual(
    ids.toSorted((a, b) => a - b),
    Array.from(ids.keys(), index => index + 1),
    'all up to one moment',
  )
})

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
  const nothing = await folder.run(['backup', 'copy.db'])
  assert.equal(nothing.code, 3)
  assert.match(nothing.stderr, /there is no database at/)
  await folder.run(['migrate'])
  const tooLong = await folder.run(['backup', `${'x'.repeat(300)}.db`])
  assert.equal(tooLong.code, 3)
  assert.match(tooLong.stderr, /no backup was made, because x+\.db cannot be written: ENAMETOOLONG/)
  assert.doesNotMatch(tooLong.stderr, /\n {4}at /)
  assert.deepEqual(readdirSync(folder.path), ['data'])
  assert.ok(!existsSync(folder.file('copy.db')))
})
