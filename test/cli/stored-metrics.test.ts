// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { storedMetrics } from '../../src/cli/stored-metrics.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { cut } from '../support/archives.ts'
import { cast } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { addKnownSource } from '../support/sources/pulls.ts'
import { mkdirSync, statSync } from 'node:fs'
import { makeFolder } from '../support/command.ts'
import { account } from '../support/records.ts'

function valueIn(metrics: string, name: string): number | undefined {
  const value = new RegExp(`^lockstep_${name} (\\S+)$`, 'm').exec(metrics)?.[1]
  return value === undefined ? undefined : Number(value)
}

test('rejected rows, the last complete round of the pull that is furthest behind, and connected sources that fail are metrics', async () => {
  await using service = await startService(cast)
  const metrics = new Metrics()
  metrics.watch(storedMetrics(service.store))
  const values = async () => {
    const text = await metrics.text()
    return ['set_aside_rows', 'pull_completed_timestamp_seconds', 'source_connections_failing'].map(name =>
      valueIn(text, name),
    )
  }
  assert.deepEqual(await values(), [0, undefined, 0])
  const unknownKind = Buffer.from(JSON.stringify({ kind: 'x', data: {} }))
  await importArchive(service.store, cut(unknownKind, []), { onError: 'set-aside', source: 'history.ndjson' })
  for (const completed_at of [60_000, 30_000]) {
    await addKnownSource(service.store, { origin: `https://${completed_at}.example`, completed_at })
  }
  const [first, second] = await service.store.db.selectFrom('account').select('id').orderBy('id').execute()
  for (const [account_id = 0, failing_since] of [
    [first?.id, null],
    [second?.id, 90_000],
  ] as const) {
    const empty = { every_minutes: 5, known_locks: '', mine: 0 }
    await service.store.db
      .insertInto('source_connection')
      .values({ ...empty, account_id, origin: 'https://history.example', failing_since })
      .execute()
  }
  assert.deepEqual(await values(), [1, 30, 1])
})

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
