// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTier } from '../../src/accounts/accounts.ts'
import { assertData, assertRefused, backwards, idsOf } from '../support/responses.ts'
import { account, templateSegment, trainingTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { people, testSharing } from '../support/sharing.ts'

const segments = [
  {
    id: 62,
    type: 'warmup',
    duration: 30,
    repeat: 1,
    order: 1,
    speed: 0.5,
    passFailEnabled: false,
    passGradeThreshold: 0,
    failureText: null,
  },
  {
    id: 61,
    type: 'training',
    duration: 60,
    repeat: 3,
    order: 2,
    speed: 2,
    passFailEnabled: true,
    passGradeThreshold: 79.5,
    failureText: 'Once more',
  },
]

const summary = {
  id: 6,
  bubbleId: '1700000000000x3',
  ownerId: 1,
  name: 'Beginner',
  description: 'Two parts',
  tagline: 'Slow and steady',
  message: 'Breathe',
  isPublic: false,
  isActive: true,
  handsFreeMode: true,
  targetDepth: 12,
  targetWindow: 2,
  toyId: 33,
  createdDate: '2026-01-05T09:30:00Z',
  updatedAt: '2026-01-06T09:30:00.500Z',
}
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

test('a training template without optional fields has the fields of the specification alone', async () => {
  const { data } = trainingTemplate(6, 1)
  await using service = await startService([...world, { kind: 'training-template', data: backwards(data) }])
  assertData(await service.fetch('/api/v1/dtt/templates/6', 'ann'), data)
  const { Segment: _, ...listed } = data
  assertData(await service.fetch('/api/v1/dtt/templates', 'ann'), {
    data: [listed],
    pagination: { limit: 50, offset: 0 },
  })
})

test('segments without an order stay in the given order', async () => {
  const given = [templateSegment(3), templateSegment(1), templateSegment(2)]
  await using service = await startService([...world, trainingTemplate(6, 1, { Segment: given })])
  const { body } = await service.fetch('/api/v1/dtt/templates/6', 'ann')
  assert.deepEqual(body.data.Segment, given)
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

const made = (id: number, ownerId: number, createdDate: string, isActive: boolean) =>
  trainingTemplate(id, ownerId, { createdDate, isActive })

// Dee (4) and Eve (5) read each other's records.
const inUse: readonly { title: string; templates: readonly object[]; found: number | null }[] = [
  { title: 'null without any', templates: [], found: null },
  { title: 'null when none is active', templates: [made(1, 4, '2026-01-01T00:00:00Z', false)], found: null },
  { title: "null when only a partner's is active", templates: [made(1, 5, '2026-01-01T00:00:00Z', true)], found: null },
  {
    title: 'the active one, also when a newer one is not',
    templates: [made(1, 4, '2026-01-01T00:00:00Z', true), made(2, 4, '2026-01-02T00:00:00Z', false)],
    found: 1,
  },
  {
    title: 'the newest of several',
    templates: [made(2, 4, '2026-01-01T00:00:00Z', true), made(1, 4, '2026-01-02T00:00:00Z', true)],
    found: 1,
  },
  {
    title: 'the one with the highest id of several made at once',
    templates: [made(9, 4, '2026-01-01T00:00:00Z', true), made(10, 4, '2026-01-01T00:00:00Z', true)],
    found: 10,
  },
]

for (const { title, templates, found } of inUse) {
  test(`the active training template is ${title}`, async () => {
    await using service = await startService([...people, ...templates])
    const { text, body } = await service.fetch('/api/v1/dtt/templates/active', 'dee')
    if (found === null) assert.equal(text, '{"ok":true,"data":null}')
    else assert.equal(body.data.id, found)
  })
}
