// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertData, backwards } from '../support/responses.ts'
import { trainerSegment, trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { people, testSharing } from '../support/sharing.ts'

const segments = [
  trainerSegment(82, { distanceTravelled: 1.25, order: 1, longestDeepthroat: 1500.5, speedMeasured: null }),
  trainerSegment(81, { percentGrade: 0, order: 2, longestDeepthroat: null, strokeLength: 80.5 }),
]

const morning = {
  ...trainingSession(8, 1, { created_at: '2026-02-16T18:00:00.007Z', TrainerSegment: segments }).data,
  repsMeasured: 38,
  distanceTravelled: 2.5,
  distanceApproximate: true,
}

const imported = (session: object) => ({
  kind: 'training-session',
  data: backwards({
    ...session,
    TrainerSegment: segments.toReversed().map(segment => ({ ...backwards(segment), madeUpField: 1 })),
    created_at: '2026-02-16T20:00:00.007+02:00',
    madeUpField: 1,
  }),
  ownerId: 1,
})

test('a training session has the fields of the specification in their order, then its metrics', async () => {
  await using service = await startService([...world, imported(morning)])
  assertData(await service.fetch('/api/v1/dtt/sessions/8', 'ann'), morning)
  assertData(await service.fetch('/api/v1/dtt/sessions/latest', 'ann'), morning)
  assertData(await service.fetch('/api/v1/dtt/sessions', 'ann'), {
    data: [morning],
    pagination: { limit: 50, offset: 0 },
  })
})

test('include=owner adds the owner as the last field of a training session', async () => {
  await using service = await startService([...world, imported(morning)])
  const owned = { ...morning, ownerId: 1 }
  assertData(await service.fetch('/api/v1/dtt/sessions/8?include=owner', 'ben'), owned)
  assertData(await service.fetch('/api/v1/dtt/sessions/latest?ownerId=1&include=owner', 'ben'), owned)
  assertData(await service.fetch('/api/v1/dtt/sessions?include=owner', 'ben'), {
    data: [owned],
    pagination: { limit: 50, offset: 0 },
  })
})

testSharing({
  path: '/api/v1/dtt/sessions',
  resourceName: 'Training session',
  record: (id, owner) => trainingSession(id, owner),
})

test('the latest training session was recorded last, of those recorded at once it has the highest id, and without any it is null', async () => {
  await using service = await startService(people)
  const latest = async () => (await service.fetch('/api/v1/dtt/sessions/latest?include=owner', 'dee')).body.data
  assert.equal(await latest(), null)
  const on = (id: number, day: string, owner = 4) => trainingSession(id, owner, { created_at: `${day}T00:00:00Z` })
  // Of Eve's, whose records Dee reads.
  await service.import([on(7, '2026-02-09', 5)])
  assert.equal(await latest(), null)
  await service.import([on(3, '2026-02-01'), on(1, '2026-02-03'), on(2, '2026-02-02')])
  assert.equal((await latest()).id, 1)
  await service.import([on(9, '2026-02-04'), on(10, '2026-02-04')])
  assert.equal((await latest()).id, 10)
})
