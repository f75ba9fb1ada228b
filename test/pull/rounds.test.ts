import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPrunable, prune } from '../../src/pull/prune.ts'
import { openStore } from '../support/archives.ts'
import { newDatabase } from '../support/databases.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  partnership,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { makeClock, pull } from '../support/sources/pulls.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'

assert.ok(newDatabase, 'these tests run on both engines')

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = Date.parse('2026-03-10T12:00:00Z')
const at = (daysAgo: number) => new Date(now - daysAgo * DAY).toISOString().replace('.000Z', 'Z')

/** A history of so many training sessions, one a day. */
function history(days: number): SourceWorld {
  return new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    lockDevice(1, 1),
    trainingDevice(1, 1),
    lockTemplate(1, 1),
    trainingTemplate(1, 1),
    ...Array.from({ length: days }, (_, day) => trainingSession(days - day, 1, { created_at: at(day) })),
  )
}

const linesOf = (archive: string) =>
  archive
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

for (const unknownParameters of ['ignored', 'refused'] as const) {
  test(`an idle round takes at most 12 requests where unknown parameters are ${unknownParameters}`, async () => {
    const world = history(400).add(
      lockSession(1, 1, { isActive: true, lockState: 'locked', startDate: at(1) }),
      trainingSession(500, 1, { created_at: at(0), passed: null }),
      trainingSession(501, 1, { created_at: at(0), passed: null }),
    )
    await using source = await startSource({ world, identity: '/me', unknownParameters, others: [2] })
    await using here = await openStore()
    const clock = makeClock(now)
    await pull(here.store, source.url, { clock })
    source.requests.length = 0
    clock.time += HOUR
    const idle = await pull(here.store, source.url, { clock })
    assert.ok(source.requests.length <= 12, source.requests.join('\n'))
    assert.equal(idle.isFull, false)
    assert.ok(
      !source.requests.some(path => path.startsWith('/dtt/sessions?') && /offset=(?!90)[1-9]/.test(path)),
      'stops early',
    )
  })
}

test('a round that changes nothing writes nothing but its time', async () => {
  await using source = await startSource({ world: history(20), identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock })
  const rows = () => here.store.db.selectFrom('pull_row').selectAll().orderBy('kind').orderBy('id').execute()
  const [archive, known] = [await here.export(), await rows()]
  clock.time += HOUR
  await pull(here.store, source.url, { clock, full: true })
  const asOf = new Date(clock.time).toISOString().replace('.000Z', 'Z')
  assert.equal(await here.export(), archive.replace(/"asOf":"[^"]*"/, `"asOf":"${asOf}"`))
  assert.deepEqual(await rows(), known)
})

test('everything is walked again after a week', async () => {
  await using source = await startSource({ world: history(3), identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  assert.equal((await pull(here.store, source.url, { clock })).isFull, true)
  clock.time += 6 * DAY
  assert.equal((await pull(here.store, source.url, { clock })).isFull, false)
  clock.time += DAY
  assert.equal((await pull(here.store, source.url, { clock })).isFull, true)
})

test('what was open is read again, however far back it is', async () => {
  const world = history(250).add(lockSession(1, 1, { isActive: true, lockState: 'locked', startDate: at(90) }))
  world.add(trainingSession(600, 1, { created_at: at(30), passed: null }))
  await using source = await startSource({ world, identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock })
  assert.ok(!linesOf(await here.export()).some(({ kind, data }) => kind === 'training-session' && data.id === 600))
  world.add(lockSession(1, 1, { startDate: at(90), endDate: at(0) }), trainingSession(600, 1, { created_at: at(30) }))
  clock.time += HOUR
  await pull(here.store, source.url, { clock })
  const lines = linesOf(await here.export())
  assert.equal(lines.find(({ kind }) => kind === 'lock-session').data.isActive, false)
  assert.ok(lines.some(({ kind, data }) => kind === 'training-session' && data.id === 600))
})

test('the template of the active lock is noted, and stays when the lock has ended', async () => {
  const world = history(1).add(lockSession(1, 1, { isActive: true, startDate: at(1) }, { templateId: 1 }))
  await using source = await startSource({ world, identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock })
  const templateOf = async () => linesOf(await here.export()).find(({ kind }) => kind === 'lock-session').templateId
  assert.equal(await templateOf(), 1)
  world.add(lockSession(1, 1, { startDate: at(1), endDate: at(0) }))
  await pull(here.store, source.url, { clock, full: true })
  assert.equal(await templateOf(), 1)
})

test('a row that is gone is kept until it is pruned, and one that comes back is not gone', async () => {
  const world = history(30)
  await using source = await startSource({ world, identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock })
  world.remove('training-session', 7)
  world.remove('training-session', 8)
  for (let walk = 0; walk < 2; walk += 1) {
    assert.deepEqual(await findPrunable(here.store), [])
    clock.time += DAY + 1
    await pull(here.store, source.url, { clock, full: true })
  }
  const prunable = { accountId: 1, username: 'ann', kind: 'training-session', total: 30 }
  assert.deepEqual(await findPrunable(here.store), [{ ...prunable, count: 2 }])
  world.add(trainingSession(8, 1, { created_at: at(22) }))
  await pull(here.store, source.url, { clock, full: true })
  assert.deepEqual(await findPrunable(here.store), [{ ...prunable, count: 1 }])
  assert.equal(await prune(here.store), 1)
  assert.equal(linesOf(await here.export()).filter(({ kind }) => kind === 'training-session').length, 29)
  assert.deepEqual(await findPrunable(here.store), [])
})

test('where the source does not say whose token it is, nothing can be pruned', async () => {
  const world = history(3)
  await using source = await startSource({ world })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock, account: '1' })
  world.remove('training-session', 2)
  for (let walk = 0; walk < 3; walk += 1) {
    clock.time += DAY + 1
    await pull(here.store, source.url, { clock, full: true, account: '1' })
  }
  assert.deepEqual(await findPrunable(here.store), [])
})

test('the records of others are stored only with --partners, with access that ends when the source ends it', async () => {
  const records = [
    account(1, 'ann'),
    account(2, 'ben', { league: 3 }),
    partnership(2, 1),
    lockTemplate(1, 1),
    lockTemplate(2, 2),
    lockDevice(5, 2),
    trainingSession(3, 2),
  ]
  await using service = await startService(records, unlimited)
  const token = await service.token('ann')
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, service.url, { token, clock })
  assert.deepEqual(
    linesOf(await here.export()).map(({ kind, data }) => `${kind} ${data.id}`),
    ['account 1', 'lock-template 1'],
  )
  await pull(here.store, service.url, { token, clock, partners: true, full: true })
  const lines = linesOf(await here.export())
  assert.deepEqual(
    lines.map(({ kind, data }) => `${kind} ${data.id ?? `${data.ownerId}-${data.partnerId}`}`),
    [
      'account 1',
      'account 2',
      'partnership 2-1',
      'lock-template 1',
      'lock-template 2',
      'lock-device 5',
      'training-session 3',
    ],
  )
  assert.deepEqual([lines[1].data.subscriptionTier, lines[1].data.league], [null, 3])

  await service.store.db.deleteFrom('partnership').execute()
  const again = await service.token('ann')
  await pull(here.store, service.url, { token: again, clock, partners: true })
  assert.ok(!(await here.export()).includes('"partnership"'))
  const prunable = await findPrunable(here.store)
  assert.deepEqual(
    prunable.map(({ username, kind, count }) => `${username} ${kind} ${count}`),
    ['ben lock-device 1', 'ben lock-template 1', 'ben training-session 1'],
  )
  await service.import([partnership(2, 1)])
  await pull(here.store, service.url, { token: await service.token('ann'), clock, partners: true })
  assert.ok((await here.export()).includes('"partnership"'))
})

test('a row whose id belongs to another account here is set aside, and that account keeps its own', async () => {
  await using source = await startSource({ world: history(2), identity: '/users/me' })
  await using here = await openStore([account(9, 'zoe'), trainingSession(2, 9)])
  const report = await pull(here.store, source.url, { clock: makeClock(now) })
  assert.equal(report.setAside.count, 1)
  assert.match(report.setAside.rows[0]?.reason ?? '', /^the id is taken/)
  assert.equal(linesOf(await here.export(9)).filter(({ kind }) => kind === 'training-session').length, 1)
})

test('a record that the source does not answer for is set aside, and stored when it does', async () => {
  const world = history(2).add(trainingTemplate(2, 1))
  await using source = await startSource({ world, identity: '/users/me' })
  source.fault = path => (path === '/dtt/templates/2' ? { status: 500 } : undefined)
  await using here = await openStore()
  const clock = makeClock(now)
  const first = await pull(here.store, source.url, { clock })
  assert.deepEqual(first.setAside.rows, [
    { kind: 'training-template', id: 2, reason: 'the source does not answer for it' },
  ])
  source.fault = undefined
  await pull(here.store, source.url, { clock })
  assert.ok(linesOf(await here.export()).some(({ kind, data }) => kind === 'training-template' && data.id === 2))
  assert.equal((await here.store.db.selectFrom('set_aside').selectAll().execute()).length, 0)
})
