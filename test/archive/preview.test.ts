// engine: both
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { readLines } from '../../src/archive/lines.ts'
import { type PreviewOptions, previewImport } from '../../src/archive/preview.ts'
import { bytesOf, cut, type Line, openStore, type TestStore } from '../support/archives.ts'
import { account, lockDevice, lockSession, partnership, trainingSession, world } from '../support/records.ts'

function preview({ store }: TestStore, lines: readonly Line[], options?: PreviewOptions) {
  return previewImport(store, () => readLines(cut(bytesOf(lines), [])), options)
}

test('a preview says what is new, changed and the same, with the first and the last time, and stores nothing', async () => {
  await using store = await openStore([
    ...world,
    trainingSession(1, 1),
    trainingSession(2, 1, { name: 'Before' }),
    lockDevice(9, 1),
  ])
  const before = await store.export()
  const at = (created_at: string) => ({ created_at })
  const { kinds, rejectedCount } = await preview(
    store,
    [
      trainingSession(1, 1),
      trainingSession(2, 1, { name: 'After' }),
      trainingSession(3, 1, at('2020-01-02T03:04:05Z')),
      trainingSession(4, 1, at('2021-01-02T03:04:05Z')),
      trainingSession(5, 1, { passed: null }),
      lockDevice(9, 1),
    ],
    { onConflict: 'replace' },
  )
  assert.equal(rejectedCount, 0)
  const [device, sessions] = kinds
  assert.deepEqual(device, {
    kind: 'lock-device',
    added: 0,
    changed: 0,
    unchanged: 1,
    skipped: 0,
    first: null,
    last: null,
  })
  assert.deepEqual(sessions, {
    kind: 'training-session',
    added: 2,
    changed: 1,
    unchanged: 1,
    skipped: 1,
    first: Date.parse('2020-01-02T03:04:05Z'),
    last: Date.parse(trainingSession(1, 1).data.created_at),
  })
  assert.equal(await store.export(), before)
})

test('what would be rejected is grouped by reason, with its lines, and each line of it can be had', async () => {
  await using store = await openStore(world)
  const rejected: string[] = []
  const { kinds, ...rest } = await preview(
    store,
    [
      lockDevice(1, 1, { locked: 'SECRET' }),
      lockDevice(2, 99),
      '{SECRET',
      lockDevice(3, 1),
      lockDevice(4, 1, { locked: 5 }),
    ],
    { onRejected: ({ line, reason }) => rejected.push(`${line}: ${reason}`) },
  )
  assert.deepEqual(
    kinds.map(({ kind, added }) => [kind, added]),
    [['lock-device', 1]],
  )
  assert.equal(rest.rejectedCount, 4)
  assert.deepEqual(rest.rejected[0], { reason: 'locked must be true or false', count: 2, lines: [1, 5] })
  assert.equal(rejected.length, 4)
  assert.doesNotMatch(JSON.stringify([rest, rejected]), /SECRET/)
  assert.deepEqual((await sql`select 1 from set_aside`.execute(store.store.db)).rows, [])
})

test('for one account, accounts, access and records of others are counted and left out', async () => {
  const lines = [
    account(1, 'anna'),
    account(7, 'mallory'),
    partnership(2, 1),
    lockDevice(1, 1),
    lockDevice(2, 2),
    trainingSession(3, 1),
    trainingSession(4, 2),
    { kind: 'end', data: { lines: 7 } },
  ]
  await using store = await openStore(world)
  const { kinds, leftOut, rejectedCount } = await preview(store, lines, { onlyAccount: 1 })
  assert.deepEqual(leftOut, { accounts: 2, access: 1, others: 2 })
  assert.equal(rejectedCount, 0)
  assert.deepEqual(
    kinds.map(({ kind, added }) => [kind, added]),
    [
      ['lock-device', 1],
      ['training-session', 1],
    ],
  )
  const accounts = await store.export()
  const report = await store.import(lines, { onlyAccount: 1, onConflict: 'replace' })
  assert.deepEqual(report.leftOut, leftOut)
  assert.equal(report.hasEnd, true)
  const after = (await store.export()).split('\n').filter(line => !accounts.includes(line))
  assert.deepEqual(
    after.map(line => line.slice(0, 33)).filter(line => !line.includes('"end"') && line !== ''),
    ['{"kind":"account","data":{"id":1,', '{"kind":"lock-device","data":{"id', '{"kind":"training-session","data"'],
  )
})

test('for one account, an id that belongs to the record of another is refused, and the reason says nothing of it', async () => {
  await using store = await openStore([...world, lockDevice(5, 2), lockSession(6, 2)])
  const before = await store.export(2)
  const lines = [lockDevice(5, 1), lockSession(6, 1)]
  const { rejected } = await preview(store, lines, { onlyAccount: 1 })
  assert.deepEqual(
    rejected.map(({ reason, count }) => [reason, count]),
    [['cannot be stored here', 2]],
  )
  const { errors } = await store.refuse(lines, { onlyAccount: 1, onConflict: 'replace' })
  const reasons = errors.map(({ reason }) => reason)
  assert.deepEqual(reasons, ['cannot be stored here', 'cannot be stored here'])
  assert.equal(await store.export(2), before)
})
