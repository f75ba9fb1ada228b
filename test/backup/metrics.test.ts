// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { mkdirSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { storedMetrics } from '../../src/cli/stored-metrics.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { makeFolder } from '../support/command.ts'
import { account } from '../support/records.ts'
import { startService } from '../support/service.ts'

test('metrics have the time and size of the last backup, and the time of the last check that passed', async () => {
  await using folder = await makeFolder()
  await using service = await startService([account(1, 'ann')])
  const database = ['--database', service.databaseUrl]
  const metrics = new Metrics()
  metrics.watch(storedMetrics(service.store))
  const read = async () => {
    const text = await metrics.text()
    return ['timestamp_seconds', 'size_bytes', 'check_timestamp_seconds'].map(name => {
      const [, value] = new RegExp(`^lockstep_backup_${name} (\\S+)$`, 'm').exec(text) ?? []
      return value === undefined ? undefined : Number(value)
    })
  }
  assert.deepEqual(await read(), [undefined, undefined, undefined], 'none is known yet')

  const before = Date.now() / 1000
  mkdirSync(folder.file('backups'))
  const made = (await folder.run(['backup', '--to', 'backups', ...database])).stdout.trim()
  const [madeAt = 0, bytes, checkedAt] = await read()
  assert.ok(madeAt >= before && madeAt <= Date.now() / 1000)
  assert.equal(bytes, statSync(folder.file(made)).size)
  assert.equal(checkedAt, undefined)

  await folder.succeeds(['backup', 'check', made, ...database])
  const [, , passedAt = 0] = await read()
  assert.ok(passedAt >= madeAt && passedAt <= Date.now() / 1000)
  assert.equal((await folder.run(['backup', 'check', 'nothing.db', ...database])).code, 2)
  assert.equal((await read())[2], passedAt, 'a check that failed does not count')
})
