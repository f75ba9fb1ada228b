import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LimitError } from '../../src/http/limits.ts'
import { RateLimits } from '../../src/http/rate-limits.ts'
import { listKeys, revokeKey } from '../../src/accounts/api-keys.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { gatedStore, startSecondServer } from '../support/second-server.ts'
import { assertPromised } from '../support/error-responses.ts'
import { exchange, header, open, type RawAnswer } from '../support/raw.ts'
import { trainingSession, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

const ONE = '/api/v1/dtt/sessions/5'

let service: TestService
let ann: string
let ben: string
before(async () => {
  service = await startService([...world, ...[5, 6, 7].map(id => trainingSession(id, 1))], unlimited)
  ann = await service.token('ann')
  ben = await service.token('ben')
})
after(() => service[Symbol.asyncDispose]())

function get(port: number, target: string, ...headers: readonly string[]) {
  return exchange(port, lines(`GET ${target} HTTP/1.1`, 'Host: a', ...headers))
}

/** Seconds of `Retry-After` where a window has just begun; on a slow machine some of it is over. */
const WITHIN_A_MINUTE = /^([1-9]|[1-5]\d|60)$/

/** The remaining requests of the window, according to the response. */
function left(answer: RawAnswer): number {
  const found = /^"default";r=(\d+);t=(\d+)$/.exec(header(answer, 'RateLimit') ?? '')
  assert.ok(
    found !== null && Number(found[2]) >= 1 && Number(found[2]) <= 60,
    header(answer, 'RateLimit') ?? 'no header',
  )
  return Number(found[1])
}

test('an API key gets its number of requests per window, sees what is left in every response, and then gets 429', async () => {
  await using again = await startSecondServer(service, { LOCKSTEP_RATE_LIMIT: '7' })
  const asked: readonly (readonly [path: string, status: number])[] = [
    ['/api/v1/me', 200],
    [ONE, 200],
    [`${ONE}?limit=1`, 400],
    ['/api/v1/dtt/sessions/99', 404],
    ['/api/v1/dtt/sessions?ownerId=3', 403],
    ['/api/v1/dtt/sessions?limit=1', 200],
    [ONE, 200],
    [ONE, 429],
    ['/api/v1/me', 429],
  ]
  for (const [place, [path, status]] of asked.entries()) {
    const answer = await get(again.port, path, bearer(ann))
    assert.equal(answer.status, status, path)
    assert.equal(header(answer, 'RateLimit-Policy'), '"default";q=7;w=60')
    assert.equal(left(answer), Math.max(0, 6 - place))
    if (status === 429) assert.match(header(answer, 'Retry-After') ?? '', WITHIN_A_MINUTE)
  }
  assert.equal((await get(again.port, ONE, bearer(ben))).status, 200, 'another token has a window of its own')
  assert.equal((await get(again.port, '/api/v1/me')).status, 401)
  assert.equal((await get(again.port, '/healthz')).status, 200)
})

test('a 304 does not count against the rate limit', async () => {
  await using again = await startSecondServer(service, { LOCKSTEP_RATE_LIMIT: '2' })
  const etag = header(await get(again.port, ONE, bearer(ann)), 'ETag') ?? ''
  for (let count = 0; count < 5; count += 1) {
    const answer = await get(again.port, ONE, bearer(ann), `If-None-Match: ${etag}`)
    assert.deepEqual([answer.status, left(answer)], [304, 1])
  }
  assert.equal(left(await get(again.port, ONE, bearer(ann))), 0)
  assert.equal(
    (await get(again.port, ONE, bearer(ann), `If-None-Match: ${etag}`)).status,
    429,
    'but is charged on entry',
  )
})

test('a window ends after a minute, and a refund does not change the next one', () => {
  const limits = new RateLimits({ rateLimit: 2, concurrencyLimit: 0, failureLimit: 0 })
  const first = limits.admit(1, { startedAt: 1000 })
  limits.admit(1, { startedAt: 30_000 })
  const headers = ['RateLimit-Policy', '"default";q=2;w=60', 'RateLimit', '"default";r=0;t=31']
  assert.deepEqual(limits.headers(first, 30_500), headers)
  assert.throws(() => limits.admit(1, { startedAt: 60_999 }), LimitError)
  const second = limits.admit(1, { startedAt: 61_000 })
  limits.refund(first, 1000)
  assert.match(limits.headers(second, 61_000).join(), /RateLimit,"default";r=1;t=60$/)
  limits.refund(second, 61_000)
  assert.match(limits.headers(second, 61_000).join(), /RateLimit,"default";r=2;t=60$/)
})

/** A server on a store that answers when the test says so, except for credentials. */
async function serveGated(settingsOfTest: Readonly<Record<string, string>>) {
  const gate = gatedStore(service.store, values => !('hash' in values))
  const again = await startSecondServer(service, settingsOfTest, { store: gate.store })
  return { again, gate }
}

test('requests of an API key beyond its concurrency limit are refused at once, until another one is answered', async () => {
  const { again, gate } = await serveGated({ LOCKSTEP_CONCURRENCY_LIMIT: '3' })
  await using _ = again
  const first = [1, 2, 3].map(() => get(again.port, ONE, bearer(ann)))
  await until(async () => gate.waiting.length === 3)
  const refused = await get(again.port, ONE, bearer(ann))
  assertPromised(refused, { code: 'rate_limited', closes: false, headers: { 'Retry-After': '1' }, limited: true })
  const other = get(again.port, ONE, bearer(ben))
  await until(async () => gate.waiting.length === 4)
  gate.release()
  const statuses = (await Promise.all([...first, other])).map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 200, 200])
  const next = get(again.port, ONE, bearer(ann))
  await until(async () => gate.waiting.length === 1)
  gate.release()
  assert.equal((await next).status, 200)
})

test('requests of disconnected clients no longer count, including pipelined ones', async () => {
  const { again, gate } = await serveGated({ LOCKSTEP_CONCURRENCY_LIMIT: '4' })
  await using _ = again
  for (const [round, after] of ['', lines('CONNECT a:443 HTTP/1.1', 'Host: a'), 'no request'].entries()) {
    using connection = open(again.port)
    connection.send(lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(ann)).repeat(4) + after)
    await until(async () => gate.waiting.length === 4)
    connection.socket.resetAndDestroy()
    await until(async () => again.log.join('').split('"aborted":true').length > 4 * (round + 1))
    gate.release()
  }
  const all = [1, 2, 3, 4].map(() => get(again.port, ONE, bearer(ann)))
  await until(async () => gate.waiting.length === 4)
  gate.release()
  const statuses = (await Promise.all(all)).map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 200, 200])
})

test('too many failures block an address, but not a valid API key from it', async () => {
  await using again = await startSecondServer(service, { LOCKSTEP_FAILURE_LIMIT: '3' })
  const fail = () => get(again.port, ONE, bearer(mintKey()))
  for (const attempt of [fail(), get(again.port, ONE, bearer('x')), fail()]) assert.equal((await attempt).status, 401)
  const refused = await get(again.port, ONE, bearer('x'))
  assert.match(header(refused, 'Retry-After') ?? '', WITHIN_A_MINUTE)
  assertPromised(refused, {
    code: 'rate_limited',
    closes: false,
    headers: { 'Retry-After': header(refused, 'Retry-After') ?? '' },
  })
  assert.equal((await get(again.port, ONE)).status, 401, 'no token is no guess')
  assert.equal((await get(again.port, ONE, bearer(ann), bearer('x'))).status, 400)
  assert.equal((await get(again.port, ONE, bearer(ann))).status, 200)
  assert.equal((await fail()).status, 429)
})

/** Fails once for each address, as a proxy names it, and returns the statuses. */
async function failFrom(trusted: string, addresses: readonly string[]): Promise<number[]> {
  await using again = await startSecondServer(service, {
    LOCKSTEP_FAILURE_LIMIT: '1',
    LOCKSTEP_TRUSTED_PROXIES: trusted,
  })
  const statuses: number[] = []
  for (const address of addresses) {
    statuses.push((await get(again.port, ONE, bearer('x'), `X-Forwarded-For: ${address}`)).status)
  }
  return statuses
}

test('behind a trusted proxy failures count for the last forwarded address; X-Forwarded-For from others is ignored', async () => {
  const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.9, 192.0.2.2', '192.0.2.2, 192.0.2.3']
  assert.deepEqual(await failFrom('127.0.0.0/8', addresses), [401, 401, 429, 429, 401])
  assert.deepEqual(await failFrom('', addresses), [401, 429, 429, 429, 429])
  assert.deepEqual(await failFrom('192.0.2.0/24', addresses), [401, 429, 429, 429, 429])
})

test('the client address is the last one in the chain of proxies that is not trusted, and of IPv6 its network counts', async () => {
  const statuses = [
    ['203.0.113.7', 401],
    ['203.0.113.7, 10.0.0.2,fd00::3', 429],
    ['203.0.113.7:4711, 10.0.0.2:80, [fd00::3]:443', 429],
    ['203.0.113.8:4711', 401],
    ['[2001:db8::7]:443', 401],
    ['2001:db8::9', 429],
    ['64:ff9b::192.0.2.1', 401],
    // What is no address counts as the proxy that passed it on.
    ['unknown', 401],
    ['203.0.113.9:471100', 429],
    ['[203.0.113.9', 429],
    ['for=203.0.113.9', 429],
  ] as const
  const found = await failFrom(
    '127.0.0.0/8, 10.0.0.0/8, fd00::/8',
    statuses.map(([address]) => address),
  )
  assert.deepEqual(
    found,
    statuses.map(([, status]) => status),
  )
})

test('0 switches a limit off', async () => {
  const off = { LOCKSTEP_RATE_LIMIT: '0', LOCKSTEP_CONCURRENCY_LIMIT: '0', LOCKSTEP_FAILURE_LIMIT: '0' }
  const { again, gate } = await serveGated(off)
  await using _ = again
  for (let count = 0; count < 40; count += 1) assert.equal((await get(again.port, ONE, bearer('x'))).status, 401)
  const all = Array.from({ length: 40 }, () => get(again.port, ONE, bearer(ann)))
  await until(async () => gate.waiting.length === 40)
  gate.release()
  for (const { status, headers } of await Promise.all(all)) {
    assert.equal(status, 200)
    assert.ok(headers.every(([name]) => !name.startsWith('RateLimit')))
  }
})

test('the memory of the windows is bounded, however many API keys and networks there are', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const heap = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const limits = new RateLimits({ rateLimit: 1, concurrencyLimit: 1, failureLimit: 1 })
  const come = (from: number, to: number) => {
    for (let id = from; id < to; id += 1) {
      limits.release(limits.admit(id, { startedAt: id }))
      limits.countFailure(`2001:db8:${(id >> 16).toString(16)}:${(id & 0xffff).toString(16)}::1`, 0)
    }
  }
  come(0, 100_000)
  const full = heap()
  come(100_000, 400_000)
  assert.ok(heap() - full < 4 * 2 ** 20, `${heap() - full} bytes more`)
  assert.throws(() => limits.admit(399_999, { startedAt: 400_000 }), LimitError, 'the newest are known')
})

test('a service with allowed hosts refuses every other host, whatever the request', async () => {
  await using again = await startSecondServer(service, { LOCKSTEP_ALLOWED_HOSTS: 'History.example, [::1]' })
  const ask = (first: string, host?: string) =>
    exchange(again.port, lines(first, ...(host === undefined ? [] : [`Host: ${host}`]), bearer(ann)))
  for (const host of ['history.example', 'HISTORY.EXAMPLE', 'history.example:8443', '[::1]', '[::1]:80']) {
    assert.equal((await ask(`GET ${ONE} HTTP/1.1`, host)).status, 200, host)
  }
  for (const host of ['localhost', 'a.history.example', 'history.example.evil.example', '[::2]']) {
    for (const first of [`GET ${ONE}`, 'GET /nothing', 'OPTIONS *', `GET http://${host}${ONE}`]) {
      assertPromised(await ask(`${first} HTTP/1.1`, host), { code: 'misdirected_request', closes: false })
    }
  }
  const disguised = await ask(`GET ${ONE} HTTP/1.1`, 'history.example:evil.example')
  assertPromised(disguised, { code: 'misdirected_request', closes: false })
  assert.equal((await ask(`GET ${ONE} HTTP/1.0`)).status, 200, 'HTTP/1.0 need not name one')
})

const EXPOSED = 'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'
const origin = 'Origin: https://charts.example'

test('allowed origins may read every response, errors included, and others none', async () => {
  await using again = await startSecondServer(service, {
    LOCKSTEP_CORS_ORIGINS: 'https://charts.example, http://localhost:3000',
  })
  const requests = {
    answer: lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(ann), origin),
    unchanged: lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(ann), origin, 'If-None-Match: *'),
    refusal: lines(`GET ${ONE} HTTP/1.1`, 'Host: a', origin),
    'no route': lines(`GET /api/v1/nothing HTTP/1.1`, 'Host: a', origin),
    'broken encoding': lines('GET /api/v1/%zz HTTP/1.1', 'Host: a', origin),
  }
  for (const [title, text] of Object.entries(requests)) {
    const answer = await exchange(again.port, text)
    assert.equal(header(answer, 'Access-Control-Allow-Origin'), 'https://charts.example', title)
    assert.equal(header(answer, 'Access-Control-Expose-Headers'), EXPOSED)
    assert.equal(header(answer, 'Vary'), 'Origin')
    assert.equal(header(answer, 'Access-Control-Allow-Credentials'), undefined)
    for (const other of ['https://charts.example/', 'https://a.charts.example', 'null', '*', '']) {
      // prettier-ignore
      const refused = await exchange(again.port, text.replace(origin, `Origin: ${other}`))
      assert.equal(refused.status, answer.status)
      assert.equal(header(refused, 'Vary'), 'Origin')
      assert.ok(
        refused.headers.every(([name]) => !/^access-control/i.test(name)),
        other,
      )
    }
  }
  const document = await exchange(again.port, lines('GET /openapi.json HTTP/1.1', 'Host: a', origin))
  assert.equal(header(document, 'Vary'), 'Origin, Accept-Encoding')
  const broken = await exchange(again.port, 'no request\r\n\r\n')
  assert.deepEqual([broken.status, header(broken, 'Vary')], [400, 'Origin'])
})

test('a preflight of an allowed origin gets the methods and headers it may use', async () => {
  await using again = await startSecondServer(service, { LOCKSTEP_CORS_ORIGINS: 'https://charts.example' })
  const asked = ['Access-Control-Request-Method: GET', 'Access-Control-Request-Headers: authorization']
  const ask = (from: string) => exchange(again.port, lines(`OPTIONS ${ONE} HTTP/1.1`, 'Host: a', from, ...asked))
  const allowed = await ask(origin)
  assert.equal(allowed.status, 204)
  for (const [name, value] of Object.entries({
    'Access-Control-Allow-Origin': 'https://charts.example',
    'Access-Control-Allow-Methods': 'GET, HEAD',
    'Access-Control-Allow-Headers': 'Authorization, If-None-Match',
    'Access-Control-Max-Age': '600',
    Vary: 'Origin',
  })) {
    assert.equal(header(allowed, name), value)
  }
  const other = await ask('Origin: https://elsewhere.example')
  assert.deepEqual([other.status, header(other, 'Allow')], [405, 'GET, HEAD'])
  assert.ok(other.headers.every(([name]) => !/^access-control/i.test(name)))
})

test('two statistics of an account are computed at once, and the others wait', async () => {
  const gate = gatedStore(service.store, values => 'from' in values && 'at' in values)
  await using again = await startSecondServer(service, unlimited, { store: gate.store })
  const year = '/api/v1/lkbx/stats?bucket=month&from=2026-01-01&to=2026-12-31'
  const ask = (token: string, target: string) => get(again.port, target, bearer(token))
  const asked = [1, 2, 3, 4].map(() => ask(ann, year))
  await until(async () => gate.waiting.length === 2)
  asked.push(ask(ben, year))
  await until(async () => gate.waiting.length === 3)
  assert.equal((await ask(ann, ONE)).status, 200, 'other requests do not wait')
  assert.equal(gate.waiting.length, 3)
  gate.open()
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
})

test('an API key that is revoked while its statistics wait for others gets none', async () => {
  const gate = gatedStore(service.store, values => 'from' in values && 'at' in values)
  await using again = await startSecondServer(service, unlimited, { store: gate.store })
  const year = '/api/v1/lkbx/stats?bucket=month&from=2025-01-01&to=2025-12-31'
  const token = await service.token('ann')
  const ask = (key: string) => get(again.port, year, bearer(key))
  const asked = [ask(ann), ask(ann)]
  await until(async () => gate.waiting.length === 2)
  asked.push(ask(token))
  const ids = (await listKeys(service.store)).map(({ id }) => id)
  // Long enough to arrive.
  await sleep(200)
  await revokeKey(service.store, { id: Math.max(...ids) }, Date.now())
  // A process notices that within a second.
  await sleep(1100)
  gate.open()
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  assert.deepEqual(statuses, [200, 200, 401])
})
