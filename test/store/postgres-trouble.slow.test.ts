import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { importArchive } from '../../src/archive/import.ts'
import { beginSession } from '../../src/accounts/browser-sessions.ts'
import { open, StoreUnavailableError } from '../../src/store/index.ts'
import { createKey, listKeys, revokeKey } from '../../src/accounts/api-keys.ts'
import { run } from '../support/command.ts'
import { connect, sharedServer, testOnPostgres } from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import { lockTemplate, trainingSession, world } from '../support/records.ts'
import { archiveOf, inBrowser } from '../support/service.ts'
import { ask, type Outcome, serve, startLoad } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

/** A response is due within five seconds; a busy machine may need more. What hangs takes far longer. */
const LONGEST = 15_000

const SESSION = '/api/v1/dtt/sessions/1'
const TEMPLATE = '/api/v1/lkbx/templates/1'

/** One service for all failures, so that each test also shows that it recovered from the ones before. */
let started: ReturnType<typeof startAll> | undefined
const everything = () => (started ??= startAll())
after(async () => (await started)?.end())

testOnPostgres('the server ends the sessions of a machine that has died within a minute', async () => {
  const { database } = await everything()
  const store = await open(database, { busyTimeoutMs: 1000 })
  const { rows } = await sql<{ name: string; setting: string }>`select name, setting from pg_settings
    where name like 'tcp_%'`.execute(store.db)
  await store.close()
  const values = Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))
  const { tcp_keepalives_idle: idle, tcp_keepalives_interval: interval, tcp_keepalives_count: count } = values
  assert.ok(Number(idle) > 0 && Number(idle) + Number(interval) * Number(count) < 60, JSON.stringify(values))
  assert.ok(Number(values['tcp_user_timeout']) > 0 && Number(values['tcp_user_timeout']) < 60_000)
})

testOnPostgres('a request succeeds although its PostgreSQL backend is killed', async () => {
  const { admin, url, token, backends } = await everything()
  const { answer } = await withLock(async () => {
    const answer = ask(url + SESSION, token)
    await until(async () => (await backends('active')) > 0)
    await admin.query(`select pg_terminate_backend(pid, 2000) ${OF_SERVICE} and state = 'active'`)
    // It asks again, and waits again.
    await until(async () => (await backends('active')) > 0)
    return { answer }
  })
  assert.equal((await answer).status, 200)
})

testOnPostgres('while backends are killed, each request gets a 200 or a 503', async () => {
  const { admin, url, token } = await everything()
  await using load = startLoad(url + SESSION, token)
  const successes = () => load.outcomes.filter(({ status }) => status === 200).length
  for (let turn = 0; turn < 40 || successes() <= 20; turn += 1) {
    await admin.query(`select pg_terminate_backend(pid) ${OF_SERVICE}`)
    // On a busy machine no request would end between two of them.
    await sleep(20 + 5 * Math.max(0, turn - 40))
  }
  assertAnswered(await load.stop())
  await assertWell()
})

for (const how of ['fast', 'immediate'] as const) {
  testOnPostgres(`a server that is restarted (${how}) is found again, and meanwhile nobody hangs`, async () => {
    const { server, url, token, reconnect } = await everything()
    await using load = startLoad(url + SESSION, token)
    await load.more(20)
    await server.stop(how)
    await load.more(10)
    assert.equal((await ask(`${url}/healthz`)).status, 200)
    assert.equal((await ask(`${url}/readyz`)).status, 503)
    await server.start()
    await reconnect()
    await assertWell()
    assertAnswered(await load.stop())
  })
}

testOnPostgres('readers of a locked table are told to try again, and no connection keeps waiting', async () => {
  const { url, token, backends } = await everything()
  await withLock(async () => {
    const outcome = await ask(url + SESSION, token)
    assert.equal(outcome.status, 503)
    assert.ok(outcome.took > 1000, 'it waited')
    assertAnswered([outcome])
    // One may be at other work at this moment, such as noting the use of the key.
    await until(async () => (await backends('active')) === 0)
  })
  await assertWell()
})

testOnPostgres('a revocation takes effect within a second, even when the database is slow', async () => {
  const { database, url } = await everything()
  const store = await open(database, { busyTimeoutMs: 5000 })
  try {
    const token = await newToken(store)
    assert.equal((await ask(url + SESSION, token)).status, 200)
    await withLock(async () => {
      await revokeKey(store, { id: Math.max(...(await listKeys(store)).map(({ id }) => id)) }, Date.now())
      await sleep(1000)
      const asked = await Promise.all(Array.from({ length: 20 }, () => ask(url + SESSION, token)))
      assert.deepEqual([...new Set(asked.map(({ status }) => status))], [503])
    }, 'partnership')
    assert.equal((await ask(url + SESSION, token)).status, 401)
  } finally {
    await store.close()
  }
})

testOnPostgres('with all connections in use, the other requests are told to try again, in time', async () => {
  const { url, token } = await everything()
  await withLock(async () => {
    const many = await Promise.all([
      ...Array.from({ length: 30 }, () => ask(url + SESSION, token)),
      ...Array.from({ length: 5 }, () => sleep(500).then(() => ask(url + TEMPLATE, token))),
    ])
    assertAnswered(many)
    const others = many.filter(({ status }) => status !== 503)
    assert.deepEqual(others, [])
    // Most need not wait for those that were first, which wait the longest.
    const longest = Math.max(...many.map(({ took }) => took))
    assert.ok(many.filter(({ took }) => took < 0.8 * longest).length >= 20)
  })
  await assertWell()
})

testOnPostgres('a silent network blocks no request for long, and the service recovers', async () => {
  const { proxy, url, token } = await everything()
  proxy.silence()
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(url + SESSION, token)))
  assertAnswered(outcomes)
  assert.ok(outcomes.every(({ status }) => status === 503))
  assert.equal((await ask(`${url}/readyz`)).status, 503)
  proxy.resume()
  await assertWell()
})

interface Trouble {
  readonly what: string
  readonly before?: string
  readonly begin: string
  readonly end: string
  /** What the command line says of it. */
  readonly says: RegExp
}

const refusals: readonly Trouble[] = [
  {
    what: 'a password that was changed',
    begin: "alter role app password 'another'",
    end: "alter role app password 'secret'",
    says: /^lockstep: the database is unavailable: password authentication failed for user "app"\n/,
  },
  {
    what: 'a role that may not sign in any more',
    begin: 'alter role app nologin',
    end: 'alter role app login',
    says: /^lockstep: the database is unavailable: role "app" is not permitted to log in\n/,
  },
  {
    what: 'a database that is not there',
    // A connection that the service opens meanwhile would be in the way of renaming it.
    before: 'alter database trouble allow_connections false',
    begin: 'alter database trouble rename to elsewhere',
    end: 'alter database elsewhere rename to trouble; alter database trouble allow_connections true',
    says: /^lockstep: the database is unavailable: database "trouble" does not exist\n/,
  },
  {
    what: 'a server that is out of connections',
    begin: 'alter role app connection limit 0',
    end: 'alter role app connection limit -1',
    says: /^lockstep: the database is unavailable: too many connections for role "app"\n/,
  },
]

for (const { what, before, begin, end, says } of refusals) {
  testOnPostgres(`${what}: clients are told to try again, and are served when it is over`, async () => {
    const { admin, url, token, database } = await everything()
    const endConnections = () => admin.query(`select pg_terminate_backend(pid, 2000) ${OF_SERVICE}`)
    if (before !== undefined) await admin.query(before)
    await until(async () => {
      await endConnections()
      return admin.query(begin).then(() => true, isInUse)
    })
    // One that was being opened then is there a little later.
    await until(async () => {
      await endConnections()
      return (await ask(`${url}/readyz`)).status === 503
    })
    try {
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => ask(url + SESSION, token)))
      assertAnswered(outcomes)
      assert.ok(outcomes.every(({ status }) => status === 503))
      assert.equal((await ask(`${url}/readyz`)).status, 503)
      const { code, stdout, stderr } = await run(['account', 'list', '--database', database])
      assert.match(stderr, says)
      assert.equal(code, 3)
      assert.equal(stdout, '')
    } finally {
      await endConnections()
      await admin.query(end)
    }
    await assertWell()
  })
}

testOnPostgres('a read-only database serves reads, and writes get a 503', async () => {
  const { admin, database, url, token } = await everything()
  await admin.query('alter database trouble set default_transaction_read_only = on')
  await admin.query(`select pg_terminate_backend(pid, 2000) ${OF_SERVICE}`)
  const store = await open(database, { busyTimeoutMs: 1000 })
  await assertWell()
  const proof = { method: 'password', accountId: 1, credential: 'a hash' } as const
  const session = { proof, browser: 'a browser', actor: inBrowser, now: Date.now() }
  await assert.rejects(beginSession(store, session), StoreUnavailableError)
  await assert.rejects(newToken(store), StoreUnavailableError)
  assert.equal((await ask(url + SESSION, token)).status, 200)
  await admin.query('alter database trouble reset default_transaction_read_only')
  await admin.query(`select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = 'trouble'`)
  // The store may learn of the end of its connections a moment later.
  const writing = store.db.updateTable('account').set({ password_hash: 'a hash' }).where('id', '=', 1)
  await until(() =>
    writing.execute().then(
      () => true,
      () => false,
    ),
  )
  assert.ok(await beginSession(store, session))
  await store.close()
})

testOnPostgres('a service that cannot reach its database at its start says why, and ends with code 3', async () => {
  const { code, stdout, stderr } = await run(['serve', '--port', '0', '--database', 'postgres://ann@127.0.0.1:1/none'])
  assert.equal(stderr, 'lockstep: the database is unavailable: connect ECONNREFUSED 127.0.0.1:1\n')
  assert.equal(code, 3)
  assert.equal(stdout, '')
})

testOnPostgres('the same process served through all of these failures', async () => {
  const { service } = await everything()
  assert.equal(service.process.exitCode, null)
  service.process.kill('SIGTERM')
  const { code, stderr } = await service.ended
  assert.equal(code, 0)
  // Callers do not learn the reason, the operator does.
  for (const reason of ['password authentication failed', 'does not exist', 'too many connections', 'terminated']) {
    assert.ok(stderr.includes(reason), reason)
  }
  assert.doesNotMatch(stderr, /secret|another/)
})

/** The sessions of the service, among all that the server has. */
const OF_SERVICE = `from pg_stat_activity where application_name = 'lockstep' and datname in ('trouble', 'elsewhere')`

async function startAll() {
  const server = await sharedServer()
  const rules = join(server.folder, 'pg_hba.conf')
  writeFileSync(rules, `host all app 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
  let client = await connect(server.url)
  const admin = { query: async (text: string) => client.query<{ count: number }>(text) }
  await admin.query('select pg_reload_conf()')
  await admin.query("create role app login password 'secret'")
  await admin.query('create database trouble owner app')

  const proxy = await startProxy(server.port)
  const direct = new URL(server.url)
  Object.assign(direct, { username: 'app', password: 'secret', pathname: '/trouble' })
  const store = await open(direct.href, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf([...world, trainingSession(1, 1), lockTemplate(1, 1)]))
  const token = await newToken(store)
  await store.close()
  const service = await serve(proxy.urlOf(direct.href))
  return {
    server,
    proxy,
    service,
    admin,
    token,
    url: service.url,
    database: direct.href,
    /** How many sessions of the service are in this state. */
    async backends(state: string): Promise<number> {
      const { rows } = await admin.query(`select count(*)::int ${OF_SERVICE} and state = '${state}'`)
      return rows[0]?.count ?? 0
    },
    async reconnect() {
      client = await connect(server.url)
    },
    async end() {
      await service[Symbol.asyncDispose]()
      await proxy[Symbol.asyncDispose]()
      await client.end()
      server.remove()
    },
  }
}

function newToken(store: Awaited<ReturnType<typeof open>>): Promise<string> {
  return createKey(
    store,
    { accountId: 1, name: 'test', scopes: ['lkbx:read', 'dtt:read'], expiresAt: null },
    Date.now(),
  )
}

/** Does the work while nobody can read a table. */
async function withLock<Result>(work: () => Promise<Result>, table = 'training_session'): Promise<Result> {
  const { database } = await everything()
  await using client = await connect(database)
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  return await work()
}

/** False where the database is in use; anything else is an error of the test. */
function isInUse(error: unknown): false {
  assert.match(String(error), /is being accessed by other users/)
  return false
}

/** Every request was answered in time: with 200, or with 503 and Retry-After. */
function assertAnswered(outcomes: readonly Outcome[]) {
  for (const outcome of outcomes) {
    const { status, retryAfter, took } = outcome
    assert.ok(status === 200 || (status === 503 && retryAfter !== undefined), JSON.stringify(outcome))
    assert.ok(took < LONGEST, `it took ${took} ms`)
  }
}

/** It recovers by itself, and soon. */
async function assertWell() {
  const { url, token } = await everything()
  await until(async () => (await ask(url + SESSION, token)).status === 200)
  assert.equal((await ask(`${url}/readyz`)).status, 200)
  assert.equal((await ask(url + TEMPLATE, token)).status, 200)
}
