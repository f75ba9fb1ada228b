import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchOptions, type IncomingRecord, OWNER_UNKNOWN, storeBatch } from '../../src/archive/batch-importer.ts'
import { retryRejected } from '../../src/archive/retry-rejected.ts'
import { openStore, type TestStore } from '../support/archives.ts'
import { lockSession, lockTemplate, trainingSession, world } from '../support/records.ts'

const incoming = ({ kind, data, ...envelope }: { kind: string; data: object }): IncomingRecord => ({
  kind,
  data,
  envelope,
})

function pulled({ store }: TestStore, records: readonly IncomingRecord[], within?: BatchOptions['within']) {
  const options = { source: 'https://records.example', account: 1, ...(within === undefined ? {} : { within }) }
  return storeBatch(store, records, options)
}

function setAside({ store }: TestStore) {
  return store.db.selectFrom('set_aside').selectAll().orderBy('record_id').execute()
}

test('a batch sets aside what is wrong, and stores the rest', async () => {
  await using store = await openStore([...world, trainingSession(9, 2)])
  const before = await store.export(2)
  const report = await pulled(store, [
    incoming(trainingSession(1, 1)),
    incoming(trainingSession(2, 1, { passed: 'yes' })),
    incoming(trainingSession(3, 1, { passed: null })),
    incoming(trainingSession(9, 1)),
    incoming(trainingSession(4, 2)),
    { kind: 'training-session', data: { id: 5 }, fault: 'the source does not answer for it' },
    incoming(trainingSession(1, 1)),
    incoming(trainingSession(1, 1, { name: 'Other' })),
  ])
  assert.deepEqual(report.outcomes, [
    'added',
    'rejected',
    'skipped',
    'rejected',
    'rejected',
    'rejected',
    'unchanged',
    'rejected',
  ])
  assert.deepEqual([report.setAside.count, report.setAside.newCount, report.setAside.notKept], [5, 5, 0])
  assert.equal(await store.export(2), before)
  const rows = await setAside(store)
  assert.deepEqual(
    rows.map(({ record_id, owner_id, account_id, reason }) => [record_id, owner_id, account_id, reason]),
    [
      [1, 1, 1, 'is the same record as an earlier line, with other content'],
      [2, 1, 1, 'passed must be true or false'],
      [4, 2, 2, 'is not of an account that is read here'],
      [5, null, 1, 'the source does not answer for it'],
      [9, 1, 1, 'the id is taken by a record of another account'],
    ],
  )
})

test('a row that comes again replaces the rejected one, until it can be stored', async () => {
  await using store = await openStore(world)
  const send = (data: object) => pulled(store, [incoming(trainingSession(1, 1, data))])
  assert.equal((await send({ passed: 'yes' })).setAside.newCount, 1)
  assert.equal((await send({ passed: 'no' })).setAside.newCount, 0)
  const [row, ...others] = await setAside(store)
  assert.equal(others.length, 0)
  assert.match(row?.raw ?? '', /"passed":"no"/)
  await send({})
  assert.deepEqual(await setAside(store), [])
})

test('fields that the source does not send keep their stored values', async () => {
  await using store = await openStore([
    ...world,
    { ...lockSession(1, 1), templateId: 7 },
    { ...lockSession(2, 1), templateId: 7 },
    { ...trainingSession(1, 1), legacyUpload: true },
    { ...trainingSession(2, 1), legacyUpload: true },
  ])
  const report = await pulled(store, [
    incoming(lockSession(1, 1)),
    { ...incoming(lockSession(2, 1)), envelope: { templateId: null } },
    incoming(trainingSession(1, 1)),
    { ...incoming(trainingSession(2, 1)), envelope: { ownerId: 1, legacyUpload: false } },
  ])
  assert.deepEqual(report.outcomes, ['unchanged', 'replaced', 'unchanged', 'replaced'])
})

test('work within a batch is committed together with it, or not at all', async () => {
  await using store = await openStore(world)
  const before = await store.export()
  const failing = pulled(store, [incoming(trainingSession(1, 1))], async () => {
    throw new Error('stop')
  })
  await assert.rejects(failing, /stop/)
  assert.equal(await store.export(), before)
  await pulled(store, [incoming(trainingSession(1, 1))], async db => {
    await db.updateTable('account').set({ as_of: 5 }).where('id', '=', 1).execute()
  })
  const { as_of } = await store.store.db
    .selectFrom('account')
    .select('as_of')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  assert.equal(as_of, 5)
})

test('a row whose owner is somebody else here never becomes theirs, however often it is tried again', async () => {
  await using store = await openStore(world)
  const before = await store.export(2)
  await pulled(store, [{ ...incoming(lockTemplate(7, 2)), fault: OWNER_UNKNOWN }])
  assert.deepEqual(await retryRejected(store.store), { tried: 0, stored: 0 })
  assert.equal(await store.export(2), before)
})

test('a row of more than 1 MiB is counted, and not kept', async () => {
  await using store = await openStore(world)
  const record = incoming(trainingSession(1, 1, { name: 'x'.repeat(1024 * 1024) }))
  const { setAside: report } = await pulled(store, [record])
  assert.deepEqual([report.count, report.notKept], [1, 1])
  assert.deepEqual(await setAside(store), [])
})
