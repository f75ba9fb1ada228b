import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

test('an imported session is read by its owner', async () => {
  await using service = await startService([...world, trainingSession(5, 1)])
  const ann = await service.as('ann')
  const session = await ann.get('/api/v1/dtt/sessions/:id', { id: 5 })
  assert.equal(session.name, 'Session 5')
  const all = await Array.fromAsync(ann.all('/api/v1/dtt/sessions', { limit: 1 }))
  assert.deepEqual(
    all.map(s => s.id),
    [5],
  )
})
