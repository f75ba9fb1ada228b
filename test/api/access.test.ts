import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTier } from '../../src/accounts/accounts.ts'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { createToken, listTokens, mintToken, revokeToken } from '../../src/accounts/tokens.ts'
import { assertRefused, idsOf, withoutRequest } from '../support/answers.ts'
import {
  lockDevice,
  lockSession,
  lockTemplate,
  trainingDevice,
  trainingSession,
  trainingTemplate,
  world,
} from '../support/records.ts'
import { type Answer, startService, type TestService, unlimited } from '../support/service.ts'

const endpoints: readonly Endpoint[] = Object.values(api)

/** A well-formed request for each endpoint; where the path has an identifier, for Ann's record 1. */
const requests = endpoints.map(endpoint => ({ endpoint, path: endpoint.path.replace(':id', '1') }))

/** Every endpoint has something of Ann's to answer with. Ben may read it, Cas may not. */
const annsWorld: readonly object[] = [
  ...world,
  lockTemplate(1, 1),
  lockSession(1, 1, { isActive: true }, { templateId: 1 }),
  trainingTemplate(1, 1, { isActive: true }),
  trainingSession(1, 1),
  lockDevice(1, 1),
  trainingDevice(1, 1),
]

const start = (lines: readonly object[] = annsWorld) => startService(lines, unlimited)

test('the API has the endpoints of the contract, and Ann gets an answer from each', async () => {
  assert.deepEqual(
    requests.map(({ path }) => path),
    [
      '/api/v1/lkbx/templates',
      '/api/v1/lkbx/templates/active',
      '/api/v1/lkbx/templates/1',
      '/api/v1/lkbx/sessions',
      '/api/v1/lkbx/sessions/latest',
      '/api/v1/lkbx/sessions/1',
      '/api/v1/lkbx/session/current',
      '/api/v1/dtt/templates',
      '/api/v1/dtt/templates/active',
      '/api/v1/dtt/templates/1',
      '/api/v1/dtt/sessions',
      '/api/v1/dtt/sessions/latest',
      '/api/v1/dtt/sessions/1',
      '/api/v1/lkbx',
      '/api/v1/lkbx/1',
      '/api/v1/dtt',
      '/api/v1/dtt/1',
      '/api/v1/users',
      '/api/v1/users/1',
      '/api/v1/me',
    ],
  )
  await using service = await start()
  const token = await service.token('ann')
  for (const { path } of requests) {
    const { status, body } = await service.fetch(path, token)
    assert.equal(status, 200, path)
    assert.notEqual(body.data, null, path)
  }
})

// Credentials

const sent = (value: string) => `error="invalid_token", error_description="${value}"`

/** What a client sends as Authorization, given a token that works. */
const credentials: readonly {
  title: string
  header: (token: string, service: TestService) => string | undefined | Promise<string>
  code: string
  error: string
  challenge?: string
}[] = [
  ...[undefined, '', 'Bearer', 'Basic YW5uOmFubg==', 'Token abc'].map(value => ({
    title: value === undefined ? 'no header' : `the header "${value}"`,
    header: () => value,
    code: 'missing_token',
    error: 'Missing or invalid Authorization header',
  })),
  {
    title: 'the token without a scheme',
    header: token => token,
    code: 'missing_token',
    error: 'Missing or invalid Authorization header',
  },
  ...[
    { title: 'a token nobody has', header: () => `Bearer ${mintToken()}` },
    { title: 'a value that is no token', header: () => 'Bearer secret' },
    { title: 'a token with a wrong checksum', header: (token: string) => `Bearer ${wrongChecksum(token)}` },
    { title: 'a token with more behind it', header: (token: string) => `Bearer ${token} ${token}` },
    { title: 'a token cut short', header: (token: string) => `Bearer ${token.slice(0, -1)}` },
    { title: 'a token in capitals', header: (token: string) => `Bearer ${token.toUpperCase()}` },
  ].map(row => ({ ...row, code: 'invalid_token', error: 'Invalid token', challenge: sent('Invalid token') })),
  {
    title: 'a token that was revoked',
    header: async (_, service) => `Bearer ${await revokedToken(service)}`,
    code: 'token_revoked',
    error: 'Token has been revoked',
    challenge: sent('Token has been revoked'),
  },
  {
    title: 'a token that has expired',
    header: async (_, service) => `Bearer ${await expiredToken(service)}`,
    code: 'token_expired',
    error: 'Token has expired',
    challenge: sent('Token has expired'),
  },
]

for (const { title, header, code, error, challenge } of credentials) {
  test(`every endpoint answers ${title} with ${code}`, async () => {
    await using service = await start()
    const value = await header(await service.token('ann'), service)
    for (const { path } of requests) {
      const answer = await service.fetch(path, undefined, value === undefined ? {} : { Authorization: value })
      assertRefused(answer, 401, code, { error })
      const expected = challenge === undefined ? 'Bearer realm="api"' : `Bearer realm="api", ${challenge}`
      assert.equal(answer.headers.get('WWW-Authenticate'), expected)
    }
  })
}

test('the scheme counts in any case, and so do several spaces behind it', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER    ']) {
    const answer = await service.fetch('/api/v1/me', undefined, { Authorization: scheme + token })
    assert.equal(answer.status, 200, scheme)
  }
})

test('a token in the URL is refused, also beside one in the header that works', async () => {
  await using service = await start()
  const token = await service.token('ann')
  const queries = ['access_token=1', 'api_key=1', 'token=1', `limit=${token}`, `q=${token}`, `access%5Ftoken=${token}`]
  for (const { path } of requests) {
    for (const query of queries) {
      for (const header of [token, undefined]) {
        const answer = await service.fetch(`${path}?${query}`, header)
        assertRefused(answer, 400, 'invalid_request')
        assert.match(answer.headers.get('WWW-Authenticate') ?? '', /^Bearer realm="api", error="invalid_request", /)
        assert.ok(!answer.text.includes(token))
      }
    }
  }
})

test('a checksum is verified before anything is looked up, and credentials cost one look-up at most', async () => {
  await using service = await start()
  const token = await service.token('ann')
  const lookUps = countReads(service)
  const cost = async (path: string, sent?: string) => {
    const before = lookUps.count
    await service.fetch(path, sent)
    return lookUps.count - before
  }
  for (const { path } of requests) {
    assert.equal(await cost(path), 0, 'no token')
    assert.equal(await cost(path, wrongChecksum(token)), 0, 'wrong checksum')
    assert.equal(await cost(path, mintToken()), 1, 'unknown token')
    assert.ok((await cost(`${path}?nope=1`, token)) <= 1, 'unknown parameter')
  }
})

// Tier and scope

const past = Date.parse('2026-01-01T00:00:00Z')
const future = Date.parse('2100-01-01T00:00:00Z')

const tiers = [
  { title: 'without a tier', tier: null, until: null, entitled: false },
  { title: 'with a tier that ended', tier: 'ultra', until: past, entitled: false },
  { title: 'without a tier and with an end in the future', tier: null, until: future, entitled: false },
  { title: 'with a tier until later', tier: 'ultra', until: future, entitled: true },
  { title: 'with the tier ultra', tier: 'ultra', until: null, entitled: true },
  { title: 'with the tier pioneer', tier: 'pioneer', until: null, entitled: true },
  { title: 'with the tier founder', tier: 'founder', until: null, entitled: true },
  { title: 'with the tier employee', tier: 'employee', until: null, entitled: true },
] as const

for (const { title, tier, until, entitled } of tiers) {
  test(`an account ${title} ${entitled ? 'reads everything' : 'reads nothing but /me'}`, async () => {
    await using service = await start()
    const token = await service.token('ann')
    await setTier(service.store, 1, tier, until)
    for (const { endpoint, path } of requests) {
      const answer = await service.fetch(path, token)
      if (entitled || endpoint.path === '/api/v1/me') assert.equal(answer.status, 200, path)
      else assertRefused(answer, 403, 'subscription_required')
    }
  })
}

test('only the account of the token needs a tier, not the account whose records are read', async () => {
  await using service = await start()
  const [ann, ben] = [await service.token('ann'), await service.token('ben')]
  await setTier(service.store, 1, null, null)
  assertRefused(await service.fetch('/api/v1/dtt/sessions/1', ann), 403, 'subscription_required')
  assert.equal((await service.fetch('/api/v1/dtt/sessions/1', ben)).status, 200)
  assert.equal((await service.fetch('/api/v1/dtt/sessions/latest?ownerId=1', ben)).status, 200)
})

for (const scope of ['lkbx:read', 'dtt:read']) {
  test(`a token with ${scope} alone reads what that scope is for, and what needs none`, async () => {
    await using service = await start()
    const token = await service.token('ann', { scopes: [scope] })
    for (const { path } of requests) {
      const answer = await service.fetch(path, token)
      const [, , , area] = path.split('/')
      const needed = area === 'lkbx' || area === 'dtt' ? `${area}:read` : undefined
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

// Whose records

const owners = requests.flatMap(({ endpoint, path }) =>
  ['ownerId', 'targetUserId'].filter(name => name in endpoint.query).map(name => ({ path, name })),
)

test('naming a stranger, nobody or an account nobody can have is refused in the same words', async () => {
  await using service = await start()
  const [ben, cas] = [await service.token('ben'), await service.token('cas')]
  assert.equal(owners.length, 9)
  for (const { path, name } of owners) {
    assert.equal((await service.fetch(`${path}?${name}=1`, ben)).status, 200, path)
    const refusals = []
    for (const id of ['1', '2', '4', '9007199254740991', '9007199254740993', `1${'0'.repeat(400)}`]) {
      const answer = await service.fetch(`${path}?${name}=${id}`, cas)
      assertRefused(answer, 403, 'owner_not_accessible')
      refusals.push(withoutRequest(answer))
    }
    for (const refusal of refusals) assert.deepEqual(refusal, refusals[0])
  }
})

const notIdentifiers = ['0', '-1', '+1', '01', '1.0', '5.0', '1e0', '0x1', '%201', '1%20', '1_0', '%D9%A1', 'me', '1,2']

test('an account that is no identifier is an invalid parameter, not somebody out of reach', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const { path, name } of owners) {
    for (const id of [...notIdentifiers, '']) {
      assertRefused(await service.fetch(`${path}?${name}=${id}`, token), 400, 'invalid_parameter', {
        error: `${name} must be an integer of 1 or more`,
        fieldErrors: [{ field: name, message: 'must be an integer of 1 or more' }],
      })
    }
  }
})

const byId = endpoints.filter(({ path }) => path.endsWith('/:id')).map(({ path }) => path.slice(0, -'/:id'.length))

test('a segment in the place of an identifier that is none is an invalid parameter', async () => {
  await using service = await start()
  const token = await service.token('ann')
  assert.equal(byId.length, 7)
  for (const path of byId) {
    for (const id of [...notIdentifiers, 'LATEST', 'Active', '5%2F6', '1;v=2', ':id']) {
      assertRefused(await service.fetch(`${path}/${id}`, token), 400, 'invalid_parameter', {
        error: 'id must be an integer of 1 or more',
        fieldErrors: [{ field: 'id', message: 'must be an integer of 1 or more' }],
      })
    }
  }
})

test("a stranger's record and one that does not exist get the same answer, apart from the request id", async () => {
  await using service = await start()
  const cas = await service.token('cas')
  for (const path of byId) {
    const absent = await service.fetch(`${path}/4`, cas)
    assertRefused(absent, 404, 'not_found')
    for (const id of ['1', '9007199254740991', '9007199254740993', `1${'0'.repeat(400)}`]) {
      const answer = await service.fetch(`${path}/${id}`, cas)
      assert.deepEqual(withoutRequest(answer), withoutRequest(absent), `${path}/${id}`)
    }
  }
})

// Parameters

/** A value that is right for each parameter. */
const right: Readonly<Record<string, string>> = {
  limit: '1',
  offset: '0',
  cursor: '',
  ownerId: '1',
  targetUserId: '1',
  from: '2026-01-01',
  to: '2026-12-31',
  passed: 'true',
  lockState: 'locked',
  include: 'owner',
}

const parameters = requests.flatMap(({ endpoint, path }) => Object.keys(endpoint.query).map(name => ({ path, name })))

test('every parameter is accepted once', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const { path, name } of parameters) {
    const { status, text } = await service.fetch(`${path}?${name}=${right[name]}`, token)
    assert.equal(status, 200, `${path} ${name} ${text}`)
  }
})

test('a parameter that is given twice is refused, with equal values too', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const { path, name } of parameters) {
    const answer = await service.fetch(`${path}?${name}=${right[name]}&${name}=${right[name]}`, token)
    assertRefused(answer, 400, 'repeated_parameter', {
      error: `${name} must not be given more than once`,
      fieldErrors: [{ field: name, message: 'must not be given more than once' }],
    })
  }
})

test('a name that is not known at an endpoint is refused with the names that are, and is not repeated', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const { endpoint, path } of requests) {
    const known = Object.keys(endpoint.query)
    const names = ['zzz', 'LIMIT', 'limit[]', 'Include', '__proto__', 'constructor', 'id', '%20limit', '']
    for (const name of [...names, ...Object.keys(right).filter(name => !known.includes(name))]) {
      const answer = await service.fetch(`${path}?${name}=1`, token)
      assertRefused(answer, 400, 'unknown_parameter')
      const [error, ...others] = answer.body.fieldErrors as { field: string; message: string }[]
      assert.equal(error?.field, 'query')
      assert.equal(others.length, 0)
      for (const allowed of known) assert.ok(error?.message.includes(allowed), `${path} names ${allowed}`)
      if (name.length > 2) assert.ok(known.some(one => one.includes(name)) || !answer.text.includes(name), name)
    }
  }
})

const outOfBounds: Readonly<Record<string, readonly string[]>> = {
  limit: ['0', '101', '-1', '', '1.5', '1e1', '0x10', '010', '+1', '%201', '%D9%A1', 'all', '9007199254740993'],
  offset: ['-1', '', '1.5', '1e1', '0x10', '00', '+1', '9007199254740992', '9007199254740993', 'Infinity'],
}
const bounds = { limit: 'must be an integer from 1 to 100', offset: 'must be an integer from 0 to 9007199254740991' }

test('a limit or an offset out of bounds is refused, never clamped', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const { path, name } of parameters) {
    for (const value of outOfBounds[name] ?? []) {
      const message = bounds[name as keyof typeof bounds]
      assertRefused(await service.fetch(`${path}?${name}=${value}`, token), 400, 'invalid_parameter', {
        error: `${name} ${message}`,
        fieldErrors: [{ field: name, message }],
      })
    }
  }
})

test('the greatest limit and the greatest offset are accepted', async () => {
  await using service = await start()
  const token = await service.token('ann')
  for (const { path, name } of parameters) {
    if (name !== 'offset') continue
    const answer = await service.fetch(`${path}?limit=100&offset=9007199254740991`, token)
    assert.deepEqual(idsOf(answer), [], path)
    assert.deepEqual(answer.body.data.pagination, { limit: 100, offset: 9_007_199_254_740_991 })
  }
})

test('all that is wrong with the parameters is told at once, and the worst of it is the code', async () => {
  await using service = await start()
  const token = await service.token('ann')
  const fieldsOf = (answer: Answer) =>
    (answer.body.fieldErrors as { field: string }[]).map(({ field }) => field).toSorted()
  const path = '/api/v1/dtt/sessions'
  const all = await service.fetch(`${path}?limit=0&ownerId=x&passed=1&offset=1&offset=2&zzz=1`, token)
  assertRefused(all, 400, 'unknown_parameter')
  assert.deepEqual(fieldsOf(all), ['limit', 'offset', 'ownerId', 'passed', 'query'])
  const known = await service.fetch(`${path}?limit=0&offset=1&offset=2`, token)
  assertRefused(known, 400, 'repeated_parameter')
  assert.deepEqual(fieldsOf(known), ['limit', 'offset'])
  const id = await service.fetch(`${path}/LATEST?include=no`, token)
  assertRefused(id, 400, 'invalid_parameter')
  assert.deepEqual(fieldsOf(id), ['id', 'include'])
})

test('who asks is judged before what is asked, and what is asked before whose it is', async () => {
  await using service = await start()
  const path = '/api/v1/dtt/sessions'
  const wrong = `${path}?limit=0&ownerId=1`
  const dtt = await service.token('cas')
  const lkbx = await service.token('cas', { scopes: ['lkbx:read'] })
  assertRefused(await service.fetch(wrong), 401, 'missing_token')
  assertRefused(await service.fetch(wrong, lkbx), 403, 'insufficient_scope')
  assertRefused(await service.fetch(wrong, dtt), 400, 'invalid_parameter')
  assertRefused(await service.fetch(`${path}?ownerId=1`, dtt), 403, 'owner_not_accessible')
  const late = await service.token('cas', { scopes: ['lkbx:read'] })
  await setTier(service.store, 3, null, null)
  assertRefused(await service.fetch(wrong, late), 403, 'subscription_required')
  assertRefused(await service.fetch(`${path}/x/y`, late), 404, 'no_route')
})

// HEAD

test('HEAD answers with the headers of GET and without a body, whatever the answer is', async () => {
  await using service = await start()
  const [ann, cas] = [await service.token('ann'), await service.token('cas')]
  for (const { path } of requests) {
    for (const [suffix, token] of [
      ['', ann],
      ['', cas],
      ['', undefined],
      ['?zzz=1', ann],
    ] as const) {
      const get = withoutRequest(await service.fetch(path + suffix, token))
      const head = await fetch(service.url + path + suffix, {
        method: 'HEAD',
        headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      })
      const bare = withoutRequest({ ...head, status: head.status, headers: head.headers, text: '', body: undefined })
      assert.equal(await head.text(), '')
      assert.deepEqual(bare, { ...get, text: '' }, path + suffix)
      assert.ok(head.headers.has('Content-Length'))
    }
  }
})

/** The token with another last character, which is part of the checksum. */
function wrongChecksum(token: string): string {
  return token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
}

async function revokedToken(service: TestService): Promise<string> {
  const token = await service.token('ben')
  const ids = (await listTokens(service.store, 2)).map(({ id }) => id)
  await revokeToken(service.store, Math.max(...ids), Date.now())
  return token
}

function expiredToken({ store }: TestService): Promise<string> {
  const request = { accountId: 1, name: 'old', scopes: ['lkbx:read', 'dtt:read'], expiresAt: 2000 }
  return createToken(store, request, 1000)
}

function countReads({ store }: TestService) {
  const counted = { count: 0 }
  const { read } = store
  Object.assign(store, {
    read: (...given: Parameters<typeof read>) => {
      counted.count += 1
      return read(...given)
    },
  })
  return counted
}
