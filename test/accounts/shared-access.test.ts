import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RefusedError } from '../../src/accounts/errors.ts'
import { listAccess } from '../../src/accounts/access-lists.ts'
import {
  type AccessTerms,
  addAccess,
  endAccess,
  FULL_ACCESS,
  giveAccess,
  narrowAccess,
} from '../../src/accounts/shared-access.ts'
import { account } from '../support/records.ts'
import { startService } from '../support/service.ts'

const annToBen = { ownerId: 1, partnerId: 2 }
const now = Date.parse('2026-03-01T12:00:00Z')
const day = Date.parse('2026-02-01T00:00:00Z')

const start = () => startService([account(1, 'ann'), account(2, 'ben')])

test('access can be narrowed, and only giving it again widens it', async () => {
  await using service = await start()
  const { store } = service
  const refused = (terms: AccessTerms) => assert.rejects(narrowAccess(store, annToBen, terms, now), RefusedError)
  await refused(FULL_ACCESS)
  await giveAccess(store, annToBen, FULL_ACCESS, now)
  const training: AccessTerms = { areas: ['dtt'], recordsFrom: day, until: now + 1000 }
  await narrowAccess(store, annToBen, training, now)
  for (const wider of [
    { ...training, areas: ['lkbx', 'dtt'] as const },
    { ...training, areas: ['lkbx'] as const },
    { ...training, recordsFrom: null },
    { ...training, until: null },
    { ...training, until: now + 1001 },
  ]) {
    await refused(wider)
  }
  const { given } = await listAccess(store, 1, now)
  assert.deepEqual(given, [{ accountId: 2, username: 'ben', ...training, since: now, lastReadAt: null }])
  await giveAccess(store, annToBen, FULL_ACCESS, now + 500)
  const [again] = (await listAccess(store, 2, now + 500)).received
  assert.deepEqual(again, { accountId: 1, username: 'ann', ...FULL_ACCESS, since: now })
})

test('ended access is not listed, and only giving it again restores it', async () => {
  await using service = await start()
  const { store } = service
  const add = (again: boolean) => addAccess(store, annToBen, { ...FULL_ACCESS, again }, now)
  await add(false)
  await add(false)
  await endAccess(store, annToBen, now)
  await assert.rejects(endAccess(store, annToBen, now), RefusedError)
  await assert.rejects(narrowAccess(store, annToBen, FULL_ACCESS, now), RefusedError)
  await assert.rejects(add(false), /was ended on 2026-03-01T12:00:00Z: left unchanged/)
  assert.deepEqual(await listAccess(store, 1, now), { given: [], received: [] })
  await add(true)
  assert.equal((await listAccess(store, 1, now)).given.length, 1)
})

test('terms that make no sense are refused', async () => {
  await using service = await start()
  for (const [terms, pair] of [
    [{ ...FULL_ACCESS, areas: [] }, annToBen],
    [{ ...FULL_ACCESS, recordsFrom: day + 1 }, annToBen],
    [{ ...FULL_ACCESS, until: now }, annToBen],
    [{ ...FULL_ACCESS, until: Number.MAX_SAFE_INTEGER }, annToBen],
    [FULL_ACCESS, { ownerId: 1, partnerId: 1 }],
  ] as const) {
    await assert.rejects(giveAccess(service.store, pair, terms, now), RefusedError)
  }
  assert.deepEqual(await listAccess(service.store, 1, now), { given: [], received: [] })
})
