// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../src/contract/time.ts'
import { giveAccess } from '../support/sharing.ts'
import { withoutRequest } from '../support/responses.ts'
import { account, partnership, trainingSession } from '../support/records.ts'
import { day, lists, recordsOf, Seen } from '../support/list-changes.ts'
import { startService, unlimited } from '../support/service.ts'

/** Ben reads what is Ann's. */
const people = [account(1, 'ann'), account(2, 'ben'), account(3, 'cas'), partnership(1, 2)]

test('a list is not sent again while nothing of it changed, and is sent after any change of it', async () => {
  await using service = await startService([...people, ...[1, 2, 3, 4, 5].flatMap(id => recordsOf(id, 1))], unlimited)
  await using other = await startService([], unlimited, service)
  const changes: readonly (() => Promise<unknown>)[] = [
    () => other.import(recordsOf(6, 1)),
    () => other.import(recordsOf(6, 1, 'Other'), { onConflict: 'replace' }),
    () => other.import(recordsOf(6, 2, 'Other'), { onConflict: 'replace' }),
    () => other.import(recordsOf(7, 2)),
  ]
  const own = lists.filter(path => !path.includes('ownerId=') && !path.startsWith('/api/v1/lkbx?'))
  for (const change of [async () => {}, ...changes]) {
    await change()
    for (const path of own) {
      const full = await service.fetch(path, 'ben')
      const etag = full.headers.get('ETag') ?? ''
      const again = await service.fetch(path, 'ben', { 'If-None-Match': `"other", W/${etag}` })
      const { status, headers } = withoutRequest(again)
      assert.equal(status, 304)
      assert.deepEqual(
        headers,
        withoutRequest(full).headers.filter(([name]) => !/^content-(?:length|type)$/.test(name)),
      )
      assert.equal((await service.fetch(path, 'ann', { 'If-None-Match': etag })).status, 200, 'of another reader')
    }
  }
  const etags = new Map<string, string>()
  for (const path of lists) etags.set(path, (await service.fetch(path, 'ben')).headers.get('ETag') ?? '')
  for (const path of lists) {
    const others = own.filter(other => other !== path).map(other => etags.get(other))
    const answer = await service.fetch(path, 'ben', { 'If-None-Match': others.join(', ') })
    assert.equal(answer.status, 200, `${path} has a validator of its own`)
  }
})

test('with access from a day on, a validator does not change with earlier records', async () => {
  await using service = await startService([...people, ...[1, 2, 20].flatMap(id => recordsOf(id, 1))], unlimited)
  await giveAccess(service.store, { ownerId: 1, partnerId: 2 }, { recordsFrom: Date.UTC(2026, 2, 15) })
  const path = '/api/v1/dtt/sessions'
  const before = await service.fetch(path, 'ben')
  await service.import([trainingSession(3, 1, day(3)), trainingSession(1, 1, { name: 'Other', ...day(1) })], {
    onConflict: 'replace',
  })
  assert.deepEqual(withoutRequest(await service.fetch(path, 'ben')), withoutRequest(before))
  await service.import([trainingSession(21, 1, day(21))])
  const etag = before.headers.get('ETag') ?? ''
  assert.equal((await service.fetch(path, 'ben', { 'If-None-Match': etag })).status, 200)
})

test('a validator ends with the access it was made with, also when that ends by its own date', async t => {
  await using service = await startService([...people, ...recordsOf(1, 1), ...recordsOf(2, 2)], unlimited)
  const path = '/api/v1/dtt/sessions'
  await giveAccess(service.store, { ownerId: 1, partnerId: 2 }, { until: Date.now() + DAY_MS })
  const before = await service.fetch(path, 'ben')
  const etag = before.headers.get('ETag') ?? ''
  assert.equal((await service.fetch(path, 'ben', { 'If-None-Match': etag })).status, 304)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + DAY_MS + 1 })
  const after = await service.fetch(path, 'ben', { 'If-None-Match': etag })
  assert.equal(after.status, 200)
  const ids = after.body.data.data.map(({ id }: { id: number }) => id)
  assert.deepEqual(ids, [2])
})

test('the validator and the rows of a list are from one moment, even if records change between two reads', async () => {
  await using service = await startService([...people, ...recordsOf(1, 1)], unlimited)
  await using other = await startService([], unlimited, service)
  await service.fetch('/api/v1/me', 'ben')
  const { read } = service.store
  let changes = 0
  const change = () => other.import(recordsOf(1, 1, `Name ${(changes += 1)}`), { onConflict: 'replace' })
  const readAndChange: typeof read = async (query, values) => {
    const rows = await read(query, values)
    await change()
    return rows
  }
  const seen = new Seen()
  for (const path of lists) {
    for (let count = 0; count < 3; count += 1) {
      Object.assign(service.store, { read })
      seen.check(path, await service.fetch(path, 'ben'), undefined)
      Object.assign(service.store, { read: readAndChange })
      seen.check(path, await service.fetch(path, 'ben'), undefined)
    }
  }
  assert.ok(changes >= 3 * lists.length)
})
