import assert from 'node:assert/strict'
import { importArchive } from '../../src/archive/import.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { createKey, listKeys, revokeKey } from '../../src/accounts/api-keys.ts'
import { open, type Store, StoreUnavailableError } from '../../src/store/index.ts'
import { PASSWORD, visitorAs } from '../support/dashboard.ts'
import { type PostgresServer, runSql, startPostgres, testOnPostgres, waitForReplica } from '../support/postgres.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { ask, serve, startLoad } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

const NEWEST = '/api/v1/dtt/sessions/latest'

testOnPostgres('a service goes on with the server that was promoted, and never with the former primary', async () => {
  const one = await startPostgres()
  const two = await startPostgres({ follows: one })
  const address = addressOf(one, two)
  try {
    const store = await open(address, { busyTimeoutMs: 5000 })
    await importArchive(store, archiveOf([...world, trainingSession(1, 1)]))
    const [kept, revoked] = [await newToken(store, 'kept'), await newToken(store, 'revoked')]
    const notSeen = await newToken(store, 'not seen before')
    await setPassword(store, 1, PASSWORD)
    await waitForReplica(one, two)
    const settings = { LOCKSTEP_DATABASE_READ_URLS: `${two.url},${one.url}` }
    await using service = await serve(address, { settings })
    const statusOf = async (token: string) => (await ask(service.url + NEWEST, token)).status
    assert.equal(await statusOf(revoked), 200)
    const ann = await visitorAs(service.url, 'ann')
    assert.equal((await ann.get('/')).status, 200)
    await waitForReplica(one, two)

    await using load = startLoad(service.url + NEWEST, kept)
    const others = ['/api/v1/me', '/api/v1/users', '/api/v1/status'].map(path => startLoad(service.url + path, kept))
    for (const each of [load, ...others]) await each.more(20)
    await one.stop('immediate')
    for (const each of [load, ...others]) await each.more(20)
    await using unknown = startLoad(service.url + NEWEST, notSeen)
    await unknown.more(20)
    await runSql(two.url, 'select pg_promote()')
    const promoted = performance.now()
    await until(() => canWrite(store))
    // Less than five seconds; on a slow machine everybody takes longer to notice.
    assert.ok(performance.now() - promoted < 20_000, 'writes are refused for less than five seconds')
    for (const each of [load, ...others]) {
      assert.deepEqual(
        (await each.stop()).filter(({ status }) => status !== 200),
        [],
      )
    }
    const refused = (await unknown.stop()).filter(({ status }) => status !== 200)
    assert.ok(refused.every(({ status, took }) => status === 503 && took < 5000))
    await revokeKey(store, await idOf(store, 'revoked'), Date.now())
    await until(async () => (await statusOf(revoked)) === 401)
    const ended = new Map(ann.cookies)
    await ann.post('/signout')
    for (const [name, value] of ended) ann.cookies.set(name, value)

    // The former primary accepts writes, and the token and the session are valid there.
    await one.start()
    const isValidThere = () => runSql(one.url, "select 1 from token where name = 'revoked' and revoked_at is null")
    assert.equal((await isValidThere()).length, 1)
    const before = await runSql(one.url, 'select pg_current_xact_id()::text as id')
    for (let count = 0; count < 10; count += 1) {
      assert.equal(await statusOf(revoked), 401)
      assert.equal(await statusOf(kept), 200)
      assert.ok(await canWrite(store))
    }
    await using restarted = await serve(address, { settings })
    assert.equal((await ask(restarted.url + NEWEST, revoked)).status, 401)

    // Not even if it is the only one left.
    await two.stop('immediate')
    for (let count = 0; count < 10; count += 1) {
      assert.notEqual(await statusOf(revoked), 200)
      assert.equal((await ann.get('/')).status, 503)
      assert.equal(await canWrite(store), false)
    }
    await assert.rejects(newToken(store, 'lost'), StoreUnavailableError)
    const after = await runSql(one.url, 'select pg_current_xact_id()::text as id')
    assert.equal(Number(after[0]?.['id']) - Number(before[0]?.['id']), 1, 'nothing was written there')

    await two.start()
    await until(() => canWrite(store))
    await until(async () => (await statusOf(kept)) === 200)
    assert.equal(await statusOf(revoked), 401)
    await store.close()
  } finally {
    one.remove()
    two.remove()
  }
})

testOnPostgres('connections to a primary are closed when another server was promoted as well', async () => {
  const one = await startPostgres()
  const two = await startPostgres({ follows: one })
  try {
    const store = await open(addressOf(one, two), { busyTimeoutMs: 5000 })
    await importArchive(store, archiveOf(world))
    await waitForReplica(one, two)
    assert.ok(await canWrite(store))
    await runSql(two.url, 'select pg_promote()')
    await runSql(two.url, 'update account set as_of = null')
    // The first one still accepts writes: what decides is that the other one has the higher timeline.
    await until(async () => {
      await canWrite(store)
      const rows = await runSql(two.url, 'select 1 from account where as_of is not null')
      return rows.length > 0
    })
    await runSql(one.url, 'update account set as_of = null')
    for (let count = 0; count < 10; count += 1) assert.ok(await canWrite(store))
    assert.deepEqual(await runSql(one.url, 'select 1 from account where as_of is not null'), [])
    await store.close()
  } finally {
    one.remove()
    two.remove()
  }
})

testOnPostgres('a database of which no server accepts writes is refused with the reason', async () => {
  const one = await startPostgres()
  const two = await startPostgres({ follows: one })
  try {
    await one.stop('fast')
    const reason = () =>
      open(`${two.url}?target_session_attrs=read-write`, { busyTimeoutMs: 1000 }).then(() => 'it opened', String)
    // On a slow machine the replica does not respond in time.
    await until(async () => /no server accepts writes: 127\.0\.0\.1:\d+ is a replica/.test(await reason()))
    await assert.rejects(open(addressOf(one, two), { busyTimeoutMs: 1000 }), StoreUnavailableError)
  } finally {
    one.remove()
    two.remove()
  }
})

function addressOf(one: PostgresServer, two: PostgresServer): string {
  return `postgres://postgres@127.0.0.1:${one.port},127.0.0.1:${two.port}/postgres?target_session_attrs=read-write`
}

async function canWrite(store: Store): Promise<boolean> {
  try {
    await store.db.updateTable('account').set({ as_of: Date.now() }).where('id', '=', 1).execute()
    return true
  } catch (error) {
    assert.ok(error instanceof StoreUnavailableError, String(error))
    return false
  }
}

function newToken(store: Store, name: string): Promise<string> {
  return createKey(store, { accountId: 1, name, scopes: ['lkbx:read', 'dtt:read'], expiresAt: null }, Date.now())
}

async function idOf(store: Store, name: string): Promise<number> {
  const tokens = await listKeys(store)
  return tokens.find(token => token.name === name)?.id ?? 0
}
