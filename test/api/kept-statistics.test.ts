// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addAccount } from '../../src/accounts/accounts.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { findGone, removeGone } from '../../src/pull/gone.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { addGoneSession, addKnownSource, byOperator } from '../support/sources/pulls.ts'

const at = (day: number) => ({ created_at: `2026-03-${String(day).padStart(2, '0')}T12:00:00Z` })
const ann = [account(1, 'ann'), account(2, 'ben'), trainingSession(1, 1, at(3)), trainingSession(2, 1, at(4))]

/** How many training sessions an account has by its statistics, and its newest one by the status. */
async function seenBy(service: TestService, username: string) {
  const token = await service.token(username)
  const statistics = await service.fetch('/api/v1/dtt/stats?from=2026-03-01&to=2026-03-31', token)
  const status = await service.fetch('/api/v1/status', token)
  return [statistics.body.data.total.sessions, status.body.data.lastSessionAt]
}

const newest = (day: number) => `2026-03-${String(day).padStart(2, '0')}T12:00:00Z`

test('records that another program adds, changes or moves to another account count in the next answer', async () => {
  await using service = await startService(ann, unlimited)
  await using other = await startService([], unlimited, service)
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  assert.deepEqual(await seenBy(service, 'ben'), [0, null])

  await other.import([trainingSession(3, 1, at(5))])
  assert.deepEqual(await seenBy(service, 'ann'), [3, newest(5)])
  await other.import([trainingSession(3, 1, at(6))], { onConflict: 'replace' })
  assert.deepEqual(await seenBy(service, 'ann'), [3, newest(6)])
  await other.import([trainingSession(3, 2, at(6))], { onConflict: 'replace' })
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  assert.deepEqual(await seenBy(service, 'ben'), [1, newest(6)])
})

test('records that are pruned count no more', async () => {
  await using service = await startService(ann, unlimited)
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  await addGoneSession(service.store, await addKnownSource(service.store), 2)
  assert.equal(await removeGone(service.store, await findGone(service.store), byOperator), 1)
  assert.deepEqual(await seenBy(service, 'ann'), [1, newest(3)])
})

test('an account that was removed and comes back does not get its old statistics', async () => {
  await using service = await startService(ann, unlimited)
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  await removeAccount(service.store, 1, Date.now())
  await addAccount(service.store, { id: 1, username: 'ann', tier: 'ultra' })
  assert.deepEqual(await seenBy(service, 'ann'), [0, null])
  await service.import([trainingSession(4, 1, at(7))])
  assert.deepEqual(await seenBy(service, 'ann'), [1, newest(7)])
})
