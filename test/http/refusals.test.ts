// engine: any
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { type ErrorCode, errors } from '../../src/contract/errors.ts'
import { type Store, StoreUnavailableError } from '../../src/store/index.ts'
import { startSecondServer } from '../support/second-server.ts'
import { answersTo, exchange, header, open, type RawAnswer } from '../support/raw.ts'
import { AFTER_CREDENTIALS, assertPromised, type Promised } from '../support/error-responses.ts'
import { type Refused, refusals } from '../support/refusals.ts'
import { bearer, cast, lines, makeTokens, MARK, request, tableSettings, type Tokens } from '../support/requests.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let tokens: Tokens
let table: readonly Refused[]
before(async () => {
  service = await startService(cast, tableSettings)
  tokens = await makeTokens(service)
  table = refusals(tokens)
})
after(() => service[Symbol.asyncDispose]())

const bytes = ({ send }: Refused) => Buffer.from(send, 'latin1')
const methodOf = ({ send }: Refused) => (send.startsWith('HEAD ') ? 'HEAD' : 'GET')

function assertRefusal(answer: RawAnswer, refused: Refused) {
  assertPromised(answer, {
    ...refused,
    limited: AFTER_CREDENTIALS.has(refused.code),
    head: methodOf(refused) === 'HEAD',
  })
}

/** Refusals that need a service in a certain state; all others are in the table. */
const elsewhere: Partial<Record<ErrorCode, () => Promise<[answer: RawAnswer, promised: Omit<Promised, 'code'>]>>> = {
  async misdirected_request() {
    await using again = await startSecondServer(service, { LOCKSTEP_ALLOWED_HOSTS: 'b' })
    return [await exchange(again.port, request('GET', `/${MARK}`, bearer(tokens.ann))), { closes: false }]
  },
  async request_timeout() {
    await using again = await startSecondServer(service, { LOCKSTEP_HEADERS_TIMEOUT: '0.2' })
    return [await exchange(again.port, `GET /${MARK} HTTP/1.1\r\nHost: a\r\n`), { closes: true }]
  },
  async rate_limited() {
    await using again = await startSecondServer(service, { LOCKSTEP_RATE_LIMIT: '1' })
    const send = request('GET', '/api/v1/me', bearer(tokens.ann))
    await exchange(again.port, send)
    const answer = await exchange(again.port, send)
    const left = header(answer, 'Retry-After') ?? ''
    assert.ok(Number(left) >= 1 && Number(left) <= 60, left)
    return [answer, { closes: false, headers: { 'Retry-After': left }, limited: true }]
  },
  async internal_error() {
    await using again = await startSecondServer(service, {}, { store: broken(new Error(`no such column: ${MARK}`)) })
    const answer = await exchange(again.port, request('GET', '/api/v1/me', bearer(tokens.ann)))
    return [answer, { closes: false, error: 'Internal server error' }]
  },
  async unavailable() {
    await using again = await startSecondServer(
      service,
      {},
      { store: broken(new StoreUnavailableError(`no file ${MARK}`)) },
    )
    const answer = await exchange(again.port, request('GET', '/api/v1/me', bearer(tokens.ann)))
    return [answer, { closes: false, headers: { 'Retry-After': '1' } }]
  },
}

for (const code of Object.keys(errors) as ErrorCode[]) {
  test(`${code} has its status, headers and body for every cause, and contains nothing from the request`, async () => {
    const special = elsewhere[code]
    if (special !== undefined) {
      const [answer, promised] = await special()
      assertPromised(answer, { code, ...promised })
      return
    }
    const rows = table.filter(refused => refused.code === code)
    assert.ok(rows.length > 0, 'every code is met by a request')
    for (const refused of rows) {
      await named(refused.title, async () =>
        assertRefusal(await exchange(service.service.port, bytes(refused)), refused),
      )
    }
  })
}

test('request ids are unique', async () => {
  const send = `${request('GET', '/nothing', 'Connection: keep-alive').repeat(15)}${MARK}\r\n\r\n`
  const answers = await Promise.all(Array.from({ length: 200 }, () => answersTo(service.service.port, send)))
  const ids = answers.flat().map(answer => header(answer, 'X-Request-Id'))
  assert.equal(new Set(ids).size, 3200)
})

test('pipelined requests are answered in order, up to one with ambiguous framing', async () => {
  const kept = table.filter(({ closes }) => closes === false)
  const closing = table.filter(({ closes }) => closes === true)
  const row = (rows: readonly Refused[]) => fc.nat(rows.length - 1).map(index => rows[index] as Refused)
  await fc.assert(
    fc.asyncProperty(
      fc.array(row(kept), { maxLength: 12 }),
      row(closing),
      fc.array(row(table), { maxLength: 3 }),
      check,
    ),
    { numRuns: 150 },
  )

  async function check(before: readonly Refused[], last: Refused, more: readonly Refused[]) {
    using connection = open(service.service.port)
    connection.send(Buffer.concat([...before, last, ...more].map(bytes)))
    for (const refused of [...before, last]) {
      await named(refused.title, async () => assertRefusal(await connection.answer(methodOf(refused)), refused))
    }
    assert.equal(await connection.closed(), '', 'what follows is not answered')
  }
})

test('a request that arrives byte by byte gets the same response', async () => {
  const shortest = Object.values(Object.groupBy(table, ({ code }) => code)).map(
    rows => rows.toSorted((a, b) => a.send.length - b.send.length)[0],
  )
  await Promise.all(
    shortest.map(async refused => {
      // Of a very long one the first packet must be longer than a byte, or this takes minutes.
      if (refused === undefined || refused.send.length > 2000) return
      using connection = open(service.service.port)
      for (const byte of bytes(refused)) {
        connection.send(Buffer.of(byte))
        await turn()
      }
      await named(refused.title, async () => assertRefusal(await connection.answer(methodOf(refused)), refused))
    }),
  )
})

const inPackets: readonly { readonly packets: readonly string[]; readonly code: ErrorCode }[] = [
  {
    packets: ['GET /', ...Array<string>(4).fill('a'.repeat(5000)), ' HTTP/1.1\r\nHost: a\r\n\r\n'],
    code: 'uri_too_long',
  },
  { packets: ['\r\n', 'GE', 'T ', ...Array<string>(8).fill(`/${'a'.repeat(5000)}`)], code: 'headers_too_large' },
  {
    packets: ['GET / HTTP/1.1\r\nHost: a\r\nX: ', ...Array<string>(8).fill('a'.repeat(5000)), 'GET / HTTP/1.1\r\n'],
    code: 'headers_too_large',
  },
  { packets: ['GET / HTTP/1.1\r', '\nX: A-', 'Z '.repeat(20_000), ' HTTP/1.1'], code: 'headers_too_large' },
  { packets: ['GET /a', '# HTTP/1.1\r\nHost: a\r\n\r\n'], code: 'malformed_url' },
  { packets: ['GET /a', ' b HTTP/1.1\r\nHost: a\r\n\r\n'], code: 'malformed_request' },
  { packets: ['GET /a HTT', 'X/1.1\r\nHost: a\r\n\r\n'], code: 'malformed_request' },
  { packets: ['GET /a HTTP/1.1\r\n', 'GET /a b HTTP/1.1\r\n\r\n'], code: 'malformed_request' },
]

for (const before of ['', request('GET', '/healthz')]) {
  test(`errors do not depend on packet boundaries ${before === '' ? 'on a new connection' : 'after a response'}`, async () => {
    for (const { packets, code } of inPackets) {
      using connection = open(service.service.port)
      if (before !== '') {
        connection.send(before)
        assert.equal((await connection.answer()).status, 200)
      }
      for (const packet of packets) {
        connection.send(packet)
        await sleep(15)
      }
      const { body } = await connection.answer()
      assert.equal(JSON.parse(body).code, code, packets.map(packet => packet.slice(0, 20)).join('|'))
    }
  })
}

test('a half-closed client still gets its response', async () => {
  const slow: Store = {
    ...service.store,
    async read(query, values) {
      await turn()
      return service.store.read(query, values)
    },
  }
  await using again = await startSecondServer(service, {}, { store: slow })
  const send = request('GET', '/api/v1/dtt/sessions/5', bearer(tokens.ann))
  assert.deepEqual(await statuses(again.port, send), [200])
  assert.deepEqual(await statuses(again.port, send.repeat(3)), [200, 200, 200])
  assert.deepEqual(await statuses(again.port, request('GET', '/docs')), [200])
  assert.deepEqual(await statuses(again.port, send + send.slice(0, -10)), [200, 400])
  assert.deepEqual(await statuses(again.port, send + send.slice(0, 10)), [200, 400])
  assert.deepEqual(await statuses(again.port, ''), [])
})

test('an unexpected body of any length does not cost the client its response', async () => {
  for (const [head, code] of [
    [request('POST', '/api/v1/me', 'Content-Length: 3000000'), 'method_not_allowed'],
    [request('GET', '/api/v1/me', 'Content-Length: 3000000'), 'body_not_allowed'],
    [request('GET', `/${'a'.repeat(9000)}`), 'uri_too_long'],
    [request('POST', '/docs', 'Content-Length: 3000000'), 'method_not_allowed'],
    [request('POST', '/nothing', 'Content-Length: 3000000'), 'no_route'],
    [lines('GET /nothing HTTP/1.1', 'no header'), 'malformed_request'],
  ] as const) {
    const answers = await answersTo(service.service.port, `${head}${MARK.repeat(3_000_000 / MARK.length)}`)
    assert.deepEqual(
      answers.map(({ body }) => (JSON.parse(body) as { code: string }).code),
      [code],
    )
  }
})

test('a CONNECT request whose client disconnects does not crash the service', async () => {
  for (let count = 0; count < 10; count += 1) {
    using connection = open(service.service.port)
    await new Promise(resolve => connection.socket.once('connect', resolve))
    connection.send(lines('CONNECT a:443 HTTP/1.1', 'Host: a:443'))
    if (count % 2 === 0) await turn()
    connection.socket.resetAndDestroy()
    await turn()
  }
  assert.equal((await service.fetch('/healthz')).status, 200)
})

async function statuses(port: number, send: string): Promise<number[]> {
  return (await answersTo(port, send)).map(({ status }) => status)
}

/** A store whose reads fail. */
function broken(error: Error): Store {
  return {
    ...service.store,
    read() {
      throw error
    },
  }
}

/** Says in which row of a table a test failed. */
async function named(title: string, work: () => Promise<void>) {
  try {
    await work()
  } catch (error) {
    throw new Error(`${title}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
