// engine: any
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ErrorCode, errors } from '../../src/contract/errors.ts'
import type { Store } from '../../src/store/index.ts'
import { revokeKey } from '../../src/accounts/api-keys.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { type SecondServer, startSecondServer } from '../support/second-server.ts'
import { account, trainingSession, world } from '../support/records.ts'
import { exchange } from '../support/raw.ts'
import { bearer, request } from '../support/requests.ts'
import { startService, type TestService } from '../support/service.ts'

/** A request that mistakes are added to. */
interface Draft {
  method: string
  version: string
  host: string
  path: string
  query: string[]
  headers: string[]
  /** What is sent instead of a token that is right. */
  authorization: string[] | undefined
  /** What is wrong with the rights of the token that is sent. */
  rights: Set<'spent' | 'free' | 'narrow'>
}

interface Step {
  readonly code: ErrorCode | 'not_modified' | 'ok'
  /** The part of the draft that it changes: two mistakes in the same part cannot be combined. */
  readonly changes: string
  readonly spoil: (draft: Draft) => void
}

const step = (code: Step['code'], changes: string, spoil: Step['spoil']): Step => ({ code, changes, spoil })

/** Every decision, in the order in which they are made. */
const steps: readonly Step[] = [
  step('malformed_request', 'line', draft => draft.headers.push('no header')),
  step('headers_too_large', 'size', draft => draft.headers.push(`X-Long: ${'a'.repeat(17_000)}`)),
  step('malformed_url', 'path', draft => (draft.path = '/api/v1/%')),
  step('misdirected_request', 'host', draft => (draft.host = 'elsewhere')),
  step('no_route', 'path', draft => (draft.path = '/api/v1/nothing')),
  step('method_not_allowed', 'method', draft => (draft.method = 'DELETE')),
  step('malformed_url', 'url', draft => draft.query.push('%')),
  step('invalid_request', 'url token', draft => draft.query.push(`token=${tokens.good}`)),
  step('missing_token', 'token', draft => (draft.authorization = [])),
  step('invalid_token', 'token', draft => (draft.authorization = ['Authorization: Bearer x'])),
  step('invalid_token', 'token', draft => (draft.authorization = [bearer(mintKey())])),
  step('token_revoked', 'token', draft => (draft.authorization = [bearer(tokens.revoked)])),
  step('token_expired', 'token', draft => (draft.authorization = [bearer(tokens.expired)])),
  step('rate_limited', 'rate', draft => draft.rights.add('spent')),
  step('subscription_required', 'tier', draft => draft.rights.add('free')),
  step('insufficient_scope', 'scope', draft => draft.rights.add('narrow')),
  step('unknown_parameter', 'unknown', draft => draft.query.push('unknown=1')),
  step('repeated_parameter', 'repeated', draft => draft.query.push('include=owner', 'include=owner')),
  step('invalid_parameter', 'path', draft => (draft.path = '/api/v1/dtt/sessions/x')),
  step('owner_not_accessible', 'path', draft => {
    draft.path = '/api/v1/dtt/sessions'
    draft.query.push('ownerId=3')
  }),
  step('not_found', 'path', draft => (draft.path = '/api/v1/dtt/sessions/99')),
  step('not_modified', 'validator', draft => draft.headers.push('If-None-Match: *')),
]

const settings = { LOCKSTEP_ALLOWED_HOSTS: 'a', LOCKSTEP_FAILURE_LIMIT: '0', LOCKSTEP_OVERLOAD_LAG: '0' }

let service: TestService
let roomy: SecondServer
/** Which allows one request in a minute. */
let strict: SecondServer
let tokens: Record<'good' | 'narrow' | 'free' | 'free narrow' | 'revoked' | 'expired', string>

before(async () => {
  service = await startService([...world, account(4, 'flo'), trainingSession(5, 1), trainingSession(6, 4)])
  const { db } = service.store
  const narrow = { scopes: ['lkbx:read'] }
  tokens = {
    good: await service.token('ann'),
    narrow: await service.token('ann', narrow),
    free: await service.token('flo'),
    'free narrow': await service.token('flo', narrow),
    revoked: await service.token('ann', { name: 'revoked' }),
    expired: await service.token('ann', { name: 'expired' }),
  }
  const { id } = await db.selectFrom('token').select('id').where('name', '=', 'revoked').executeTakeFirstOrThrow()
  await revokeKey(service.store, { id }, Date.now())
  await db.updateTable('token').set({ expires_at: 1 }).where('name', '=', 'expired').execute()
  await db.updateTable('account').set({ subscription_tier: null }).where('username', '=', 'flo').execute()
  roomy = await startSecondServer(service, { ...settings, LOCKSTEP_RATE_LIMIT: '0' })
  strict = await startSecondServer(service, { ...settings, LOCKSTEP_RATE_LIMIT: '1' })
})
after(async () => {
  await strict[Symbol.asyncDispose]()
  await roomy[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

function draft(): Draft {
  return {
    method: 'GET',
    version: 'HTTP/1.1',
    host: 'a',
    path: '/api/v1/dtt/sessions/5',
    query: [],
    headers: [],
    authorization: undefined,
    rights: new Set(),
  }
}

/** Sends a draft and returns the code that decided. */
async function send({ method, version, host, path, query, headers, authorization, rights }: Draft): Promise<string> {
  const narrow = rights.has('narrow')
  const token = rights.has('free') ? tokens[narrow ? 'free narrow' : 'free'] : tokens[narrow ? 'narrow' : 'good']
  const credentials = authorization ?? [bearer(token)]
  // The account without a subscription has a session of its own.
  const mine = rights.has('free') ? path.replace('/5', '/6') : path
  const target = query.length === 0 ? mine : `${mine}?${query.join('&')}`
  const lines = [`${method} ${target} ${version}`, `Host: ${host}`, ...credentials, ...headers]
  const server = rights.has('spent') ? strict : roomy
  // Just before, because a window lasts a minute only.
  if (rights.has('spent')) await exchange(server.port, request('GET', '/api/v1/me', bearer(token)))
  const { status, body } = await exchange(server.port, `${lines.join('\r\n')}\r\n\r\n`)
  if (status === 200) return 'ok'
  return status === 304 ? 'not_modified' : (JSON.parse(body) as { code: string }).code
}

async function assertFirst(wrong: readonly Step[]) {
  const spoiled = draft()
  for (const { spoil } of wrong) spoil(spoiled)
  assert.equal(await send(spoiled), wrong[0]?.code ?? 'ok', wrong.map(({ code }) => code).join(', then '))
}

test('every error has a place in the order, unless no mistake of the request causes it', () => {
  const codes = new Set(steps.map(({ code }) => code))
  const others = ['request_timeout', 'internal_error', 'unavailable']
  assert.deepEqual([...codes, ...others].toSorted(), [...Object.keys(errors), 'not_modified'].toSorted())
})

test('of two mistakes, the one that is checked first decides the response', async () => {
  for (const [place, first] of steps.entries()) {
    for (const second of steps.slice(place + 1))
      if (first.changes !== second.changes) await assertFirst([first, second])
  }
})

test('the store is not read before the checksum of the API key is right, and then once', async () => {
  const asked: string[] = []
  const counted: Store = {
    ...service.store,
    get db() {
      asked.push('statement')
      return service.store.db
    },
    read(query, values) {
      asked.push('read')
      return service.store.read(query, values)
    },
  }
  await using again = await startSecondServer(service, settings, { store: counted })
  const ask = async ({ path, headers = [] }: { path?: string; headers?: readonly string[] }) => {
    asked.length = 0
    const target = path ?? '/api/v1/dtt/sessions/5'
    await exchange(again.port, `GET ${target} HTTP/1.1\r\n${['Host: a', ...headers].join('\r\n')}\r\n\r\n`)
    return [...asked]
  }
  /** Without the statement that stores the last use of a token, which comes at any time. */
  const readsOf = async (request: Parameters<typeof ask>[0]) => (await ask(request)).filter(one => one === 'read')
  const { good } = tokens
  const broken = good.slice(0, -1) + (good.endsWith('0') ? '1' : '0')
  for (const nothing of [
    {},
    { headers: ['no header'] },
    { path: '/api/v1/nothing', headers: [bearer(good)] },
    { path: '/api/v1/dtt/sessions/%', headers: [bearer(good)] },
    { path: '/healthz', headers: [bearer(good)] },
    { headers: [bearer(good), bearer(good)] },
    { path: `/api/v1/me?token=${good}`, headers: [bearer(good)] },
    { headers: ['Authorization: Basic x'] },
    { headers: [bearer('x')] },
    { headers: [bearer(broken)] },
    { headers: [bearer(`${good}0`)] },
    { headers: [bearer(good.slice(0, -1))] },
  ]) {
    assert.deepEqual(await ask(nothing), [], JSON.stringify(nothing))
  }
  for (const token of [mintKey(), tokens.revoked, tokens.expired]) {
    assert.deepEqual(await ask({ headers: [bearer(token)] }), ['read'], 'one look-up')
  }
  for (const { path, token = good } of [
    { path: '/api/v1/dtt/sessions/x' },
    { path: '/api/v1/dtt/sessions?limit=0' },
    { token: tokens.narrow },
    { token: tokens.free },
  ]) {
    const reads = await readsOf({ ...(path === undefined ? {} : { path }), headers: [bearer(token)] })
    assert.ok(reads.length <= 1, 'what is refused after the credentials costs nothing more')
  }
  assert.ok((await readsOf({ headers: [bearer(good)] })).length <= 2, 'credentials and the row')
})
