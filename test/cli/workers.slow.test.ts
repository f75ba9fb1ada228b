// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { open } from '../../src/store/index.ts'
import { newSqlite } from '../support/databases.ts'
import { testOnBoth } from '../support/engines.ts'
import { isAlive, needsProc } from '../support/programs.ts'
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

test('workers end with the process that supervises them', needsProc, async () => {
  const database = newSqlite()
  await using service = await serve(database.url, { args: ['--workers', '2'] })
  const workers = workersOf(service)
  assert.equal(workers.length, 2)
  service.process.kill('SIGKILL')
  await service.ended
  await until(async () => !workers.some(isAlive))
  await database.remove()
})

for (const args of [[], ['--workers', '2']]) {
  test(`no signal but SIGTERM and SIGINT does anything: serve ${args.join(' ')}`, needsProc, async () => {
    const database = newSqlite()
    await using service = await serve(database.url, { args })
    const workers = args.length === 0 ? [] : workersOf(service)
    const signals = ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const
    for (const pid of workers) for (const signal of signals) process.kill(pid, signal)
    for (const signal of signals) if (signal !== 'SIGHUP' || args.length === 0) service.process.kill(signal)
    for (let times = 0; times < 5; times += 1) assert.equal((await ask(`${service.url}/healthz`)).status, 200)
    assert.deepEqual(args.length === 0 ? [] : workersOf(service), workers)
    service.process.kill('SIGTERM')
    const { code, stderr } = await service.ended
    // A signal that ends a process would be in place of the code, and in the log.
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /Debugger|exited/)
    await database.remove()
  })
}
