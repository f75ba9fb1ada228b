import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccessTerms } from '../../src/accounts/access.ts'
import { type AccessPair, addAccess } from '../../src/accounts/shared-access.ts'
import type { Store } from '../../src/store/index.ts'
import { account, partnership } from './records.ts'
import { assertRefused, idsOf } from './responses.ts'
import { startService, unlimited } from './service.ts'

/** Ann gives Ben access. Dee and Eve give each other access. Cas is a stranger to all of them. */
export const people: readonly object[] = [
  account(1, 'ann'),
  account(2, 'ben'),
  account(3, 'cas'),
  account(4, 'dee'),
  account(5, 'eve'),
  partnership(1, 2),
  partnership(4, 5),
  partnership(5, 4),
]

const owners = [1, 2, 3, 4, 5]

/** Whose records each of them reads: their own, and those of owners who gave them access. */
const readable: Readonly<Record<string, readonly number[]>> = {
  ann: [1],
  ben: [1, 2],
  cas: [3],
  dee: [4, 5],
  eve: [4, 5],
}

interface Shared {
  /** The path of the list; below it is each record by its identifier. */
  readonly path: string
  /** The name of the resource in a 404. */
  readonly resourceName: string
  readonly record: (id: number, ownerId: number) => object
  /** Whether the list without `ownerId` has the records of all readable accounts, or only the caller's own. */
  readonly isMixed?: boolean
}

/** Registers the tests of who sees a record, which are the same for every kind. */
export function testSharing({ path, resourceName, record, isMixed = true }: Shared) {
  const name = resourceName.toLowerCase()
  const lines = [...people, ...owners.map(owner => record(owner * 11, owner))]

  test(`a ${name} is read by its owner and the owner's partners; to everybody else it does not exist`, async () => {
    await using service = await startService(lines, unlimited)
    for (const [username, owned] of Object.entries(readable)) {
      const token = await service.token(username)
      for (const owner of owners) {
        const answer = await service.fetch(`${path}/${owner * 11}`, token)
        if (owned.includes(owner)) assert.equal(answer.body.data?.id, owner * 11, `${username} reads ${owner}`)
        else assertRefused(answer, 404, 'not_found', { error: `${resourceName} not found` })
      }
      assertRefused(await service.fetch(`${path}/1`, token), 404, 'not_found', { error: `${resourceName} not found` })
    }
  })

  const listed = isMixed ? "the caller's own and those of the accounts that gave access" : "the caller's own alone"
  test(`a list of ${name}s has ${listed}`, async () => {
    await using service = await startService(lines, unlimited)
    for (const [index, [username, owned]] of Object.entries(readable).entries()) {
      const ids = idsOf(await service.fetch(path, await service.token(username)))
      assert.deepEqual(
        ids.toSorted((a, b) => a - b),
        (isMixed ? owned : [index + 1]).map(owner => owner * 11),
        username,
      )
    }
  })

  test(`ownerId, targetUserId and me narrow a list of ${name}s to one account, and refuse an account that gave no access`, async () => {
    await using service = await startService(lines, unlimited)
    for (const [index, [username, owned]] of Object.entries(readable).entries()) {
      const token = await service.token(username)
      for (const name of ['ownerId', 'targetUserId']) {
        assert.deepEqual(idsOf(await service.fetch(`${path}?${name}=me`, token)), [(index + 1) * 11], username)
        for (const owner of [...owners, 6]) {
          const answer = await service.fetch(`${path}?${name}=${owner}`, token)
          if (owned.includes(owner)) assert.deepEqual(idsOf(answer), [owner * 11])
          else assertRefused(answer, 403, 'owner_not_accessible')
        }
      }
      assertRefused(await service.fetch(`${path}?ownerId=me&targetUserId=me`, token), 400, 'invalid_parameter', {
        fieldErrors: [{ field: 'targetUserId', message: 'must not be combined with ownerId' }],
      })
    }
  })
}

/** Access to everything, without an end. */
export const FULL_ACCESS: AccessTerms = { areas: ['lkbx', 'dtt'], recordsFrom: null, until: null }

/** Gives access as `lockstep access add --again` does: to everything and without an end, unless a test says otherwise. */
export function giveAccess(store: Store, pair: AccessPair, terms: Partial<AccessTerms> = {}, now = Date.now()) {
  return addAccess(store, { ...pair, ...FULL_ACCESS, ...terms, again: true }, now)
}
