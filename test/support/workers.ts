import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { createKey } from '../../src/accounts/api-keys.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { run } from './command.ts'
import { newSqlite, type TestDatabase } from './databases.ts'
import { freePort } from './postgres.ts'
import { childrenOf, needsProc } from './programs.ts'
import { trainingSession, world } from './records.ts'
import { archiveOf } from './service.ts'
import { ask, type Outcome, serve, type Serving, startLoad, tally } from './serving.ts'
import { until, within } from './waiting.ts'

/** Several processes that serve as one. */

const SESSION = '/api/v1/dtt/sessions/1'

/** What is promised of two workers, on an empty database. */
export async function twoWorkersServeAsOne({ url }: TestDatabase) {
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
export function testSignal(moment: 'a new one starts' | 'an old one goes') {
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
export function workersOf({ process: { pid } }: Serving): number[] {
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
