// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTier } from '../../src/accounts/accounts.ts'
import { assertData, assertRefused, backwards, idsOf } from '../support/responses.ts'
import { account, templateSegment, trainingTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { people, testSharing } from '../support/sharing.ts'

const segments = [
  templateSegment(62, { order: 1, speed: 0.5, passFailEnabled: false, passGradeThreshold: 0, failureText: null }),
  templateSegment(61, { order: 2, speed: 2, passFailEnabled: true, passGradeThreshold: 79.5, failureText: 'Again' }),
]

const { Segment: _, ...summary } = trainingTemplate(6, 1, {
  isActive: true,
  toyId: 33,
  createdDate: '2026-01-05T09:30:00Z',
  updatedAt: '2026-01-06T09:30:00.500Z',
}).data
const tail = { toyTagline: null, iconId: 5 }
const beginner = { ...summary, Segment: segments, ...tail }

const imported = {
  kind: 'training-template',
  data: backwards({
    ...beginner,
    Segment: segments.toReversed().map(segment => ({ ...backwards(segment), madeUpField: 1 })),
    createdDate: '2026-01-05T04:30:00-05:00',
    madeUpField: 1,
  }),
}

test('a training template has the fields of the specification in their order, then the optional ones of its source', async () => {
  await using service = await startService([...world, imported])
  assertData(await service.fetch('/api/v1/dtt/templates/6', 'ann'), beginner)
  assertData(await service.fetch('/api/v1/dtt/templates/active', 'ann'), beginner)
})

test('a list shows training templates without their segments', async () => {
  await using service = await startService([...world, imported])
  assertData(await service.fetch('/api/v1/dtt/templates', 'ann'), {
    data: [{ ...summary, ...tail }],
    pagination: { limit: 50, offset: 0 },
  })
})

testSharing({
  path: '/api/v1/dtt/templates',
  resourceName: 'Training template',
  record: (id, owner) => trainingTemplate(id, owner),
})

test('anybody who knows its id reads a public training template, and no other account lists it', async () => {
  const shared = trainingTemplate(6, 1, { isPublic: true, isActive: true })
  await using service = await startService([...world, shared])
  assertData(await service.fetch('/api/v1/dtt/templates/6', 'cas'), shared.data)
  assert.deepEqual(idsOf(await service.fetch('/api/v1/dtt/templates', 'cas')), [])
  assertData(await service.fetch('/api/v1/dtt/templates/active', 'cas'), null)
  assertRefused(await service.fetch('/api/v1/dtt/templates?ownerId=1', 'cas'), 403, 'owner_not_accessible')
  assert.deepEqual(idsOf(await service.fetch('/api/v1/dtt/templates', 'ben')), [6])
})

test('a public training template needs a subscription and the scope like any other', async () => {
  const lines = [...world, account(4, 'dee'), trainingTemplate(6, 1, { isPublic: true })]
  await using service = await startService(lines)
  const lockOnly = await service.token('cas', { scopes: ['lkbx:read'] })
  assertRefused(await service.fetch('/api/v1/dtt/templates/6', lockOnly), 403, 'insufficient_scope')
  const token = await service.token('dee')
  await setTier(service.store, 4, null, null)
  assertRefused(await service.fetch('/api/v1/dtt/templates/6', token), 403, 'subscription_required')
})

test('the active training template is the newest active one of the caller, of those made at once the one with the highest id, and without any it is null', async () => {
  await using service = await startService(people)
  const active = async () => (await service.fetch('/api/v1/dtt/templates/active', 'dee')).body.data
  const made = (id: number, day: string, isActive = true, owner = 4) =>
    trainingTemplate(id, owner, { createdDate: `2026-01-${day}T00:00:00Z`, isActive })
  // Of Eve's, whose records Dee reads.
  await service.import([made(7, '09', true, 5), made(8, '09', false)])
  assert.equal(await active(), null)
  await service.import([made(2, '01'), made(1, '02'), made(3, '03', false)])
  assert.equal((await active()).id, 1)
  await service.import([made(9, '04'), made(10, '04')])
  assert.equal((await active()).id, 10)
})
