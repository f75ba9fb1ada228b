import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listRejected } from '../../src/archive/rejected-rows.ts'
import { claimRejected } from '../../src/pull/whose.ts'
import { MAX_NUMBERS, parseNumbers } from '../../src/pull/connections.ts'
import { findSource } from '../../src/pull/state.ts'
import { openStore, type TestStore } from '../support/archives.ts'
import { account, lockTemplate, trainingSession, trainingTemplate } from '../support/records.ts'
import { makeClock, pull } from '../support/sources/pulls.ts'
import { bareOptions, SourceWorld, startSource } from '../support/sources/source-server.ts'

// engine: sqlite, slowly postgres

const now = Date.parse('2026-03-10T12:00:00Z')

/** What only the specification promises: 300 sessions, of which 75 name a program that is null or gone. */
function specification(): SourceWorld {
  return new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    lockTemplate(1, 1),
    // So the key may read records of others, and a session without an owner could be theirs.
    lockTemplate(2, 2),
    trainingTemplate(1, 1),
    ...Array.from({ length: 300 }, (_, index) =>
      trainingSession(index + 1, 1, {
        bubble_id: undefined,
        settings_id: index % 4 > 0 ? 1 : index % 8 === 0 ? null : 99,
        created_at: new Date(now - (index + 1) * 3_600_000).toISOString(),
      }),
    ),
  )
}

const sessionsIn = async ({ store }: TestStore) =>
  (await store.db.selectFrom('training_session').select('owner_id').execute()).map(({ owner_id }) => owner_id)

for (const [requestsPerMinute, retryAfter] of [
  [20, true],
  [60, false],
] as const) {
  const limit = `${requestsPerMinute} requests a minute ${retryAfter ? 'that says when to try again' : 'that says no time'}`
  test(`a source that is only the specification, with a limit of ${limit}, is complete after one answer`, async () => {
    const clock = makeClock(now)
    const options = { ...bareOptions(specification()), others: [2], isMixed: true, requestsPerMinute, retryAfter }
    await using source = await startSource({ ...options, now: clock.now })
    await using here = await openStore()
    const first = await pull(here.store, source.url, { clock, account: '1', rate: 50 })
    const reasons = first.setAside.reasons.map(({ kind, reason, count }) => [kind, reason, count])
    assert.deepEqual(reasons, [['training-session', 'the source does not say who owns it', 75]])
    assert.equal((await sessionsIn(here)).length, 225)

    const second = await pull(here.store, source.url, { clock, account: '1', rate: 50, mine: true })
    assert.deepEqual([second.claimed, second.setAside.count], [75, 0])
    assert.deepEqual(
      await sessionsIn(here),
      Array.from({ length: 300 }, () => 1),
    )
    assert.deepEqual(await listRejected(here.store), [])
    // Each of them, and no other, is marked in archives.
    assert.equal((await here.export()).match(/"extra":{"\/ownerId":null}/g)?.length, 75)
  })
}

test('the answer is remembered for the source, and can be given without a pull', async () => {
  const clock = makeClock(now)
  const world = specification()
  await using source = await startSource({ ...bareOptions(world), others: [2] })
  await using here = await openStore()
  await pull(here.store, source.url, { clock, account: '1' })
  const known = await findSource(here.store, 1, source.url)
  assert.ok(known)
  assert.equal(await claimRejected(here.store, known), 75)
  assert.deepEqual(await listRejected(here.store), [])
  world.add(trainingSession(301, 1, { settings_id: null, created_at: new Date(now).toISOString() }))
  const report = await pull(here.store, source.url, { clock, account: '1' })
  assert.equal(report.setAside.count, 0)
  assert.equal((await sessionsIn(here)).length, 301)
  // A row that disappears is found again as one of the account.
  const rows = await here.store.db
    .selectFrom('pull_row')
    .select('owner_id')
    .where('kind', '=', 'training-session')
    .execute()
  assert.ok(rows.every(({ owner_id }) => owner_id === 1))
})

test('numbers of lock sessions are a list of numbers and ranges, and bounded', () => {
  assert.deepEqual(parseNumbers('12, 15-17,16'), [12, 15, 16, 17])
  assert.equal(parseNumbers(`1-${MAX_NUMBERS}`)?.length, MAX_NUMBERS)
  for (const text of ['', ',', '0', '-3', '3-', '5-3', '1.5', '1;2', `1-${MAX_NUMBERS + 1}`, '1-999999999999999'])
    assert.equal(parseNumbers(text), undefined, text)
})

/** A source whose API key is of account 1, and whose records differ from those here. */
function startForeign() {
  const world = new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    lockTemplate(1, 1, { name: 'of the source' }),
    lockTemplate(2, 2, { name: 'of the source' }),
  )
  return startSource({ world, identity: '/users/me', others: [2] })
}

test('a source that claims the id and the name of an account here replaces its records only if --account names it', async () => {
  await using source = await startForeign()
  await using here = await openStore([account(1, 'ann'), lockTemplate(1, 1)])
  const options = { clock: makeClock(now) }
  const before = await here.export()
  await assert.rejects(pull(here.store, source.url, options), {
    code: 'usage',
    message: /^account 1 has records that are not from this source, .+ \(--account 1\)$/,
  })
  assert.equal(await here.export(), before)
  await pull(here.store, source.url, { ...options, account: '1' })
  assert.match(await here.export(1), /of the source/)
  // From now on, its records come from this source.
  await pull(here.store, source.url, options)

  await using other = await startForeign()
  const pulled = await here.export()
  await assert.rejects(pull(here.store, other.url, options), /^Refusal: account 1 has records/)
  assert.equal(await here.export(), pulled)
  await pull(here.store, other.url, { ...options, account: 'ann' })
  for (const { url } of [source, other]) await pull(here.store, url, options)
})

test('an account that was added here and has nothing yet is filled by a source that has its id and name', async () => {
  await using source = await startForeign()
  await using here = await openStore([account(1, 'ann')])
  const report = await pull(here.store, source.url, { clock: makeClock(now) })
  assert.deepEqual([report.accountId, report.setAside.count], [1, 0])
})
