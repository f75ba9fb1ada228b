// engine: any
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
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

test('a request with a body that nobody asked for gets one answer, and its connection ends', async () => {
  const body = MARK.repeat(30_000 / MARK.length)
  for (const [head, status] of [
    [request('POST', '/api/v1/me', 'Content-Length: 30000'), 405],
    [request('GET', '/api/v1/me', bearer(tokens.ann), 'Content-Length: 30000'), 200],
    [request('GET', '/api/v1/me', bearer(tokens.ann), 'Content-Length: 3000000'), 200],
    [request('GET', '/docs', 'Transfer-Encoding: chunked'), 200],
    [request('POST', '/docs', 'Content-Length: 3000000'), 405],
    [request('POST', '/nothing', 'Content-Length: 3000000'), 404],
  ] as const) {
    using connection = open(service.service.port)
    connection.send(head)
    const answer = await connection.answer()
    assert.deepEqual([answer.status, header(answer, 'Connection')], [status, 'close'], head)
    connection.send(body)
    assert.equal(await connection.closed(), '')
  }
})

test('absolute targets, fragments, HTTP/1.0, Expect and upgrades are answered once', async () => {
  const key = bearer(tokens.ann)
  for (const [text, status] of [
    [lines('GET http://a/api/v1/me HTTP/1.1', 'Host: a', key), 200],
    [lines('GET /api/v1/me HTTP/1.0', key), 200],
    [lines('GET /api/v1/me HTTP/1.1', key), 200],
    [lines('GET http://a/api/v1/nothing HTTP/1.1', 'Host: a', 'Accept: text/html'), 404],
    [lines(`GET /api/v1/me#${tokens.ann} HTTP/1.1`, 'Host: a', key), 400],
    [lines('GET /api/v1/me HTTP/1.1', 'Host: a', key, 'Accept: text/html'), 200],
    [lines('GET /api/v1/me HTTP/1.1', 'Host: a', key, 'Upgrade: h2c', 'Connection: Upgrade'), 200],
  ] as const) {
    assert.equal((await exchange(service.service.port, text)).status, status, text)
  }
  using expecting = open(service.service.port)
  expecting.send(lines('GET /api/v1/me HTTP/1.1', 'Host: a', key, 'Expect: something', 'Content-Length: 9999'))
  assert.match(await expecting.closed(), /^HTTP\/1\.1 417 /)
  using tunnel = open(service.service.port)
  tunnel.send(lines('CONNECT a:443 HTTP/1.1', 'Host: a:443'))
  assert.equal(await tunnel.closed(), '')
  assert.equal((await service.fetch('/healthz')).status, 200)
})

test('no combination of lengths and encodings smuggles a request into a form', async () => {
  const encodings = ['chunked', 'Chunked', 'chunked, chunked', 'identity', 'gzip, chunked', 'xchunked', 'chunked;q=1', '\u000bchunked', '"chunked"', ',chunked'] // prettier-ignore
  const lengths = ['0', '5', '+5', '0x5', '5, 5', '5,6', '-1', '5 5', '', '999999999999999999999']
  const smuggled = lines('GET /smuggled HTTP/1.1', 'Host: localhost')
  for (const version of ['1.1', '1.0']) {
    for (const encoding of encodings) {
      const refused = lengths.map(async length => {
        const head = ['Host: localhost', `Content-Length: ${length}`, `Transfer-Encoding: ${encoding}`]
        const request = lines(`POST /signin HTTP/${version}`, ...head, 'Origin: http://localhost')
        const answers = await answersTo(service.service.port, `${request}0\r\n\r\n${smuggled}`)
        assert.deepEqual(answers.map(({ status }) => status), [400], request) // prettier-ignore
      })
      await Promise.all(refused)
    }
  }
  assert.ok(!service.log.join('').includes('smuggled'))
})

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
