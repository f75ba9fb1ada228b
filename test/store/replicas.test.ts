import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { createKey, revokeKey } from '../../src/accounts/api-keys.ts'
import { PASSWORD, visitor, visitorAs } from '../support/dashboard.ts'
import { connect, freePort, runSql, sharedServer, startPostgres, testOnPostgres } from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { ask, type Outcome, serve, startLoad } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

const NEWEST = '/api/v1/dtt/sessions/latest'

/** What is not read from replicas while the primary is up. */
const PATHS = [
  '/api/v1/users',
  '/api/v1/users/1',
  '/api/v1/users/me',
  '/api/v1/me/access',
  '/api/v1/status',
  '/api/v1/dtt/stats?from=2026-02-01&to=2026-02-10',
  '/api/v1/lkbx/stats?from=2026-02-01&to=2026-02-10',
]

/** Seconds for which tokens that are known work without a primary, in the service that is tested for it. */
const GRACE = 6

/** A primary, its replica, and one service on both for all tests, so that each also shows that it recovered from the ones before. */
let started: ReturnType<typeof startAll> | undefined
const everything = () => (started ??= startAll())
after(async () => (await started)?.end())

testOnPostgres('records are read from the replica, and API keys from the primary', async () => {
  const { url, token, replica } = await everything()
  await readFromReplica()
  const before = replica.proxy.roundTrips
  for (let count = 0; count < 20; count += 1) assert.equal((await ask(url + NEWEST, token)).status, 200)
  assert.equal(replica.proxy.roundTrips, before + 20)
})

testOnPostgres('a replica more than five seconds behind is not read until it has caught up', async () => {
  const { replica, addSession } = await everything()
  await replica.ask('select pg_wal_replay_pause()')
  const at = performance.now()
  const id = await addSession()
  const first = await newest()
  // On a slow machine five seconds may be over.
  if (performance.now() - at < 2000) assert.notEqual(first, id, 'at first it is still read')
  await until(async () => (await newest()) === id)
  assert.ok(performance.now() - at > 2000, 'while it is current enough it is read')
  for (let count = 0; count < 20; count += 1) assert.equal(await newest(), id)
  await replica.ask('select pg_wal_replay_resume()')
  await readFromReplica()
})

testOnPostgres('requests succeed while a replica dies and comes back', async () => {
  const { url, token, replica } = await everything()
  await using load = startLoad(url + NEWEST, token)
  await load.more(20)
  await replica.server.stop('immediate')
  await load.more(200)
  assert.deepEqual(await readiness(), { status: 200, text: '{"ok":true}' })
  await replica.server.start()
  await readFromReplica()
  assertAll(await load.stop(), 200)
})

testOnPostgres('a silent replica delays requests once and fails none', async () => {
  const { url, token, replica } = await everything()
  await using load = startLoad(url + NEWEST, token)
  await load.more(20)
  replica.proxy.silence()
  const silent = performance.now()
  await sleep(4000)
  const outcomes = await load.stop()
  replica.proxy.resume()
  assertAll(outcomes, 200)
  assertFastAfter(silent + 3000, outcomes)
  await readFromReplica()
})

testOnPostgres('reads continue while the primary is down, and everything recovers with it', async () => {
  const { url, token, unknown, primary, settings, service } = await everything()
  await using brief = await serve(primary.url, { settings: { ...settings, LOCKSTEP_PRIMARY_GRACE: String(GRACE) } })
  const statusOfBrief = async () => (await ask(brief.url + NEWEST, token)).status
  await until(async () => (await statusOfBrief()) === 200)
  await readFromReplica()
  const ann = await visitorAs(url, 'ann')
  await using load = startLoad(url + NEWEST, token)
  await load.more(50)
  assert.equal(await statusOfBrief(), 200)
  const killed = performance.now()
  // A grant is used for the time that is set, and no longer.
  const held = until(async () => (await statusOfBrief()) === 503).then(() => performance.now() - killed)
  held.catch(() => {})
  const before = await answersTo(PATHS)
  assert.deepEqual(await available(), { changes: 1, reads: 1, records: 1 })
  await primary.stop('immediate')
  assert.match((await ann.get('/')).text, /This page is from a replica/)
  assert.deepEqual(await answersTo(PATHS), before)
  assert.match((await visitor(url).signIn('ann')).text, /The primary database cannot be reached. Nothing was changed/)
  await Promise.all([sleep(2500), load.more(50)])
  const during = await load.stop()
  assertAll(during, 200)
  assert.deepEqual(await readiness(), { status: 200, text: '{"ok":true}' })
  assert.deepEqual(await available(), { changes: 0, reads: 1, records: 1 })
  assert.match(service.said.stderr, /the primary database does not respond/)
  assert.equal((await ask(url + NEWEST, unknown)).status, 503)

  const heldMs = await held
  assert.ok(heldMs > (GRACE - 2) * 1000 && heldMs < 5 * GRACE * 1000, `it held for ${heldMs} ms`)
  assert.equal((await ask(brief.url + NEWEST, token)).retryAfter, '1')

  await primary.start()
  await until(async () => (await ask(url + NEWEST, unknown)).status === 200)
  assert.equal((await ask(url + NEWEST, token)).status, 200)
  assert.deepEqual(await readiness(), { status: 200, text: '{"ok":true}' })
  assert.deepEqual(await available(), { changes: 1, reads: 1, records: 1 })
  await until(async () => service.said.stderr.includes('the primary database responds again'))
  assert.doesNotMatch((await ann.get('/')).text, /replica/)
  await readFromReplica()
})

testOnPostgres('a silent primary delays known callers once and fails none of their requests', async () => {
  const { token, primary, replica } = await everything()
  await using proxy = await startProxy(primary.port)
  const settings = { LOCKSTEP_DATABASE_READ_URLS: replica.proxy.urlOf(replica.server.url) }
  await using service = await serve(proxy.urlOf(primary.url), { settings })
  await using load = startLoad(service.url + NEWEST, token)
  const before = replica.proxy.roundTrips
  await until(async () => replica.proxy.roundTrips > before + 20)
  proxy.silence()
  const silent = performance.now()
  await sleep(4000)
  await load.more(100)
  const outcomes = await load.stop()
  proxy.resume()
  assertAll(outcomes, 200)
  assertFastAfter(silent + 4000, outcomes)
})

testOnPostgres('a revocation takes effect within a second, even when records come from a replica', async () => {
  const { url, primary } = await everything()
  const store = await open(primary.url, { busyTimeoutMs: 5000 })
  const token = await newToken(store)
  assert.equal((await ask(url + NEWEST, token)).status, 200)
  const rows = await runSql<{ id: number }>(primary.url, 'select max(id)::int as id from token')
  await revokeKey(store, rows[0]?.id ?? 0, Date.now())
  await store.close()
  await sleep(1000)
  assert.equal((await ask(url + NEWEST, token)).status, 401)
})

testOnPostgres('a revocation takes effect within a second, even when the primary is slow', async () => {
  const { url, primary } = await everything()
  const store = await open(primary.url, { busyTimeoutMs: 5000 })
  const token = await newToken(store)
  assert.equal((await ask(url + NEWEST, token)).status, 200)
  try {
    await using admin = await connect(primary.url)
    await admin.query('begin; lock table partnership in access exclusive mode')
    const rows = await runSql<{ id: number }>(primary.url, 'select max(id)::int as id from token')
    await revokeKey(store, rows[0]?.id ?? 0, Date.now())
    await sleep(1000)
    // More than there are connections, so that some get none; and some that are cancelled.
    const asked = Array.from({ length: 20 }, () => ask(url + NEWEST, token))
    await sleep(1000)
    await runSql(primary.url, "select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock'")
    assertAll(await Promise.all(asked), 503)
  } finally {
    await store.close()
  }
  assert.equal((await ask(url + NEWEST, token)).status, 401)
})

async function startAll() {
  const primary = await sharedServer()
  const server = await startPostgres({ follows: primary })
  const proxy = await startProxy(server.port)
  const store = await open(primary.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf([...world, trainingSession(1, 1)]))
  await setPassword(store, 1, PASSWORD)
  const token = await newToken(store)
  const unknown = await newToken(store)
  await store.close()
  const settings = { LOCKSTEP_DATABASE_READ_URLS: proxy.urlOf(server.url), LOCKSTEP_PRIMARY_GRACE: '600' }
  const metricsPort = await freePort()
  const service = await serve(primary.url, { settings: { ...settings, LOCKSTEP_METRICS_PORT: String(metricsPort) } })
  let sessions = 1
  return {
    primary,
    replica: {
      server,
      proxy,
      ask: (text: string) => runSql(server.url, text),
    },
    service,
    settings,
    url: service.url,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    token,
    unknown,
    /** Adds a training session to the primary, newer than all before. */
    async addSession(): Promise<number> {
      sessions += 1
      const store = await open(primary.url, { busyTimeoutMs: 5000 })
      const created_at = new Date(Date.UTC(2026, 5, sessions)).toISOString()
      await importArchive(store, archiveOf([trainingSession(sessions, 1, { created_at })]))
      await store.close()
      return sessions
    },
    async end() {
      await service[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
      server.remove()
      primary.remove()
    },
  }
}

function newToken(store: Awaited<ReturnType<typeof open>>): Promise<string> {
  const request = { accountId: 1, name: 'test', scopes: ['lkbx:read', 'dtt:read'], expiresAt: null }
  return createKey(store, request, Date.now())
}

/** Waits until records are read from the replica. */
async function readFromReplica() {
  const { replica, url, token } = await everything()
  await until(async () => {
    const before = replica.proxy.roundTrips
    assert.equal((await ask(url + NEWEST, token)).status, 200)
    return replica.proxy.roundTrips > before
  })
}

async function newest(): Promise<number> {
  const { url, token } = await everything()
  const { text } = await ask(url + NEWEST, token)
  return JSON.parse(text).data.id
}

/** The texts of responses. */
async function answersTo(paths: readonly string[]): Promise<string[]> {
  const { url, token } = await everything()
  const texts: string[] = []
  for (const path of paths) {
    const { status, text } = await ask(url + path, token)
    assert.equal(status, 200, path)
    texts.push(text)
  }
  return texts
}

/** What works, by the metrics. */
async function available(): Promise<Record<string, number>> {
  const { text } = await ask((await everything()).metricsUrl)
  return Object.fromEntries(
    [...text.matchAll(/^lockstep_available\{part="(\w+)"\} (\d)$/gm)].map(([, part = '', value]) => [
      part,
      Number(value),
    ]),
  )
}

async function readiness() {
  const { url } = await everything()
  const { status, text } = await ask(`${url}/readyz`)
  return { status, text }
}

/** Requests wait only until the silence is noticed: of those after that, most are answered at once, however slow the machine is. */
function assertFastAfter(noticed: number, outcomes: readonly Outcome[]) {
  const later = outcomes.filter(({ at }) => at > noticed)
  const waited = later.filter(({ took }) => took > 1000)
  assert.ok(waited.length < later.length / 4, `${waited.length} of ${later.length} waited`)
}

function assertAll(outcomes: readonly Outcome[], status: number) {
  assert.deepEqual(
    outcomes.filter(outcome => outcome.status !== status),
    [],
  )
}
