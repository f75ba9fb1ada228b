import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setTier } from '../../src/accounts/accounts.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { endAccess } from '../../src/accounts/shared-access.ts'
import { listKeys, revokeKey } from '../../src/accounts/api-keys.ts'
import { giveAccess } from '../support/sharing.ts'
import { assertRefused, idsOf } from '../support/responses.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { within } from '../support/waiting.ts'

/** Each test waits most of its time, so they wait together. */
const together = { concurrency: true }

const start = () => startService([...world, trainingSession(1, 1)], unlimited)

const session = '/api/v1/dtt/sessions/1'

/** Ben reads Ann's session; what happens to Ben, and what he gets then. */
const changes: readonly {
  title: string
  change: (service: TestService, token: string) => Promise<void>
  refused: readonly [status: number, code: string]
}[] = [
  {
    title: 'a token that is revoked',
    change: async ({ store }) => {
      for (const { id } of await listKeys(store, 2)) await revokeKey(store, { id }, Date.now())
    },
    refused: [401, 'token_revoked'],
  },
  {
    title: 'a token whose account loses its tier',
    change: ({ store }) => setTier(store, 2, null, null),
    refused: [403, 'subscription_required'],
  },
  {
    title: 'a token whose account has a tier that ends',
    change: ({ store }) => setTier(store, 2, 'ultra', Date.now() + 200),
    refused: [403, 'subscription_required'],
  },
  {
    title: 'a token whose account is removed',
    change: ({ store }) => removeAccount(store, 2, Date.now()),
    refused: [401, 'invalid_token'],
  },
  {
    title: "a partner's record once the partner is removed",
    change: ({ store }) => removeAccount(store, 1, Date.now()),
    refused: [404, 'not_found'],
  },
]

void suite('what a token grants follows the store', together, () => {
  for (const { title, change, refused } of changes) {
    test(`within a second and in every process, ${title} is refused`, async () => {
      await using one = await start()
      await using other = await startService([], unlimited, one)
      const token = await one.token('ben')
      for (const service of [one, other]) assert.equal((await service.fetch(session, token)).status, 200)
      await change(one, token)
      for (const service of [other, one]) {
        await within(1000, async () => (await service.fetch(session, token)).status !== 200)
        assertRefused(await service.fetch(session, token), ...refused)
      }
    })
  }

  test('an API key works until the moment it expires', async () => {
    await using service = await start()
    // On a slow machine a token may have expired before it is first used.
    let uses = 0
    for (let lifeMs = 2000; uses === 0; lifeMs *= 2) uses = await useUntilExpired(service, lifeMs)
  })

  test('ending access hides the records and owner from lists, and giving it again shows them', async () => {
    await using one = await start()
    await using other = await startService([], unlimited, one)
    const token = await one.token('ben')
    const list = '/api/v1/dtt/sessions'
    const seen = async () => {
      const { status } = await other.fetch(`${list}?ownerId=1`, token)
      return [idsOf(await other.fetch(list, token)), idsOf(await other.fetch('/api/v1/users', token)), status]
    }
    assert.deepEqual(await seen(), [[1], [1, 2], 200])
    await endAccess(one.store, { ownerId: 1, partnerId: 2 }, Date.now())
    await within(1000, async () => (await other.fetch(session, token)).status === 404)
    assert.deepEqual(await seen(), [[], [2], 403])
    await giveAccess(one.store, { ownerId: 1, partnerId: 2 })
    await within(1000, async () => (await other.fetch(session, token)).status === 200)
    assert.deepEqual(await seen(), [[1], [1, 2], 200])
  })

  test('an API key works again when the account has a tier again', async () => {
    await using service = await start()
    const token = await service.token('ann')
    await setTier(service.store, 1, null, null)
    assertRefused(await service.fetch(session, token), 403, 'subscription_required')
    await setTier(service.store, 1, 'pioneer', null)
    await within(1000, async () => (await service.fetch(session, token)).status === 200)
  })
})

/** Sends requests with a token of this lifetime until it is refused. Returns how many succeeded. */
async function useUntilExpired(service: TestService, lifeMs: number): Promise<number> {
  const expiresAt = Date.now() + lifeMs
  const token = await service.token('ann', { expiresAt })
  for (let uses = 0; ; uses += 1) {
    const asked = Date.now()
    const answer = await service.fetch(session, token)
    if (answer.status !== 200) {
      assert.ok(Date.now() >= expiresAt, 'it was refused too early')
      assertRefused(answer, 401, 'token_expired')
      return uses
    }
    assert.ok(asked < expiresAt, 'it worked too long')
    await sleep(20)
  }
}
