// engine: any
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Metrics } from '../../src/http/metrics.ts'
import { allowSignIn, PASSWORD, visitor } from '../support/dashboard.ts'
import { assertPromised } from '../support/error-responses.ts'
import { type Connection, header, LAST_REQUEST, open } from '../support/raw.ts'
import { world } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

let service: TestService
before(async () => {
  service = await startService(world)
  await allowSignIn(service, 'ann')
  // The code of the pages is loaded with the first of them, which takes a while.
  await visitor(service.url).get('/signin')
})
after(() => service[Symbol.asyncDispose]())

const form = (...headers: readonly string[]) =>
  lines('POST /signin HTTP/1.1', 'Host: localhost', 'Origin: http://localhost', `Content-Type: ${FORM}`, ...headers)
const FORM = 'application/x-www-form-urlencoded'
const LENGTH = 'Content-Length: 1000'
const CHUNKED = 'Transfer-Encoding: chunked'

const drip = async (connection: Connection, text: string) => {
  while (connection.socket.writable) {
    connection.send(text)
    await sleep(10)
  }
}

const late: Readonly<Record<string, (connection: Connection) => unknown>> = {
  'no byte of it': connection => connection.send(form(LENGTH)),
  'half of it': connection => connection.send(`${form(LENGTH)}username=ann`),
  'byte by byte': connection => {
    connection.send(form(LENGTH))
    return drip(connection, 'a')
  },
  'no last chunk': connection => connection.send(`${form(CHUNKED)}3\r\na=b\r\n`),
  'the length of a chunk, without end': connection => {
    connection.send(form(CHUNKED))
    return drip(connection, '0')
  },
}

test('a form that does not arrive in time gets 408, and its connection is closed', { concurrency: true }, async t => {
  const metrics = new Metrics()
  await using server = await startSecondServer(service, { LOCKSTEP_REQUEST_TIMEOUT: '1' }, { metrics })
  await Promise.all(
    Object.entries(late).map(([title, begin]) =>
      t.test(title, async () => {
        using connection = open(server.port)
        void begin(connection)
        assert.equal((await fetch(`${server.url}/healthz`)).status, 200, 'others are answered meanwhile')
        assertPromised(await connection.answer(), { code: 'request_timeout', closes: true })
        assert.equal(await connection.closed(), '')
      }),
    ),
  )
  await until(async () => (await metrics.text()).includes(`{limit="bodyTimeout"} ${Object.keys(late).length}`))
})

test('a form that does not follow the answer to Expect gets 408, too', async () => {
  await using server = await startSecondServer(service, { LOCKSTEP_REQUEST_TIMEOUT: '1' })
  using connection = open(server.port)
  connection.send(form(LENGTH, 'Expect: 100-continue'))
  assert.match(await connection.closed(), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 408 /)
})

test('a form that is not well-formed gets 400 at once, and its connection is closed', async () => {
  for (const text of [`${form(CHUNKED)}3\r\nab`, `${form(CHUNKED)}x\r\n`, `${form(CHUNKED)}1\r\nabc`]) {
    using connection = open(service.service.port)
    connection.send(text)
    if (text.endsWith('ab')) connection.send('cd\r\n')
    assertPromised(await connection.answer(), { code: 'malformed_request', closes: true })
    assert.equal(await connection.closed(), '')
  }
})

test('a browser gets a page that says that its form did not arrive', async () => {
  await using server = await startSecondServer(service, { LOCKSTEP_REQUEST_TIMEOUT: '1' })
  using connection = open(server.port)
  connection.send(form(LENGTH, 'Accept: text/html'))
  const answer = await connection.answer()
  assert.deepEqual([answer.status, header(answer, 'Connection')], [408, 'close'])
  assert.match(answer.body, /The request did not arrive in time/)
  assert.equal(await connection.closed(), '')
})

test('a form that is refused before it has arrived gets one answer, whatever follows within it', async () => {
  for (const rest of ['', 'x\r\n', '3000\r\n']) {
    using connection = open(service.service.port)
    connection.send(
      lines('POST /signin HTTP/1.1', 'Host: localhost', 'Origin: http://b', `Content-Type: ${FORM}`, CHUNKED),
    )
    const answer = await connection.answer()
    assert.equal(answer.status, 403)
    connection.send(rest + form())
    assert.equal(await connection.closed(), '')
  }
})

test('after a form that was refused before it arrived, its connection can be used', async () => {
  using connection = open(service.service.port)
  connection.send(form(LENGTH).replace('http://localhost', 'http://b'))
  assert.equal((await connection.answer()).status, 403)
  connection.send('a'.repeat(1000) + LAST_REQUEST)
  assert.equal((await connection.answer()).status, 200)
  assert.equal(await connection.closed(), '')
})

test('a form that arrives slowly, but in time, is accepted', async () => {
  using connection = open(service.service.port)
  const body = new URLSearchParams({ username: 'ann', password: PASSWORD }).toString()
  connection.send(form(`Content-Length: ${body.length}`))
  for (const character of body) {
    connection.send(character)
    await sleep(2)
  }
  const answer = await connection.answer()
  assert.deepEqual([answer.status, header(answer, 'Connection')], [303, 'keep-alive'])
  assert.equal((await visitor(service.url).signIn('ann')).status, 303)
})
