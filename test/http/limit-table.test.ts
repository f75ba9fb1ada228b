import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type LimitName, limits } from '../../src/http/limits.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { exchange, open } from '../support/raw.ts'
import { bearer, cast, lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

const HERE = 'http/limit-table'

/** The test that reaches each limit: its file and how its title begins. */
const reachedBy: Readonly<Record<LimitName, readonly [file: string, title: string]>> = {
  connections: ['http/connections.slow', 'beyond the limit of connections a new one is closed, and'],
  addressConnections: ['http/address-connections', 'an address has so many connections and no more, and another'],
  headerBytes: [HERE, 'a request that is larger than a limit is refused and counted'],
  headersTimeout: [HERE, 'what does not arrive, or is not read, in time is counted'],
  bodyTimeout: ['http/bodies', 'a form that does not arrive in time gets 408, and its'],
  formBytes: [HERE, 'a request that is larger than a limit is refused and counted'],
  uploadBytes: ['http/uploads', 'an upload that is too large gets 413, and nothing of it is'],
  uploadRate: ['http/uploads', 'an upload that arrives too slowly gets 408, and nothing of it'],
  uploadTime: ['http/uploads', 'an upload that takes longer than an hour gets 408'],
  uploadFiles: ['http/uploads', 'more files than allowed are refused'],
  uploads: ['http/uploads', 'an upload is refused before its body is read'],
  uploadsInWork: ['cli/uploads.slow', 'one file is checked after the other, and a check ends when its'],
  idleTimeout: ['http/timeouts', 'an idle connection is kept open for the configured time, which'],
  unreadTimeout: [HERE, 'what does not arrive, or is not read, in time is counted'],
  responseTimeout: ['store/postgres-trouble.slow', 'a silent network blocks no request for long, and the service'],
  lag: ['http/overload.slow', 'requests are refused while the event loop lags, and served'],
  rate: [HERE, 'requests beyond a rate are counted by the limit of the key,'],
  concurrency: ['http/limits', 'requests of an API key beyond its concurrency limit are'],
  statistics: ['http/limits', 'two statistics of an account are computed at once, and the'],
  failures: [HERE, 'requests beyond a rate are counted by the limit of the key,'],
  sessionPages: ['http/page-limits', 'pages of a session, or of an address before the sign-in, are'],
  addressPages: ['http/page-limits', 'pages of a session, or of an address before the sign-in, are'],
  attempts: [HERE, 'requests beyond a rate are counted by the limit of the key,'],
  exports: ['dashboard/downloads', 'everything of an account is sent once at a time, until its'],
  passwordChecks: [HERE, 'passwords beyond those that may wait for their check are'],
  sourceChecks: ['pull/check-connection', 'an account can have ten checks an hour, also when they come together'],
  windows: ['http/limits', 'the memory of the windows is bounded, however many API keys'],
}

test('every limit is reached in a test', () => {
  for (const [file, title] of Object.values(reachedBy)) {
    const text = readFileSync(join(import.meta.dirname, `../${file}.test.ts`), 'utf8')
    assert.ok(text.includes(`'${title}`), `${file}: ${title}`)
  }
})

let service: TestService
before(async () => {
  service = await startService(cast, unlimited)
  await allowSignIn(service, 'ann')
})
after(() => service[Symbol.asyncDispose]())

/** A server of its own settings, and how often each of its limits was reached. */
async function measured(settings: Readonly<Record<string, string>>) {
  const metrics = new Metrics()
  const server = await startSecondServer(service, { ...unlimited, ...settings }, { metrics })
  const reached = async () => {
    const samples = (await metrics.text()).matchAll(/^lockstep_limited_requests_total\{limit="(\w+)"\} (\d+)$/gm)
    return Object.fromEntries(Array.from(samples, ([, name = '', count]) => [name, Number(count)]))
  }
  return { ...server, reached }
}

test('a request that is larger than a limit is refused and counted', async () => {
  await using server = await measured({})
  const { headerBytes, formBytes } = limits
  const headers = lines('GET / HTTP/1.1', 'Host: a', `X: ${'a'.repeat(headerBytes.max)}`)
  assert.equal((await exchange(server.port, headers)).status, 431)
  const form = `Content-Length: ${formBytes.max + 1}`
  const type = 'Content-Type: application/x-www-form-urlencoded'
  using connection = open(server.port)
  connection.send(lines('POST /signin HTTP/1.1', 'Host: 127.0.0.1', 'Origin: http://127.0.0.1', type, form))
  assert.equal((await connection.answer()).status, 413)
  await until(async () => (await server.reached())['formBytes'] === 1)
  assert.deepEqual(await server.reached(), { headerBytes: 1, formBytes: 1 })
})

test('requests beyond a rate are counted by the limit of the key, the address or the account', async () => {
  await using server = await measured({ LOCKSTEP_RATE_LIMIT: '1', LOCKSTEP_FAILURE_LIMIT: '1' })
  const token = await service.token('ann')
  for (const header of [bearer(token), bearer('x')]) {
    for (let count = 0; count < 2; count += 1) {
      await exchange(server.port, lines('GET /api/v1/me HTTP/1.1', 'Host: a', header))
    }
  }
  for (let count = 0; count <= limits.attempts.max; count += 1) {
    await visitor(server.url).signIn('ann', 'not the password')
  }
  assert.deepEqual(await server.reached(), { rate: 1, failures: 1, attempts: 1 })
})

test('what does not arrive, or is not read, in time is counted', async () => {
  await using server = await measured({ LOCKSTEP_HEADERS_TIMEOUT: '0.3', LOCKSTEP_REQUEST_TIMEOUT: '2' })
  using silent = open(server.port)
  assert.equal((await silent.answer()).status, 408)
  using reluctant = open(server.port)
  reluctant.socket.pause()
  let sent = 0
  await until(async () => {
    // Responses fill the buffers of the connection, until some stay pending.
    const written = server.log.join('').split('/openapi.json').length - 1
    for (; sent < written + 16; sent += 1) {
      reluctant.send(lines('GET /openapi.json HTTP/1.1', 'Host: a'))
    }
    return 'unreadTimeout' in (await server.reached())
  })
  const { headersTimeout, unreadTimeout } = await server.reached()
  assert.deepEqual([headersTimeout, unreadTimeout], [1, 1])
})

test('passwords beyond those that may wait for their check are refused', async t => {
  await using server = await measured({ LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8' })
  const attempt = (index: number) =>
    visitor(server.url).post(
      '/signin',
      { username: `nobody-${index}`, password: 'not the password' },
      { 'X-Forwarded-For': `127.0.2.${index}` },
    )
  // The first check also makes a hash to compare with.
  assert.equal((await attempt(0)).status, 403)
  const { argon2 } = crypto
  const held: (() => void)[] = []
  const hashes = t.mock.method(crypto, 'argon2', (...call: Parameters<typeof argon2>) => {
    held.push(() => argon2(...call))
  })
  syncBuiltinESMExports()
  try {
    const attempts = Array.from({ length: limits.passwordChecks.max + 1 }, (_, index) => attempt(index + 1))
    assert.equal((await Promise.race(attempts)).status, 503)
    hashes.mock.restore()
    syncBuiltinESMExports()
    for (const hash of held) hash()
    const statuses = (await Promise.all(attempts)).map(({ status }) => status)
    const others = statuses.filter(status => status !== 403)
    assert.deepEqual(others, [503])
    assert.deepEqual(await server.reached(), { passwordChecks: 1 })
  } finally {
    hashes.mock.restore()
    syncBuiltinESMExports()
  }
})
