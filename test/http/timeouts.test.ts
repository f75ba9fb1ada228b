import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSecondServer } from '../support/second-server.ts'
import { assertPromised } from '../support/error-responses.ts'
import { type Connection, exchange, header, open } from '../support/raw.ts'
import { trainerSegment, trainingSession, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

const ONE = '/api/v1/dtt/sessions/5'
/** A page of half a megabyte. */
const LARGE = '/api/v1/dtt/sessions?limit=100'
const many = Array.from({ length: 100 }, (_, session) =>
  trainingSession(session + 5, 1, {
    TrainerSegment: Array.from({ length: 25 }, (_item, segment) => trainerSegment(session * 100 + segment + 1)),
  }),
)

let service: TestService
let token: string
before(async () => {
  service = await startService([...world, ...many], unlimited)
  token = await service.token('ann')
})
after(() => service[Symbol.asyncDispose]())

const get = (path: string) => lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(token))

/** Milliseconds until the service has ended the connection. */
async function lifeOf(connection: Connection, from = performance.now()): Promise<number> {
  await connection.closed()
  return performance.now() - from
}

test('headers that are not complete in time get 408, however they arrive', async t => {
  await using again = await startSecondServer(service, {
    LOCKSTEP_HEADERS_TIMEOUT: '0.3',
    LOCKSTEP_REQUEST_TIMEOUT: '300',
  })
  const begun: Readonly<Record<string, (connection: Connection, signal: AbortSignal) => void>> = {
    'not a byte': () => {},
    'half a request line': connection => connection.send('GET /api'),
    'no empty line': connection => connection.send(get(ONE).slice(0, -2)),
    'byte by byte': (connection, signal) =>
      void drip(connection, `GET ${ONE} HTTP/1.1\r\nX-Long: ${'a'.repeat(5000)}`, signal),
    'header by header': (connection, signal) =>
      void drip(connection, `GET ${ONE} HTTP/1.1${'\r\nX: 1'.repeat(1000)}`, signal, 6),
  }
  for (const [title, begin] of Object.entries(begun)) {
    await t.test(title, async () => {
      using connection = open(again.port)
      const ended = new AbortController()
      const from = performance.now()
      begin(connection, ended.signal)
      assert.equal((await exchange(again.port, get(ONE))).status, 200, 'others are answered meanwhile')
      assertPromised(await connection.answer(), { code: 'request_timeout', closes: true })
      const life = await lifeOf(connection, from)
      ended.abort()
      assert.ok(life >= 250, `${life} ms`)
    })
  }
})

test('an idle connection is kept open for the configured time, which Keep-Alive states', async () => {
  await using again = await startSecondServer(service, { LOCKSTEP_KEEP_ALIVE: '2' })
  using connection = open(again.port)
  connection.send(get(ONE))
  assert.equal(header(await connection.answer(), 'Keep-Alive'), 'timeout=2')
  const from = performance.now()
  connection.send(get(ONE))
  assert.equal((await connection.answer()).status, 200)
  const life = await lifeOf(connection, from)
  assert.ok(life > 1900, `${life} ms`)
})

test('a client that does not read its responses is disconnected, and others are served meanwhile', async () => {
  await using again = await startSecondServer(service, {
    ...unlimited,
    LOCKSTEP_CONCURRENCY_LIMIT: '0',
    LOCKSTEP_REQUEST_TIMEOUT: '1',
  })
  using reluctant = open(again.port)
  reluctant.socket.pause()
  reluctant.send(get(LARGE).repeat(16))
  await sleep(100)
  assert.equal((await exchange(again.port, get(ONE))).status, 200)
  await until(async () => again.log.join('').includes('"aborted":true'))
  reluctant.socket.resume()
  assert.ok((await reluctant.closed()).length < 16 * 500_000)
})

/** Sends a text in small parts, one every few milliseconds. */
async function drip(connection: Connection, text: string, signal: AbortSignal, size = 1) {
  for (let at = 0; at < text.length && !signal.aborted; at += size) {
    connection.send(text.slice(at, at + size))
    await sleep(10)
  }
}
