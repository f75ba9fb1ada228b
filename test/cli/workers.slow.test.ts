// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { open } from '../../src/store/index.ts'
import { newSqlite } from '../support/databases.ts'
import { testOnBoth } from '../support/engines.ts'
import { needsProc } from '../support/programs.ts'
import { ask, serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'
import { testSignal, twoWorkersServeAsOne, workersOf } from '../support/workers.ts'

testOnBoth('two workers serve as one: started, restarted, replaced, told of changes, stopped', twoWorkersServeAsOne)

testSignal('an old one goes')
testSignal('a new one starts')

test('workers whose new version does not start go on serving with the old one', needsProc, async () => {
  const database = newSqlite()
  await using service = await serve(database.url, { args: ['--workers', '2'] })
  const before = workersOf(service)
  const store = await open(database.url, { busyTimeoutMs: 5000 })
  await sql`update migration set version = version + 1000`.execute(store.db)
  await store.close()
  service.process.kill('SIGHUP')
  await until(async () => /before it listened/.test(service.said.stderr))
  assert.deepEqual(workersOf(service), before)
  assert.equal((await ask(`${service.url}/healthz`)).status, 200)
  service.process.kill('SIGINT')
  assert.equal((await service.ended).code, 0)
  await database.remove()
})
