import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { importArchive } from '../../src/archive/import.ts'
import { createKey, listKeys, revokeKey } from '../../src/accounts/api-keys.ts'
import { open, type Store, StoreUnavailableError } from '../../src/store/index.ts'
import { runSql, startPostgres, testOnPostgres, waitForReplica } from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { ask, serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

const NEWEST = '/api/v1/dtt/sessions/latest'

testOnPostgres('a service goes on with the server that was promoted, and refuses the former primary', async () => {
  using one = await startPostgres({ settings: { log_statement: 'all' } })
  using two = await startPostgres({ follows: one })
  await using proxy = await startProxy(one.port)
  const address = proxy.urlOf(one.url)
  const store = await open(address, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf([...world, trainingSession(1, 1)]))
  const request = { accountId: 1, name: 'revoked', scopes: ['dtt:read'], expiresAt: null }
  const revoked = await createKey(store, request, Date.now())
  const kept = await createKey(store, { ...request, name: 'kept' }, Date.now())
  await using service = await serve(address)
  const statusOf = async (key: string) => (await ask(service.url + NEWEST, key)).status
  assert.equal(await statusOf(revoked), 200)
  await waitForReplica(one, two)

  proxy.leadTo(two.port)
  await until(async () => (await refusalOf(store)) === 'the database server is a replica')
  assert.equal(await statusOf(kept), 503)
  await one.stop('immediate')
  await runSql(two.url, 'select pg_promote()')
  await until(async () => (await refusalOf(store)) === undefined && (await statusOf(kept)) === 200)
  const [key] = (await listKeys(store)).filter(({ name }) => name === 'revoked')
  await revokeKey(store, { id: key?.id ?? 0 }, Date.now())
  await until(async () => (await statusOf(revoked)) === 401)

  await one.start()
  const isValidThere = await runSql(one.url, "select 1 from token where name = 'revoked' and revoked_at is null")
  assert.equal(isValidThere.length, 1)
  const logged = () => readFileSync(join(one.folder, 'log'), 'utf8')
  const before = logged().length
  proxy.leadTo(one.port)
  const reason = 'the database server is a former primary: its timeline is 1, not 2'
  await until(async () => (await refusalOf(store)) === reason)
  for (let count = 0; count < 10; count += 1) {
    assert.equal(await refusalOf(store), reason)
    assert.notEqual(await statusOf(revoked), 200)
  }
  const ran =
    logged()
      .slice(before)
      .match(/(?:statement|execute [^:]*): .*/g) ?? []
  assert.ok(ran.length > 0 && ran.every(text => text.includes('pg_control_system')), ran.join('\n'))
  proxy.leadTo(two.port)
  await until(async () => (await refusalOf(store)) === undefined && (await statusOf(kept)) === 200)
  assert.equal(await statusOf(revoked), 401)
  await store.close()
})

/** Why nothing can be written; undefined if it can. */
async function refusalOf(store: Store): Promise<string | undefined> {
  try {
    await store.db.updateTable('account').set({ as_of: Date.now() }).where('id', '=', 1).execute()
    return undefined
  } catch (error) {
    assert.ok(error instanceof StoreUnavailableError, String(error))
    return error.message
  }
}
