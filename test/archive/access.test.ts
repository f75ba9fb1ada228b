// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listAllAccess } from '../../src/accounts/access-lists.ts'
import { endAccess } from '../../src/accounts/shared-access.ts'
import { ImportError } from '../../src/archive/import.ts'
import { FULL_ACCESS, giveAccess } from '../support/sharing.ts'
import { assertRefused, idsOf } from '../support/responses.ts'
import { account, partnership, trainingSession } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

const people = [account(1, 'ann'), account(2, 'ben'), account(3, 'cas')]
const annToBen = { ownerId: 1, partnerId: 2 }

/** A line of access with terms. */
const access = (more: object) => ({ kind: 'partnership', data: { ...annToBen, ...more } })

async function termsOf({ store }: TestService) {
  const [link] = await listAllAccess(store)
  if (link === undefined) throw new Error('there is no access')
  const { areas, recordsFrom, until, endedAt } = link
  return { areas, recordsFrom, until, endedAt }
}

test('an archive adds access that was never given, on its terms; a line without terms means full access', async () => {
  for (const [more, expected] of [
    [{}, {}],
    [{ areas: ['dtt'] }, { areas: ['dtt'] }],
    [{ areas: ['dtt', 'lkbx', 'dtt'], until: null }, {}],
    [{ recordsFrom: '2026-02-01' }, { recordsFrom: Date.parse('2026-02-01') }],
    [{ until: '2099-01-01T00:00:00+01:00' }, { until: Date.parse('2098-12-31T23:00:00Z') }],
    [{ endedAt: '2026-02-01T00:00:00Z' }, { endedAt: Date.parse('2026-02-01') }],
  ] as const) {
    await using service = await startService([...people, access(more)])
    assert.deepEqual(await termsOf(service), { ...FULL_ACCESS, endedAt: null, ...expected })
  }
})

test('terms that make no sense are errors of their line', async () => {
  await using service = await startService(people)
  for (const [more, reason] of [
    [{ areas: [] }, /^areas must be a list of lkbx and dtt/],
    [{ areas: 'dtt' }, /^areas must be a list/],
    [{ areas: ['dtt', 'xyz'] }, /^areas must be a list/],
    [{ recordsFrom: '2026-02-30' }, /^recordsFrom must be a day as YYYY-MM-DD, or null/],
    [{ recordsFrom: 1 }, /^recordsFrom must be a day/],
    [{ until: 'tomorrow' }, /^until must be an RFC 3339 date-time or null/],
    [{ endedAt: true }, /^endedAt must be an RFC 3339 date-time or null/],
  ] as const) {
    await assert.rejects(service.import([access(more)]), (error: unknown) => {
      assert.ok(error instanceof ImportError)
      assert.match(error.errors[0]?.reason ?? '', reason)
      return true
    })
  }
  assert.deepEqual(await listAllAccess(service.store), [])
})

test('no archive widens, prolongs, restores or ends stored access', async () => {
  await using service = await startService([...people, trainingSession(1, 1)])
  const day = Date.parse('2026-02-01')
  const narrow = { areas: ['lkbx'] as const, recordsFrom: day, until: Date.parse('2099-01-01') }
  await giveAccess(service.store, annToBen, narrow)
  for (const more of [{}, { areas: ['dtt'] }, { until: null }, { endedAt: '2026-02-01T00:00:00Z' }]) {
    for (const onConflict of ['fail', 'skip', 'replace'] as const) {
      const line = { ...access(more), extra: { '/note': `${JSON.stringify(more)} ${onConflict}` } }
      const report = await service.import([line], { onConflict })
      assert.deepEqual(report.endedAccess, [])
      assert.deepEqual(await termsOf(service), { ...narrow, endedAt: null })
    }
  }
})

test("yesterday's archive does not bring back access that was ended today, and says so", async () => {
  const archive = [...people, partnership(1, 2), trainingSession(1, 1)]
  await using service = await startService(archive)
  assert.deepEqual(idsOf(await service.fetch('/api/v1/dtt/sessions', 'ben')), [1])
  await endAccess(service.store, annToBen, Date.now())
  for (const onConflict of ['fail', 'replace'] as const) {
    const { endedAccess } = await service.import(archive, { onConflict })
    assert.deepEqual(endedAccess, [annToBen])
    assert.deepEqual(idsOf(await service.fetch('/api/v1/dtt/sessions', 'ben')), [])
    assertRefused(await service.fetch('/api/v1/dtt/sessions?ownerId=1', 'ben'), 403, 'owner_not_accessible')
  }
})

test('ended access is exported as ended, and stays ended in another store', async () => {
  await using service = await startService([...people, partnership(1, 2), trainingSession(1, 1)])
  await endAccess(service.store, annToBen, Date.now())
  const [link] = await listAllAccess(service.store)
  const endedAt = new Date(link?.endedAt ?? 0).toISOString()
  await using other = await startService([...people, access({ endedAt }), trainingSession(1, 1)])
  assert.deepEqual(idsOf(await other.fetch('/api/v1/dtt/sessions', await other.token('ben'))), [])
  assert.deepEqual((await other.import([partnership(1, 2)])).endedAccess, [annToBen])
})
