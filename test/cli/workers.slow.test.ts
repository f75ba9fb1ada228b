// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { open, type Store } from '../../src/store/index.ts'
import { newSqlite, type TestDatabase } from '../support/databases.ts'
import { testOnBoth } from '../support/engines.ts'
import { isAlive, needsProc, childrenOf } from '../support/programs.ts'
import { ask, serve, type Outcome, type Serving, startLoad, tally } from '../support/serving.ts'
import { until, within } from '../support/waiting.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../../src/accounts/api-keys.ts'
import { importArchive } from '../../src/archive/import.ts'
import { run } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'

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

/** Several processes that serve as one. */

const SESSION = '/api/v1/dtt/sessions/1'

/** What is promised of two workers, on an empty database. */
async function twoWorkersServeAsOne({ url }: TestDatabase) {
  const store = await open(url, { busyTimeoutMs: 5000 })
  await using _ = { [Symbol.asyncDispose]: () => store.close() }
  await importArchive(store, archiveOf([...world, trainingSession(1, 1)]))
  const token = await tokenOf(store, 1)
  const revoked = await tokenOf(store, 2)
  const metricsPort = await freePort()
  const settings = { LOCKSTEP_METRICS_PORT: String(metricsPort), LOCKSTEP_RATE_LIMIT: '100000' }
  await using service = await serve(url, { args: ['--workers', '2'], settings })
  const address = service.url + SESSION
  const served = async () => countOf(`http://127.0.0.1:${metricsPort}/metrics`)

  // Both answer: each counts the requests of a token for itself.
  const answers: Outcome[] = []
  await until(async () => {
    answers.push(...(await Promise.all(Array.from({ length: 30 }, () => ask(address, token)))))
    const left = answers.map(({ rateLimit }) => Number(/;r=(\d+);/.exec(rateLimit ?? '')?.[1]))
    return Math.min(...left) > 100_000 - answers.length
  })
  assert.deepEqual(tally(answers), { 200: answers.length })

  // Their metrics are added up, on one listener.
  await until(async () => (await served()).requests === answers.length)
  assert.equal((await served()).builds, 1)

  // What is revoked with the command line is refused by both: within a second, unless the machine is so busy that they notice it late.
  await Promise.all(Array.from({ length: 10 }, () => ask(address, revoked)))
  const { code, stderr } = await run(['key', 'revoke', '2', '--database', url])
  assert.equal(code, 0, stderr)
  await within(5000, async () => {
    const answered = tally(await Promise.all(Array.from({ length: 10 }, () => ask(address, revoked))))
    return answered[401] === 10
  })

  // They are replaced one by one, without a failed request.
  const before = workersOf(service)
  assert.equal(before.length, 2)
  const counted = (await served()).requests
  const loads = [startLoad(address, token, { clients: 2 }), startLoad(address, token, { clients: 2, keepAlive: true })]
  service.process.kill('SIGHUP')
  await until(async () => !workersOf(service).some(pid => before.includes(pid)))
  await loads[0]?.more(20)
  const outcomes = (await Promise.all(loads.map(load => load.stop()))).flat()
  const failed = outcomes.filter(({ status }) => status !== 200)
  assert.deepEqual(failed, [])
  assert.equal(workersOf(service).length, 2)
  // What the old ones counted is still there.
  await until(async () => (await served()).requests === counted + outcomes.length)

  // One that is killed is replaced.
  const [victim = 0, other] = workersOf(service)
  process.kill(victim, 'SIGKILL')
  await until(async () => workersOf(service).filter(pid => pid !== victim).length === 2)
  assert.ok(workersOf(service).includes(other ?? 0))
  await until(async () => /exited \(SIGKILL\): starting another/.test(service.said.stderr))
  await until(async () => (await ask(address, token)).status === 200)

  // After a signal they answer the requests that have arrived, and exit.
  if (store.engine === 'postgres') await inFlight(store, address, token, service)
  else service.process.kill('SIGTERM')
  const { code: exitCode, stderr: log } = await service.ended
  assert.equal(exitCode, 0)
  assert.doesNotMatch(log, /did not stop in time/)
}

/** Registers the test that a signal ends workers that are being replaced. */
function testSignal(moment: 'a new one starts' | 'an old one goes') {
  test(
    `workers that get a signal while ${moment} exit without an error, and no more are started`,
    needsProc,
    async () => {
      const database = newSqlite()
      // Long enough to be seen on a slow machine.
      const settings = { LOCKSTEP_DRAIN_DELAY: '4' }
      await using service = await serve(database.url, { args: ['--workers', '2'], settings })
      service.process.kill('SIGHUP')
      await until(async () =>
        moment === 'a new one starts'
          ? workersOf(service).length === 3
          : (await ask(`${service.url}/readyz`)).status === 503,
      )
      service.process.kill('SIGTERM')
      const { code, stderr } = await service.ended
      assert.doesNotMatch(stderr, /error|ended/i)
      assert.equal(code, 0)
      await database.remove()
    },
  )
}

/** Ends the service while a request waits for the database, which must then still be answered. */
async function inFlight(store: Store, address: string, token: string, service: Serving) {
  await store.db.connection().execute(async db => {
    await sql`begin`.execute(db)
    await sql`lock table training_session in access exclusive mode`.execute(db)
    const answer = ask(address, token)
    await until(async () => {
      // Of this database only: other tests share the server.
      const { rows } = await sql`select 1 from pg_locks where not granted and relation = 'training_session'::regclass
        and database = (select oid from pg_database where datname = current_database())`.execute(store.db)
      return rows.length > 0
    })
    service.process.kill('SIGTERM')
    await sleep(500)
    await sql`rollback`.execute(db)
    assert.equal((await answer).status, 200)
  })
}

async function tokenOf(store: Store, accountId: number): Promise<string> {
  const request = { accountId, name: 'test', scopes: ['lkbx:read', 'dtt:read'], expiresAt: null }
  return createKey(store, request, Date.now())
}

/** The process identifiers of the workers of a service. */
function workersOf({ process: { pid } }: Serving): number[] {
  return childrenOf(pid ?? 0)
}

/** How many requests the metrics count, and how many processes. */
async function countOf(url: string) {
  const text = await (await fetch(url)).text()
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'gm'))].reduce(
      (total, [, count]) => total + Number(count),
      0,
    )
  return { requests: sum('lockstep_request_duration_seconds_count'), builds: sum('lockstep_info') }
}
