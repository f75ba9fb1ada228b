// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertData, assertRefused } from '../support/responses.ts'
import { lockSession, lockTemplate, trainingSession, trainingTemplate } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { people } from '../support/sharing.ts'

/** Endpoints that are about one account. Of Dee, Eve and Cas each has a record for each of them; Ann and Ben have none. */
const paths = [
  '/api/v1/lkbx/templates/active',
  '/api/v1/lkbx/sessions/latest',
  '/api/v1/lkbx/session/current',
  '/api/v1/dtt/templates/active',
  '/api/v1/dtt/sessions/latest',
]

const lines = [
  ...people,
  ...[3, 4, 5].flatMap(owner => [
    lockTemplate(owner, owner),
    lockSession(owner, owner, { isActive: true }, { templateId: owner }),
    trainingTemplate(owner, owner, { isActive: true }),
    trainingSession(owner, owner),
  ]),
]

// Dee (4) and Eve (5) read each other's records, Ben (2) reads Ann's (1), Cas (3) is a stranger to all.
for (const path of paths) {
  test(`${path} is about the caller, or the account that ownerId or targetUserId names`, async () => {
    await using service = await startService(lines, unlimited)
    const idOf = async (query: string) => (await service.fetch(`${path}${query}`, 'dee')).body.data.id as unknown
    assert.equal(await idOf(''), 4)
    for (const name of ['ownerId', 'targetUserId']) {
      assert.equal(await idOf(`?${name}=me`), 4)
      assert.equal(await idOf(`?${name}=4`), 4)
      assert.equal(await idOf(`?${name}=5`), 5)
      assertData(await service.fetch(`${path}?${name}=1`, 'ben'), null)
      for (const id of [1, 3, 6]) {
        assertRefused(await service.fetch(`${path}?${name}=${id}`, 'dee'), 403, 'owner_not_accessible')
      }
    }
    for (const query of ['ownerId=4&targetUserId=4', 'targetUserId=5&ownerId=me']) {
      assertRefused(await service.fetch(`${path}?${query}`, 'dee'), 400, 'invalid_parameter', {
        error: 'targetUserId must not be combined with ownerId',
        fieldErrors: [{ field: 'targetUserId', message: 'must not be combined with ownerId' }],
      })
    }
  })
}

test('the template of a session is not shown if its owner gave no access', async () => {
  await using service = await startService([
    ...people,
    lockTemplate(3, 3),
    lockSession(1, 4, { isActive: true }, { templateId: 3 }),
  ])
  for (const username of ['dee', 'eve']) {
    assertData(await service.fetch('/api/v1/lkbx/templates/active?ownerId=4', await service.token(username)), null)
  }
})
