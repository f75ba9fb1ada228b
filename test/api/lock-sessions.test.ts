// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertData, assertRefused, backwards, idsOf } from '../support/responses.ts'
import { lockSegment, lockSession, world } from '../support/records.ts'
import { type TestResponse, startService } from '../support/service.ts'
import { people, testSharing } from '../support/sharing.ts'

const evening = lockSession(9, 1, {
  startDate: '2026-02-16T18:00:00Z',
  LockSegment: [
    lockSegment(92, 'start', '2026-02-16T18:00:00Z', true),
    lockSegment(91, 'break', '2026-02-16T18:30:00Z', false),
    lockSegment(93, 'locked', '2026-02-16T18:30:00Z', true),
    lockSegment(90, 'unlocked', '2026-02-16T20:00:00.001Z', false),
  ],
  endDate: '2026-02-16T20:00:00.001Z',
  createdAt: '2026-02-16T17:59:00Z',
}).data

const imported = (session: typeof evening) => ({
  kind: 'lock-session',
  data: backwards({
    ...session,
    LockSegment: session.LockSegment.toReversed().map(segment => ({ ...backwards(segment), madeUpField: 1 })),
    startDate: '2026-02-16T19:00:00+01:00',
    madeUpField: 1,
  }),
})

test('a lock session has the fields of the specification in their order, then its end and creation', async () => {
  await using service = await startService([...world, imported(evening)])
  assertData(await service.fetch('/api/v1/lkbx/sessions/9', 'ann'), evening)
  assertData(await service.fetch('/api/v1/lkbx/sessions/latest', 'ann'), evening)
  assertData(await service.fetch('/api/v1/lkbx/sessions', 'ann'), {
    data: [evening],
    pagination: { limit: 50, offset: 0 },
  })
})

test('the running lock session is the current one, even with a null end and an unknown state', async () => {
  const running = { ...evening, lockState: 'frozen', isActive: true, endDate: null, LockSegment: [] }
  await using service = await startService([...world, { kind: 'lock-session', data: running }])
  assertData(await service.fetch('/api/v1/lkbx/session/current', 'ann'), running)
})

test('include=template adds the template of a lock session as its last field, and nothing else', async () => {
  const other = { ...evening, id: 8, startDate: '2026-02-15T18:00:00Z', isActive: true }
  await using service = await startService([
    ...world,
    { ...imported(evening), templateId: 4 },
    { kind: 'lock-session', data: other },
  ])
  const withTemplate = { ...evening, templateId: 4 }
  const withoutTemplate = { ...other, templateId: null }
  for (const [username, owner] of [
    ['ann', ''],
    ['ben', '&ownerId=1'],
  ] as const) {
    const token = await service.token(username)
    const fetch = (path: string) => service.fetch(`/api/v1/lkbx/${path}${owner}`, token)
    const one = await service.fetch('/api/v1/lkbx/sessions/9?include=template', token)
    assertData(one, withTemplate)
    const plain = await service.fetch('/api/v1/lkbx/sessions/9', token)
    assert.notEqual(one.headers.get('ETag'), plain.headers.get('ETag'))
    assertData(await service.fetch('/api/v1/lkbx/sessions/8?include=template', token), withoutTemplate)
    assertData(await fetch('sessions/latest?include=template'), withTemplate)
    assertData(await fetch('session/current?include=template'), withoutTemplate)
    const page = await fetch('sessions?include=template')
    const recordsOf = ({ body }: TestResponse) =>
      body.data.data.map((record: object) => JSON.stringify(record)) as string[]
    assert.deepEqual(recordsOf(page), [JSON.stringify(withTemplate), JSON.stringify(withoutTemplate)])
    const plainPage = await service.fetch('/api/v1/lkbx/sessions', token)
    assert.deepEqual(recordsOf(plainPage), [JSON.stringify(evening), JSON.stringify(other)])
    assert.notEqual(page.headers.get('ETag'), plainPage.headers.get('ETag'))
  }
  assertRefused(await service.fetch('/api/v1/lkbx/sessions/9?include=template', 'cas'), 404, 'not_found')
  assertData(await service.fetch('/api/v1/lkbx/session/current?include=template', 'cas'), null)
  assertRefused(await service.fetch('/api/v1/lkbx/sessions?include=owner', 'cas'), 400, 'invalid_parameter', {
    fieldErrors: [{ field: 'include', message: 'must be template' }],
  })
})

testSharing({
  path: '/api/v1/lkbx/sessions',
  resourceName: 'Lock session',
  record: (id, owner) => lockSession(id, owner),
})

// Dee (4) reads Eve's (5) records.
const on = (id: number, day: string, isActive = false, owner = 4) =>
  lockSession(id, owner, { startDate: `2026-02-${day}T00:00:00Z`, isActive })

test('the latest lock session started last; the current one is the active one that started last, or null', async () => {
  await using service = await startService(people)
  const idAt = async (path: string) => (await service.fetch(`/api/v1/lkbx/${path}`, 'dee')).body.data?.id as unknown
  await service.import([on(3, '01'), on(1, '03'), on(2, '02'), on(50, '09', true, 5)])
  assert.deepEqual([await idAt('sessions/latest'), await idAt('session/current')], [1, undefined])
  await service.import([on(8, '01', true)])
  assert.equal(await idAt('session/current'), 8, 'also when newer ones are over')
  await service.import([on(7, '02', true)])
  assert.equal(await idAt('session/current'), 7, 'whatever its id')
  await service.import([on(10, '02', true), on(9, '02', true)])
  assert.equal(await idAt('session/current'), 10, 'the highest id of those that started at once')
})

const filtered: readonly (readonly [query: string, ids: readonly number[]])[] = [
  ['from=2026-02-16', [5, 4, 3, 2]],
  ['from=2026-02-16&to=2026-02-16', [4, 3, 2]],
  ['to=2026-02-15', [1]],
  ['from=2026-02-16T12:00:00Z', [5, 4, 3]],
  ['to=2026-02-16T12:00:00Z', [2, 1]],
  ['from=2026-02-16T13:00:00+01:00', [5, 4, 3]],
  ['from=2026-02-16T13:00:00%2B01:00', [5, 4, 3]],
  ['from=2026-02-16t12:00:00z', [5, 4, 3]],
  ['from=2026-02-17&to=2026-02-17T00:00:00Z', []],
  ['lockState=completed', [4, 1]],
  ['lockState=Completed', []],
  ['lockState=completed&from=2026-02-16', [4]],
  ['lockState=half%20open%20%F0%9F%94%93', [5]],
]

test('lock sessions are filtered by start and state; a day is a whole day in UTC', async () => {
  await using service = await startService([
    ...world,
    lockSession(1, 1, { startDate: '2026-02-15T23:59:59.999Z', lockState: 'completed' }),
    lockSession(2, 1, { startDate: '2026-02-16T00:00:00Z', lockState: 'locked' }),
    lockSession(3, 1, { startDate: '2026-02-16T12:00:00Z', lockState: 'abandoned' }),
    lockSession(4, 1, { startDate: '2026-02-16T23:59:59.999Z', lockState: 'completed' }),
    lockSession(5, 1, { startDate: '2026-02-17T00:00:00Z', lockState: 'half open 🔓' }),
  ])
  for (const [query, ids] of filtered) {
    assert.deepEqual(idsOf(await service.fetch(`/api/v1/lkbx/sessions?${query}`, 'ann')), ids, query)
  }
})
