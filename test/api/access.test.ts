// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTier } from '../../src/accounts/accounts.ts'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { assertRefused, idsOf, withoutRequest } from '../support/responses.ts'
import { mistaken, right, wrong } from '../support/parameters.ts'
import { oneForEachEndpoint, world } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const endpoints: readonly Endpoint[] = Object.values(api)

/** A valid request for each endpoint; if the path has an identifier, for Ann's record 1. */
const requests = endpoints.map(endpoint => ({ endpoint, path: endpoint.path.replace(':id', '1') }))

/** Every endpoint has a record of Ann's to return. Ben may read it, Cas may not. */
const annsWorld: readonly object[] = [...world, ...oneForEachEndpoint]

const start = () => startService(annsWorld, unlimited)

let service: TestService
before(async () => {
  service = await start()
})
after(() => service[Symbol.asyncDispose]())

test('Ann gets an answer from each endpoint of the contract', async () => {
  for (const { path } of requests) {
    const { status, body } = await service.fetch(path, 'ann')
    assert.equal(status, 200, path)
    assert.notEqual(body.data, null, path)
  }
})

// Credentials

test('no endpoint answers without an API key that works', async () => {
  for (const { path } of requests) {
    assertRefused(await service.fetch(path), 401, 'missing_token')
    assertRefused(await service.fetch(path, mintKey()), 401, 'invalid_token')
  }
})

test('the scheme is accepted in any case, and with several spaces after it', async () => {
  const token = await service.token('ann')
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER    ']) {
    const answer = await service.fetch('/api/v1/me', undefined, { Authorization: scheme + token })
    assert.equal(answer.status, 200, scheme)
  }
})

// Tier and scope

const past = Date.parse('2026-01-01T00:00:00Z')
const future = Date.parse('2100-01-01T00:00:00Z')

const tiers = [
  { title: 'with a tier until later', tier: 'ultra', until: future, entitled: true },
  { title: 'with the tier ultra', tier: 'ultra', until: null, entitled: true },
  { title: 'with the tier employee', tier: 'employee', until: null, entitled: true },
  { title: 'without a tier', tier: null, until: null, entitled: false },
  { title: 'with a tier that ended', tier: 'ultra', until: past, entitled: false },
  { title: 'without a tier and with an end in the future', tier: null, until: future, entitled: false },
] as const

test('an account reads everything with a tier that has not ended, and else nothing but /me', async () => {
  await using own = await start()
  for (const { title, tier, until, entitled } of tiers) {
    await setTier(own.store, 1, 'ultra', null)
    await own.store.db.deleteFrom('token').execute()
    const token = await own.token('ann')
    await setTier(own.store, 1, tier, until)
    for (const { endpoint, path } of requests) {
      const answer = await own.fetch(path, token)
      if (entitled || endpoint.path === '/api/v1/me') assert.equal(answer.status, 200, `${title}: ${path}`)
      else assertRefused(answer, 403, 'subscription_required')
    }
  }
})

test('only the account of the API key needs a tier, not the account whose records are read', async () => {
  await using own = await start()
  const ann = await own.token('ann')
  await setTier(own.store, 1, null, null)
  assertRefused(await own.fetch('/api/v1/dtt/sessions/1', ann), 403, 'subscription_required')
  assert.equal((await own.fetch('/api/v1/dtt/sessions/1', 'ben')).status, 200)
  assert.equal((await own.fetch('/api/v1/dtt/sessions/latest?ownerId=1', 'ben')).status, 200)
})

for (const scope of ['lkbx:read', 'dtt:read']) {
  test(`an API key with ${scope} alone reads what needs that scope or none`, async () => {
    const token = await service.token('ann', { scopes: [scope] })
    for (const { path } of requests) {
      const answer = await service.fetch(path, token)
      const [, , , area] = path.split('/')
      const needed = area === 'status' || area === 'lkbx' || area === 'dtt' ? `${area}:read` : undefined
      if (needed === undefined || needed === scope) {
        assert.equal(answer.status, 200, path)
        continue
      }
      assertRefused(answer, 403, 'insufficient_scope')
      const challenge = `Bearer realm="api", error="insufficient_scope", scope="${needed}"`
      assert.equal(answer.headers.get('WWW-Authenticate'), challenge)
    }
  })
}

test('an API key with status:read alone reads the status, statistics, itself and its account, and nothing else', async () => {
  const token = await service.token('ann', { scopes: ['status:read'] })
  const figures = ['/api/v1/status', '/api/v1/dtt/stats', '/api/v1/lkbx/stats', '/api/v1/me', '/api/v1/users/me']
  for (const { path } of requests) {
    const answer = await service.fetch(path, token)
    if (figures.includes(path)) assert.equal(answer.status, 200, path)
    else assertRefused(answer, 403, 'insufficient_scope')
  }
})

// Whose records

const owners = requests.flatMap(({ endpoint, path }) =>
  ['ownerId', 'targetUserId'].filter(name => name in endpoint.query).map(name => ({ path, name })),
)

test('naming a stranger, no account or an impossible identifier is refused with the same message', async () => {
  assert.ok(owners.length > 0)
  for (const { path, name } of owners) {
    assert.equal((await service.fetch(`${path}?${name}=1`, 'ben')).status, 200, path)
    const refusals = []
    for (const id of ['1', '4', '9007199254740993']) {
      const answer = await service.fetch(`${path}?${name}=${id}`, 'cas')
      assertRefused(answer, 403, 'owner_not_accessible')
      refusals.push(withoutRequest(answer))
    }
    for (const refusal of refusals) assert.deepEqual(refusal, refusals[0])
  }
})

const byId = endpoints.filter(({ path }) => path.endsWith('/:id')).map(({ path }) => path.slice(0, -'/:id'.length))

test("a stranger's record and one that does not exist get the same answer, apart from the request id", async () => {
  for (const path of byId) {
    const absent = await service.fetch(`${path}/4`, 'cas')
    assertRefused(absent, 404, 'not_found')
    for (const id of ['1', '9007199254740993']) {
      const answer = await service.fetch(`${path}/${id}`, 'cas')
      assert.deepEqual(withoutRequest(answer), withoutRequest(absent), `${path}/${id}`)
    }
  }
})

// Parameters

const parameters = requests.flatMap(({ endpoint, path }) =>
  Object.entries(endpoint.query).map(([name, { rule }]) => ({
    path,
    name,
    rule,
    value: name === 'include' && path.includes('/lkbx/') ? 'template' : right[name],
  })),
)

test('every parameter is accepted once', async () => {
  for (const { path, name, value } of parameters) {
    const { status, text } = await service.fetch(`${path}?${name}=${value}`, 'ann')
    assert.equal(status, 200, `${path} ${name} ${text}`)
  }
})

test('an unknown parameter is refused with the list of known ones, and is not repeated in the response', async () => {
  for (const { endpoint, path } of requests) {
    const known = Object.keys(endpoint.query)
    for (const name of ['zzz', ...Object.keys(right).filter(name => !known.includes(name))]) {
      const answer = await service.fetch(`${path}?${name}=1`, 'ann')
      assertRefused(answer, 400, 'unknown_parameter')
      const [error, ...others] = answer.body.fieldErrors as { field: string; message: string }[]
      assert.equal(error?.field, 'query')
      assert.equal(others.length, 0)
      for (const allowed of known) assert.ok(error?.message.includes(allowed), `${path} names ${allowed}`)
      if (name.length > 2) assert.ok(known.some(one => one.includes(name)) || !answer.text.includes(name), name)
    }
  }
})

test('every parameter refuses values outside its syntax or bounds, and clamps none', async () => {
  for (const { path, name, rule } of parameters) {
    for (const value of [wrong[name], ...(name in mistaken ? (mistaken[name] ?? []) : [])])
      assertRefused(await service.fetch(`${path}?${name}=${value}`, 'ann'), 400, 'invalid_parameter', {
        error: `${name} ${rule}`,
        fieldErrors: [{ field: name, message: rule }],
      })
  }
})

test('the largest limit and the largest offset are accepted', async () => {
  for (const { path, name } of parameters) {
    if (name !== 'offset') continue
    const answer = await service.fetch(`${path}?limit=100&offset=9007199254740991`, 'ann')
    assert.deepEqual(idsOf(answer), [], path)
    assert.deepEqual(answer.body.data.pagination, { limit: 100, offset: 9_007_199_254_740_991 })
  }
})
