import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listGivenAccess, listReceivedAccess } from '../../src/accounts/access-lists.ts'
import { FULL_ACCESS, giveAccess } from '../support/sharing.ts'
import { account } from '../support/records.ts'
import { startService } from '../support/service.ts'

const annToBen = { ownerId: 1, partnerId: 2 }
const now = Date.parse('2026-03-01T12:00:00Z')
const day = Date.parse('2026-02-01T00:00:00Z')

const start = () => startService([account(1, 'ann'), account(2, 'ben')])

test('terms that make no sense are refused', async () => {
  await using service = await start()
  for (const [terms, pair] of [
    [{ ...FULL_ACCESS, areas: [] }, annToBen],
    [{ ...FULL_ACCESS, recordsFrom: day + 1 }, annToBen],
    [{ ...FULL_ACCESS, until: now }, annToBen],
    [{ ...FULL_ACCESS, until: Number.MAX_SAFE_INTEGER }, annToBen],
    [FULL_ACCESS, { ownerId: 1, partnerId: 1 }],
  ] as const) {
    await assert.rejects(giveAccess(service.store, pair, terms, now), { code: 'refused' })
  }
  for (const list of [listGivenAccess, listReceivedAccess]) assert.deepEqual(await list(service.store, 1, now), [])
})
