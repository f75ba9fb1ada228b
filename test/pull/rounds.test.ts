// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { findAccount, setTier } from '../../src/accounts/accounts.ts'
import { findGone, removeGone } from '../../src/pull/gone.ts'
import type { Store } from '../../src/store/index.ts'
import { openStore } from '../support/archives.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  partnership,
  templateSegment,
  trainerSegment,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { byOperator, makeClock, pull } from '../support/sources/pulls.ts'
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
const linesOf = (archive: string) =>
  archive
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(({ kind }) => kind !== 'end')

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

test('unfinished sessions are read again, however old they are', async () => {
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

test('one pull works on an account at a time, and the next can begin as soon as it has ended', async () => {
  await using here = await openStore()
  for (let round = 0; round < 20; round += 1) {
    const release = await here.store.tryLock('pull-1')
    assert.ok(release)
    assert.equal(await here.store.tryLock('pull-1'), undefined)
    await release()
  }
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
    assert.deepEqual(await findGone(here.store), [])
    clock.time += DAY + 1
    await pull(here.store, source.url, { clock, full: true })
  }
  const prunable = { accountId: 1, username: 'ann', kind: 'training-session', total: 30 }
  assert.deepEqual(await findGone(here.store), [{ ...prunable, count: 2 }])
  world.add(trainingSession(8, 1, { created_at: at(22) }))
  await pull(here.store, source.url, { clock, full: true })
  assert.deepEqual(await findGone(here.store), [{ ...prunable, count: 1 }])
  assert.equal(await removeGone(here.store, await findGone(here.store), byOperator), 1)
  assert.equal(linesOf(await here.export()).filter(({ kind }) => kind === 'training-session').length, 29)
  assert.deepEqual(await findGone(here.store), [])
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
  const partnerships = async () => linesOf(await here.export()).filter(({ kind }) => kind === 'partnership')
  assert.equal(typeof (await partnerships())[0]?.data.endedAt, 'string')
  const prunable = await findGone(here.store)
  assert.deepEqual(
    prunable.map(({ username, kind, count }) => `${username} ${kind} ${count}`),
    ['ben lock-device 1', 'ben lock-template 1', 'ben training-session 1'],
  )
  // As if the round that ended the access had failed later on.
  const { completed_at } = await here.store.db
    .selectFrom('pull_source')
    .select('completed_at')
    .executeTakeFirstOrThrow()
  await here.store.db.updateTable('pull_source').set({ completed_at: 0 }).execute()
  assert.equal(await removeGone(here.store, await findGone(here.store), byOperator), 0)
  await here.store.db.updateTable('pull_source').set({ completed_at }).execute()
  assert.deepEqual(await findGone(here.store), prunable, 'what was not removed can be removed later')
  await service.import([partnership(2, 1)])
  await pull(here.store, service.url, { token: await service.token('ann'), clock, partners: true })
  assert.deepEqual(
    (await partnerships()).map(({ data }) => data),
    [{ ownerId: 2, partnerId: 1 }],
  )
})

test('a partner who first pulls with their own key gets a tier with it, which later pulls leave as it is', async () => {
  const records = [account(1, 'ann'), account(2, 'ben'), partnership(2, 1), lockTemplate(2, 2)]
  await using service = await startService(records, unlimited)
  await using here = await openStore()
  const clock = makeClock(now)
  const tier = async () => (await findAccount(here.store, 'ben')).subscription_tier
  await pull(here.store, service.url, { token: await service.token('ann'), clock, partners: true })
  assert.equal(await tier(), null)
  const token = await service.token('ben')
  await pull(here.store, service.url, { token, clock })
  assert.equal(await tier(), 'ultra')
  await setTier(here.store, 2, null, null)
  await pull(here.store, service.url, { token, clock })
  assert.equal(await tier(), null)
})

test('fields that the format does not have are kept with the records of every kind', async () => {
  const segment = { ...(lockSession(1, 1).data as any).LockSegment[0], mood: 1 }
  const world = new SourceWorld().add(
    account(1, 'ann', { badge: 1 }),
    lockDevice(1, 1, { firmware: '3' }),
    trainingDevice(1, 1, { firmware: '4' }),
    lockTemplate(1, 1, { colour: { of: ['door'] } }),
    trainingTemplate(1, 1, { beat: null, Segment: [templateSegment(1, { pulse: 2 })] }),
    lockSession(1, 1, { room: 5, LockSegment: [segment] }),
    trainingSession(1, 1, { heart: [1], TrainerSegment: [trainerSegment(1, { xpEarned: 17 })] }),
  )
  await using source = await startSource({ world, identity: '/me', listsWithout: { '/dtt/sessions': ['heart'] } })
  await using here = await openStore()
  const { extra } = await pull(here.store, source.url, { clock: makeClock(now) })
  assert.deepEqual(
    linesOf(await here.export()).map(line => [line.kind, line.extra]),
    [
      ['account', { '/badge': 1 }],
      ['lock-template', { '/colour': { of: ['door'] } }],
      ['lock-device', { '/firmware': '3' }],
      ['training-device', { '/firmware': '4' }],
      ['training-template', { '/beat': null, '/Segment/0/pulse': 2 }],
      ['lock-session', { '/room': 5, '/LockSegment/0/mood': 1 }],
      ['training-session', { '/heart': [1], '/TrainerSegment/0/xpEarned': 17 }],
    ],
  )
  assert.ok(extra.some(({ kind, field }) => kind === 'training-session' && field === 'heart'))
})

test('access that a pull gives or ends is stored together with its mark and its event, wherever the pull is cut off', async () => {
  const partner = [account(2, 'ben'), lockTemplate(2, 2)]
  await using service = await startService([account(1, 'ann'), ...partner, partnership(2, 1)], unlimited)
  await using here = await openStore()
  const clock = makeClock(now)
  // A new one after each change at the source, because what a token reads is cached for a moment.
  let token = await service.token('ann')
  const pullOnce = () => pull(here.store, service.url, { token, clock, partners: true, full: true })
  const stored = async () => {
    const { db } = here.store
    const partnerships = await db.selectFrom('partnership').select('ended_at').execute()
    const marks = await db.selectFrom('pull_access').select('ended_at').execute()
    return [partnerships, marks].map(rows => rows.map(({ ended_at }) => ended_at))
  }
  const events = async () => {
    const { db } = here.store
    const rows = await db
      .selectFrom('account_event')
      .select(['account_id', 'kind', 'actor', 'subject'])
      .orderBy('id')
      .execute()
    return rows.map(row => Object.values(row).join(' '))
  }
  const cutOff = async () => {
    const before = await events()
    await refuseMarks(here.store)
    await assert.rejects(pullOnce(), /refused_mark/)
    await allowMarks(here.store)
    assert.deepEqual(await events(), before)
  }

  await cutOff()
  assert.deepEqual(await stored(), [[], []])
  await pullOnce()
  assert.deepEqual(await stored(), [[null], [null]])

  await service.store.db.deleteFrom('partnership').execute()
  token = await service.token('ann')
  await cutOff()
  assert.deepEqual(await stored(), [[null], [null]])
  await pullOnce()
  assert.deepEqual(await stored(), [[clock.time], [clock.time]])

  await service.import([partnership(2, 1)])
  token = await service.token('ann')
  await cutOff()
  assert.deepEqual(await stored(), [[clock.time], [clock.time]])
  await pullOnce()
  assert.deepEqual(await stored(), [[null], [null]], 'what the source ended comes back with it')
  await pullOnce()
  assert.deepEqual(
    await events(),
    ['given', 'ended', 'given'].map(what => `2 access-${what} operator ann`),
  )
})

test('an owner whose name is taken here is added together with the access, wherever the pull is cut off', async () => {
  await using source = await startSource({
    world: history(2).add(lockTemplate(2, 2)),
    identity: '/users/me',
    others: [2],
  })
  await using here = await openStore([account(9, 'ben')])
  const pullOnce = () => pull(here.store, source.url, { clock: makeClock(now), partners: true })
  await refuseMarks(here.store)
  await assert.rejects(pullOnce(), /refused_mark/)
  await allowMarks(here.store)
  const { setAside } = await pullOnce()
  assert.deepEqual(setAside.rows, [])
  const stored = linesOf(await here.export()).map(({ kind, data }) => `${kind} ${data.username ?? data.id}`)
  for (const name of ['account account-2', 'lock-template 2']) assert.ok(stored.includes(name), name)
})

/** Lets every change of the marks of access fail, as if the process ended there. */
async function refuseMarks({ db, engine }: Store) {
  if (engine === 'postgres') {
    await sql`alter table pull_access add constraint refused_mark check (owner_id < 0) not valid`.execute(db)
    return
  }
  for (const change of ['insert', 'update']) {
    await sql`create trigger ${sql.ref(`refused_${change}`)} before ${sql.raw(change)} on pull_access
      begin select raise(abort, 'refused_mark'); end`.execute(db)
  }
}

async function allowMarks({ db, engine }: Store) {
  if (engine === 'postgres') await sql`alter table pull_access drop constraint refused_mark`.execute(db)
  else for (const change of ['insert', 'update']) await sql`drop trigger ${sql.ref(`refused_${change}`)}`.execute(db)
}

test('a row whose id belongs to another account here is rejected, and that account keeps its own', async () => {
  await using source = await startSource({ world: history(2), identity: '/users/me' })
  await using here = await openStore([account(9, 'zoe'), trainingSession(2, 9)])
  const report = await pull(here.store, source.url, { clock: makeClock(now) })
  assert.equal(report.setAside.count, 1)
  assert.match(report.setAside.rows[0]?.reason ?? '', /^the id is taken/)
  assert.equal(linesOf(await here.export(9)).filter(({ kind }) => kind === 'training-session').length, 1)
})

test('a record that the source does not return is rejected, and stored when it does', async () => {
  const world = history(2).add(trainingTemplate(2, 1))
  await using source = await startSource({ world, identity: '/users/me' })
  source.fault = path => (path === '/dtt/templates/2' ? { status: 500 } : undefined)
  await using here = await openStore()
  const clock = makeClock(now)
  const first = await pull(here.store, source.url, { clock })
  assert.deepEqual(first.setAside.rows, [
    { kind: 'training-template', id: 2, reason: 'the source does not return the record' },
  ])
  source.fault = undefined
  await pull(here.store, source.url, { clock })
  assert.ok(linesOf(await here.export()).some(({ kind, data }) => kind === 'training-template' && data.id === 2))
  assert.equal((await here.store.db.selectFrom('set_aside').selectAll().execute()).length, 0)
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
  assert.deepEqual(first.setAside.rows, [
    { kind: 'training-template', id: 1, reason: 'the source does not return the record' },
  ])
  const before = await here.export()
  source.fault = path => (/current$|\/\d+$/.test(path) ? { status: 500 } : undefined)
  const second = await pull(here.store, source.url, { clock })
  assert.deepEqual(
    second.setAside.rows.map(({ kind, id }) => `${kind} ${id}`),
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

test('records of others are known up to the end of each round, also if nothing has changed', async () => {
  const world = history(1).add(lockTemplate(2, 2), trainingDevice(2, 2), trainingSession(50, 2, { trainer_id: 2 }))
  await using source = await startSource({ world, identity: '/users/me', others: [2] })
  await using here = await openStore()
  const clock = makeClock(now)
  await pull(here.store, source.url, { clock, partners: true })
  clock.time += HOUR
  await pull(here.store, source.url, { clock, partners: true })
  const accounts = await here.store.db.selectFrom('account').select(['id', 'as_of']).orderBy('id').execute()
  assert.deepEqual(
    accounts.map(({ as_of }) => as_of),
    [clock.time, clock.time],
  )
})

test('access stays while the owner is on any page of the people, however few a page has', async () => {
  const ids = Array.from({ length: 30 }, (_, index) => index + 3)
  const world = history(1).add(...ids.map(id => account(id, `person${id}`)), lockTemplate(90, 32))
  await using source = await startSource({ world, identity: '/users/me', others: ids, maxLimit: 12 })
  await using here = await openStore()
  const clock = makeClock(now)
  for (let round = 0; round < 2; round += 1) await pull(here.store, source.url, { clock, partners: true })
  assert.ok((await here.export()).includes('"kind":"partnership","data":{"ownerId":32,"partnerId":1}'))
  source.fault = path => (/^\/users\?.*offset=[1-9]/.test(source.requests.at(-1) ?? path) ? { status: 400 } : undefined)
  await assert.rejects(pull(here.store, source.url, { clock, partners: true }), /a page of \/users/)
  assert.ok((await here.export()).includes('"kind":"partnership","data":{"ownerId":32,"partnerId":1}'))
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
