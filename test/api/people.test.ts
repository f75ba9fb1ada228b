// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTier } from '../../src/accounts/accounts.ts'
import { assertData, assertRefused, backwards, idsOf } from '../support/responses.ts'
import { account, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { people } from '../support/sharing.ts'

const ann = {
  id: 1,
  username: 'ann',
  accountType: 'admin',
  subscriptionTier: 'founder',
  league: 2,
  rank: 3,
  totalPoints: 400,
  matchPoints: 50,
  profileImage: 'https://images.example/ann.png',
  profileDescription: 'Says “hello”',
  profileTitle: null,
}
const ends = { subscriptionEndsAt: '2099-12-31T23:59:59Z' }
const everything = {
  kind: 'account',
  data: backwards({ ...ann, subscriptionEndsAt: '2100-01-01T00:59:59+01:00', madeUpField: 1 }),
}

test('people see themselves, and everybody with access in either direction, once each', async () => {
  await using service = await startService(people)
  // Ann lets Ben read her records; Dee and Eve let each other.
  const seen = { ann: [1, 2], ben: [1, 2], cas: [3], dee: [4, 5], eve: [4, 5] }
  for (const [username, ids] of Object.entries(seen)) {
    const token = await service.token(username)
    assert.deepEqual(idsOf(await service.fetch('/api/v1/users', token)), ids, username)
    for (const id of [1, 2, 3, 4, 5, 6]) {
      const answer = await service.fetch(`/api/v1/users/${id}`, token)
      if (ids.includes(id)) assert.equal(answer.body.data.id, id)
      else assertRefused(answer, 404, 'not_found', { error: 'User not found' })
    }
  }
})

test('/users/me is the caller as a person, with the fields of the contract in their order, whatever the scope', async () => {
  await using service = await startService([everything, account(2, 'ben')])
  for (const scope of ['lkbx:read', 'dtt:read']) {
    const token = await service.token('ann', { scopes: [scope] })
    const me = await service.fetch('/api/v1/users/me', token)
    assertData(me, ann)
    assertData(await service.fetch('/api/v1/users', token), { data: [ann], pagination: { limit: 50, offset: 0 } })
    assert.equal(me.headers.get('ETag'), (await service.fetch('/api/v1/users/1', token)).headers.get('ETag'))
  }
  assert.equal((await service.fetch('/api/v1/users/me', 'ben')).body.data.id, 2)
})

test('an account type grants nothing', async () => {
  await using service = await startService([...people, account(6, 'root', { accountType: 'superadmin' })])
  assert.deepEqual(idsOf(await service.fetch('/api/v1/users', 'root')), [6])
  assertRefused(await service.fetch('/api/v1/users/1', 'root'), 404, 'not_found')
  assertRefused(await service.fetch('/api/v1/lkbx/templates?ownerId=1', 'root'), 403, 'owner_not_accessible')
})

test('people other than the caller are shown only to an API key with shared:access, whatever its area', async () => {
  await using service = await startService(world)
  for (const scope of ['lkbx:read', 'dtt:read']) {
    const token = await service.token('ann', { scopes: [scope, 'shared:access'] })
    assert.deepEqual(idsOf(await service.fetch('/api/v1/users', token)), [1, 2])
    assert.equal((await service.fetch('/api/v1/users/2', token)).status, 200)
    const alone = await service.token('ann', { scopes: [scope] })
    assert.deepEqual(idsOf(await service.fetch('/api/v1/users', alone)), [1])
    assertRefused(await service.fetch('/api/v1/users/2', alone), 404, 'not_found')
  }
})

test('/me returns the account and the API key in use, with their fields in order', async () => {
  await using service = await startService([everything])
  const expiresAt = Date.now() + 86_400_000
  const token = await service.token('ann', { name: 'Heizung “α”', expiresAt })
  const answer = await service.fetch('/api/v1/me', token)
  const { id, createdAt } = answer.body.data.token
  assertData(answer, {
    account: { ...ann, ...ends },
    token: {
      id,
      name: 'Heizung “α”',
      last4: token.slice(-4),
      scopes: ['lkbx:read', 'dtt:read', 'shared:access'],
      createdAt,
      expiresAt: new Date(expiresAt).toISOString().replace('.000Z', 'Z'),
      lastUsedAt: null,
    },
  })
  const [stored] = await service.store.db.selectFrom('token').selectAll().execute()
  assert.equal(id, stored?.id)
  assert.equal(Date.parse(createdAt), stored?.created_at)
})

test('/me responds without a subscription, and says when it ended', async () => {
  await using service = await startService(world)
  const token = await service.token('ann')
  await setTier(service.store, 1, null, null)
  const none = await service.fetch('/api/v1/me', token)
  assert.deepEqual([none.body.data.account.subscriptionTier, none.body.data.account.subscriptionEndsAt], [null, null])
  await setTier(service.store, 1, 'ultra', Date.parse('2026-01-01T00:00:00Z'))
  const { account: ended } = (await service.fetch('/api/v1/me', token)).body.data
  assert.deepEqual([ended.subscriptionTier, ended.subscriptionEndsAt], ['ultra', '2026-01-01T00:00:00Z'])
})

test('no response contains the API key or its hash', async () => {
  await using service = await startService(world)
  const token = await service.token('ann')
  const [stored] = await service.store.db.selectFrom('token').select('hash').execute()
  for (const path of ['/api/v1/me', '/api/v1/users', '/api/v1/users/1', '/api/v1/me?token=no', '/api/v1/me?limit=1']) {
    const { text, headers } = await service.fetch(path, token)
    const whole = text + JSON.stringify([...headers])
    // The last four characters are shown, so what precedes them must not be.
    assert.ok(!whole.includes(token.slice(0, -4)) && !whole.includes(token.slice(4, -4)), path)
    assert.ok(stored !== undefined && !whole.includes(stored.hash), path)
  }
})
