import assert from 'node:assert/strict'
import { after } from 'node:test'
import { makeReadLog } from '../../src/accounts/read-log.ts'
import { allReads, listReads } from '../../src/accounts/read-log-queries.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { testOnBoth } from '../support/engines.ts'
import { sharedServer, testOnPostgres } from '../support/postgres.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { ask, type Outcome, serve, tally } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

const records = [...world, trainingSession(1, 1)]
const SESSION = '/api/v1/dtt/sessions/1'

/** A primary that holds records, for the tests that stop it. */
let started: ReturnType<typeof startPrimary> | undefined
const everything = () => (started ??= startPrimary())
after(async () => (await started)?.remove())

async function startPrimary() {
  const primary = await sharedServer()
  const store = await open(primary.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf(records))
  await store.close()
  return primary
}

testOnPostgres('reads that were counted before the database went down are written once it is back', async () => {
  const primary = await everything()
  const before = await open(primary.url, { busyTimeoutMs: 5000 })
  const token = await newToken(before)
  await before.close()
  await using service = await serve(primary.url)
  let answered = 0
  const read = async () => {
    const { status } = await ask(service.url + SESSION, token)
    if (status === 200) answered += 1
    return status
  }
  for (let count = 0; count < 10; count += 1) assert.equal(await read(), 200)
  await primary.stop('immediate')
  await until(async () => (await read()) === 503)
  await primary.start()
  await until(async () => (await ask(`${service.url}/readyz`)).text === '{"ok":true}')
  for (let count = 0; count < 10; count += 1) assert.equal(await read(), 200)
  service.process.kill('SIGTERM')
  await service.ended
  const store = await open(primary.url, { busyTimeoutMs: 5000 })
  const rows = (await Array.fromAsync(allReads(store, 1))).filter(({ tokenName }) => tokenName === 'counted')
  await store.close()
  const total = rows.reduce((sum, { count }) => sum + count, 0)
  assert.equal(total, answered)
})

testOnPostgres('reads that could not be recorded are shown as a gap once the primary is back', async () => {
  const primary = await everything()
  const store = await open(primary.url, { busyTimeoutMs: 5000 })
  let failures = 0
  const options = { days: 10_000, onFailure: () => (failures += 1), flushIntervalMs: 20, maxEntries: 2 }
  const log = makeReadLog(store, options)
  const start = Date.parse('2001-01-01T00:00:00Z')
  const record = (hour: number) =>
    log.record({ accountId: 2, via: 'dashboard', keyName: '' }, 1, 'dtt', 'list', start + hour * 3_600_000)
  const nextFailure = async () => {
    const known = failures
    await until(async () => failures > known)
  }
  await primary.stop('immediate')
  for (const hour of [0, 1, 1]) record(hour)
  await nextFailure()
  for (const hour of [0, 2, 2]) record(hour)
  await nextFailure()
  record(3)
  await nextFailure()
  await primary.start()
  const range = { from: start, beforeAt: start + 24 * 3_600_000, limit: 10 }
  await until(async () => (await listReads(store, 1, range).catch(() => [])).length === 3)
  await log.close()
  const rows = await listReads(store, 1, range)
  await store.close()
  assert.deepEqual(
    rows.map(({ hour, reader, kind, count }) => [(hour - start) / 3_600_000, reader, kind, count]),
    [
      [2, null, null, 3],
      [1, 'ben', 'list', 2],
      [0, 'ben', 'list', 2],
    ],
  )
})

testOnBoth('reads by several workers are added up in the log when they end', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf(records))
  const token = await newToken(store)
  const settings = { LOCKSTEP_RATE_LIMIT: '100000' }
  await using service = await serve(url, { args: ['--workers', '2'], settings })
  const answers: Outcome[] = []
  // One of them may be ready later.
  const answered = () => answers.filter(({ rateLimit }) => rateLimit?.includes(';r=99999;')).length
  while (answers.length < 20 || answered() < 2) answers.push(await ask(service.url + SESSION, token))
  assert.deepEqual(tally(answers), { 200: answers.length })
  service.process.kill('SIGTERM')
  assert.equal((await service.ended).code, 0)
  const rows = await listReads(store, 1, { limit: 10 })
  await store.close()
  const total = rows.reduce((sum, { count }) => sum + count, 0)
  assert.equal(total, answers.length)
  assert.ok(rows.every(({ via, area, kind }) => via === 'token' && area === 'dtt' && kind === 'record'))
})

function newToken(store: Store): Promise<string> {
  return createKey(store, { accountId: 1, name: 'counted', scopes: ['dtt:read'], expiresAt: null }, Date.now())
}
