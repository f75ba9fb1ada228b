// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowRecords, deleteRecords } from '../../src/accounts/deleted-records.ts'
import { findGone } from '../../src/pull/gone.ts'
import { sourceLists } from '../../src/pull/lists.ts'
import { openStore, parseLines } from '../support/archives.ts'
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

/** Without the last one, which only ends the archive. */
const linesOf = (archive: string) => parseLines(archive).slice(0, -1)

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
    // Each further kind of records costs one.
    assert.ok(source.requests.length <= 6 + sourceLists.length, source.requests.join('\n'))
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

test('if the source does not say whose API key it is, nothing can be pruned', async () => {
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
  assert.deepEqual(await findGone(here.store), [])
})

test('records of others that the key may read are counted and left out, and a pull gives no access', async () => {
  const records = [
    account(1, 'ann'),
    account(2, 'ben'),
    partnership(2, 1),
    lockTemplate(1, 1),
    lockTemplate(2, 2),
    lockDevice(5, 2),
    trainingDevice(2, 2),
    trainingSession(3, 2, { trainer_id: 2 }),
  ]
  await using service = await startService(records, unlimited)
  await using source = await startSource({
    world: new SourceWorld().add(...records.filter(({ kind }) => kind !== 'partnership')),
    identity: '/users/me',
    others: [2],
  })
  for (const { url, token } of [{ url: service.url, token: await service.token('ann') }, { url: source.url }]) {
    await using here = await openStore([account(2, 'ben'), lockTemplate(8, 2)])
    const before = await here.export(2)
    for (let round = 0; round < 2; round += 1) {
      const clock = makeClock(now)
      const { kinds } = await pull(here.store, url, { ...(token === undefined ? {} : { token }), clock, full: true })
      const others = kinds.filter(({ ofOthers }) => ofOthers > 0).map(({ kind }) => kind)
      // Another Lockstep is asked for the records of one owner.
      assert.deepEqual(
        others,
        url === service.url ? [] : ['lock-device', 'training-device', 'lock-template', 'training-session'],
      )
    }
    assert.equal(await here.export(2), before)
    assert.deepEqual(
      linesOf(await here.export()).map(({ kind, data }) => `${kind} ${data.id}`),
      ['account 1', 'account 2', 'lock-template 1', 'lock-template 8'],
    )
  }
})

test('a record that the source does not return never ends the round', async () => {
  const world = history(2).add(
    lockSession(1, 1, { isActive: true, lockState: 'locked', startDate: at(60) }),
    lockSession(2, 1, { startDate: at(59) }),
    trainingSession(9, 1, { created_at: at(20), passed: null }),
  )
  await using source = await startSource({
    world,
    identity: '/users/me',
    withoutLists: ['/dtt/templates'],
    listsWithout: { '/dtt/sessions': ['TrainerSegment'] },
  })
  source.fault = path => (path === '/dtt/templates/1' ? { status: 500 } : undefined)
  await using here = await openStore()
  const clock = makeClock(now)
  const first = await pull(here.store, source.url, { clock })
  assert.deepEqual(first.setAside.reasons, [
    { kind: 'training-template', example: 1, count: 1, reason: 'the source does not return the record' },
  ])
  const before = await here.export()
  source.fault = path => (/current$|\/\d+$/.test(path) ? { status: 500 } : undefined)
  const second = await pull(here.store, source.url, { clock })
  assert.deepEqual(
    second.setAside.reasons.map(({ kind, example }) => `${kind} ${example}`),
    ['lock-session 1', 'training-session 9'],
  )
  assert.match(second.notes.join(), /current lock/)
  assert.deepEqual(linesOf(await here.export()).slice(1), linesOf(before).slice(1))
  source.fault = undefined
  world.add(trainingSession(9, 1, { created_at: at(20) }), trainingSession(10, 1, { created_at: at(0) }))
  await pull(here.store, source.url, { clock })
  const stored = linesOf(await here.export()).map(({ kind, data }) => `${kind} ${data.id}`)
  for (const name of ['training-session 9', 'training-template 1']) assert.ok(stored.includes(name), name)
  assert.equal((await here.store.db.selectFrom('set_aside').selectAll().execute()).length, 0)
})

test('rows that a failed round found gone cannot be pruned before a round has succeeded', async () => {
  const world = history(3).add(...Array.from({ length: 20 }, (_, index) => lockTemplate(100 + index, 1)))
  await using source = await startSource({ world, identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock })
  world.remove('lock-template', 100)
  clock.time += DAY + HOUR
  await pull(here.store, source.url, { clock, full: true })
  clock.time += DAY + HOUR
  source.fault = path => (path === '/dtt/sessions' ? { status: 503 } : undefined)
  await assert.rejects(pull(here.store, source.url, { clock, full: true }))
  assert.deepEqual(await findGone(here.store), [])
  source.fault = undefined
  await pull(here.store, source.url, { clock, full: true })
  assert.deepEqual(
    (await findGone(here.store)).map(({ kind, count }) => [kind, count]),
    [['lock-template', 1]],
  )
})

test('a name that cannot be used here is replaced, and the report says so', async () => {
  const world = new SourceWorld().add(account(1, '4711'), lockTemplate(1, 1))
  await using source = await startSource({ world, identity: '/users/me' })
  await using here = await openStore()
  const { username, notes } = await pull(here.store, source.url, { clock: makeClock(now) })
  assert.equal(username, 'account-1')
  assert.deepEqual(notes, ['the account is named account-1, because "4711" cannot be used here'])
})

test('a deleted record stays away from every round, is not asked for, and comes back once it is allowed again', async () => {
  const world = history(20).add(lockSession(77, 1, { isActive: true, lockState: 'locked', startDate: at(1) }))
  await using source = await startSource({ world, identity: '/users/me' })
  await using here = await openStore()
  const clock = makeClock(now)
  const { accountId } = await pull(here.store, source.url, { clock })
  const records = [
    { accountId, kind: 'training-session', id: 7 },
    { accountId, kind: 'lock-session', id: 77 },
  ]
  await deleteRecords(here.store, { accountId, records }, now)
  const counts = (report: Awaited<ReturnType<typeof pull>>) =>
    records.map(({ kind }) => report.kinds.find(one => one.kind === kind)).map(one => [one?.deleted, one?.added])
  for (const full of [false, true]) {
    clock.time += 2 * DAY
    source.requests.length = 0
    const report = await pull(here.store, source.url, { clock, full })
    assert.deepEqual(
      [counts(report), report.gone, report.setAside.count],
      [
        [
          [1, 0],
          [1, 0],
        ],
        0,
        0,
      ],
    )
    const asked = source.requests.filter(path => /\/sessions\/(7|77)\b/.test(path))
    assert.deepEqual(asked, [])
  }
  assert.doesNotMatch(
    await here.export(),
    /"kind":"training-session","data":\{"id":7,|"kind":"lock-session","data":\{"id":77,/,
  )
  await allowRecords(here.store, { accountId, records }, now)
  assert.deepEqual(counts(await pull(here.store, source.url, { clock })), [
    [0, 1],
    [0, 1],
  ])
})
