// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { listKeys, revokeKey } from '../../src/accounts/api-keys.ts'
import { type Store, StoreUnavailableError } from '../../src/store/index.ts'
import { startSecondServer } from '../support/second-server.ts'
import { trainingSession, world } from '../support/records.ts'
import { BUSY_TIMEOUT_MS, startService, unlimited } from '../support/service.ts'
import { until, within } from '../support/waiting.ts'

const session = '/api/v1/dtt/sessions/1'

const start = (lines: readonly object[] = [...world, trainingSession(1, 1)]) => startService(lines, unlimited)

test('an account has five active API keys at most; revoked and expired ones do not count', async () => {
  await using service = await start()
  for (let count = 0; count < 5; count += 1) await service.token('ann')
  await assert.rejects(service.token('ann'), { code: 'refused' })
  await service.token('ben')
  const [first] = await listKeys(service.store, 1)
  await revokeKey(service.store, { id: first?.id ?? 0 }, Date.now())
  await service.token('ann')
  await assert.rejects(service.token('ann'), { code: 'refused' })
  await service.store.db
    .updateTable('token')
    .set({ expires_at: Date.now() - 1 })
    .where('account_id', '=', 1)
    .execute()
  await service.token('ann')
})

test('an account has five active API keys at most, also over several connections', async () => {
  await using one = await start()
  await using other = await startService([], unlimited, one)
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).token('ann')),
  )
  for (const result of results) {
    if (result.status === 'rejected')
      assert.match(String(result.reason), /has 5 active API keys, which is the most: revoke one first/)
  }
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5)
  assert.equal((await listKeys(one.store, 1)).length, 5)
})

/** Two seconds, also where a machine stops a process for some. Otherwise it would take a minute. */
const SOON_MS = 20_000

test('the first use of an API key is recorded within two seconds, later ones once a minute', async () => {
  await using one = await start()
  await using other = await startService([], unlimited, one)
  const token = await one.token('ann')
  const noted = async () => (await listKeys(one.store, 1))[0]?.last_used_at
  const first = Date.now()
  mock.timers.enable({ apis: ['Date'], now: first })
  try {
    assert.equal(await noted(), null)
    await one.fetch(session, token)
    await within(SOON_MS, async () => (await noted()) !== null)
    assert.equal(await noted(), first)

    mock.timers.setTime(first + 59_999)
    for (const service of [one, other]) await service.fetch(session, token)
    await sleep(1200)
    assert.equal(await noted(), first)

    mock.timers.setTime(first + 60_000)
    await one.fetch(session, token)
    await within(SOON_MS, async () => (await noted()) !== first)
    assert.equal(await noted(), first + 60_000)
    const { body } = await one.fetch('/api/v1/me', token)
    assert.equal(Date.parse(body.data.token.lastUsedAt), first + 60_000)
  } finally {
    mock.timers.reset()
  }
})

test('the use of a valid API key is recorded whatever the response, that of a refused one is not', async () => {
  await using service = await start()
  const ann = await service.token('ann')
  const lkbx = await service.token('cas', { scopes: ['lkbx:read'] })
  const revoked = await service.token('ben')
  await revokeKey(service.store, { id: 3 }, Date.now())
  await service.fetch('/api/v1/dtt/sessions/4', ann)
  await service.fetch(session, lkbx)
  await service.fetch(session, revoked)
  const used = async () => (await listKeys(service.store)).map(({ last_used_at }) => last_used_at !== null)
  await until(async () => (await used()).filter(Boolean).length === 2)
  assert.deepEqual(await used(), [true, true, false])
})

test('while an API key cannot be looked up the response is a 503, also for an API key in use', async () => {
  await using service = await start()
  const token = await service.token('ann')
  let busy = false
  const { store } = service
  const read: Store['read'] = (query, values) => {
    if (busy) throw new StoreUnavailableError('busy')
    return store.read(query, values)
  }
  await using again = await startSecondServer(service, {}, { store: { ...store, read } })
  const status = async () => {
    const response = await fetch(`http://127.0.0.1:${again.port}/api/v1/me?x`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    await response.text()
    return response.status
  }
  assert.equal(await status(), 400)
  busy = true
  await sleep(1000)
  assert.equal(await status(), 503)
  busy = false
  assert.equal(await status(), 400)
})

test('while another program writes, requests succeed, and none waits until the use of its key is written', async () => {
  await using one = await start()
  await using other = await startService([], unlimited, one)
  const token = await one.token('ann')
  const statuses = new Set<number>()
  let longest = 0
  await other.store.db.connection().execute(db =>
    other.store.locked(db, async () => {
      // Longer than the interval after which a use is recorded again.
      for (let count = 0; count < 65; count += 1) {
        const before = performance.now()
        statuses.add((await one.fetch(session, token)).status)
        await sleep(10)
        // What delays the timer would have delayed a request.
        longest = Math.max(longest, performance.now() - before)
      }
    }),
  )
  assert.deepEqual([...statuses], [200])
  // A wait would last as long as the busy timeout of the test's services.
  assert.ok(longest < 0.9 * BUSY_TIMEOUT_MS, `an answer took ${longest} ms`)
})
