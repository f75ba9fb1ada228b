import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { readConfig } from '../../src/config.ts'
import { errors } from '../../src/contract/errors.ts'
import type { RequestSummary } from '../../src/http/log.ts'
import { startService as startWhole } from '../../src/cli/service.ts'
import { header, LAST_REQUEST, open, parseAnswers, type RawAnswer } from '../support/raw.ts'
import { bearer, cast, lines, makeTokens, MARK, request, tableSettings, type Tokens } from '../support/requests.ts'
import { startService } from '../support/service.ts'

// engine: any

// To run one again, or for longer: FUZZ_SEED=1234 FUZZ_SECONDS=60
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 3)

/** Valid requests, to be mutated. */
function valid({ ann, free, lkbxOnly, revoked, expired, unknown }: Tokens): string[] {
  return [
    request('GET', '/api/v1/dtt/sessions/5', bearer(ann), 'Accept: application/json, */*;q=0.5'),
    request('GET', '/api/v1/dtt/sessions?limit=5&passed=true&from=2026-01-01&include=owner', bearer(ann)),
    request(
      'GET',
      '/api/v1/lkbx/sessions?cursor=&ownerId=1&lockState=locked',
      bearer(ann),
      'If-None-Match: "a", W/"b"',
    ),
    request('HEAD', '/api/v1/users/%31', bearer(ann), 'X-Request-Id: mine'),
    request('GET', '/api/v1/me', bearer(free), 'Expect: 100-continue', 'Range: bytes=0-1'),
    request('OPTIONS', '*', 'Origin: http://a', 'Access-Control-Request-Method: GET'),
    request('GET', 'http://a/healthz?x=%C3%A9', 'Connection: keep-alive'),
    request('GET', '/openapi.json', 'Accept-Encoding: gzip'),
    `${request('POST', '/api/v1/me', bearer(ann), 'Content-Length: 5')}hello`,
    `${request('DELETE', '/api/v1/dtt/5', bearer(ann), 'Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`,
    request('GET', '/api/v1/dtt/sessions/latest', bearer(lkbxOnly)),
    request('GET', '/api/v1/dtt/sessions/6?include=owner', bearer(free)),
    request('GET', '/api/v1/lkbx/session/current?targetUserId=3', bearer(ann), bearer(revoked)),
    request('GET', '/api/v1/users?limit=1&offset=1', bearer(expired), 'Accept: text/html'),
    request('GET', '/api/v1/lkbx/5', bearer(unknown), 'Content-Length: 0'),
    lines('GET /api/v1/dtt/templates/active HTTP/1.0', bearer(ann), 'Connection: keep-alive'),
  ]
}

/** Texts that parsers often get wrong. */
const stumbling = [
  '\r\n', '\r\n\r\n', '\n', '\r', '\0', ' ', '\t', '  ', '%', '%00', '%2F', '%C0%AF', '%ED%A0%80', '\x80', '\xff', '\x7f', '#', '\\', '"', ':', ';', ',', '&', '=', '?', '/', '//', '/../', '*', '+', '-1',
  '0x10', '1e9', '99999999999999999999', 'HTTP/1.1', 'HTTP/1.0', ' HTTP/2.0', ' HTTP/9.9', 'GET ', 'HEAD ', 'POST ', 'CONNECT ', 'TRACE ', 'FOO ', 'http://b', 'https://a', 'lks_', '__proto__', 'constructor',
  'Host: b\r\n', 'Host:\r\n', 'Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'Content-Length: -1\r\n', 'Content-Length: 5, 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip\r\n', 'Transfer-Encoding: identity\r\n',
  'Expect: 100-continue\r\n', 'Expect: x\r\n', 'Connection: close\r\n', 'Connection: keep-alive\r\n', 'Connection: Upgrade\r\nUpgrade: h2c\r\n', 'Upgrade: websocket\r\n', 'Authorization: Bearer x\r\n', 'Accept: ;q=0\r\n', 'Accept: */*;q=0\r\n',
  'If-None-Match: *\r\n', 'X-Forwarded-For: ::1\r\n', ' folded\r\n', 'no colon\r\n', ': no name\r\n', 'Trailer: X\r\n', 'X: 1\r\n'.repeat(120), `X: ${'x'.repeat(17_000)}\r\n`, 'y'.repeat(9000), 'z'.repeat(40_000),
  '5\r\nhello\r\n', '0\r\n\r\n', 'ffffffffffffffff\r\n', 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\x16\x03\x01\x02\0\x01',
] // prettier-ignore

/** Replacements for a word of a request. */
const words = [
  '', '0', '1', '5', '99', '-1', '05', '1e1', 'x', 'latest', 'active', 'LATEST', 'true', 'null', 'limit', 'offset', 'cursor', 'ownerId', 'include', 'unknown', 'token', 'v1', 'me', 'dtt', 'lkbx', 'sessions', '..', '.', '%2e',
  '%35', '%6Cimit', '5%2F6', '%', '%00', '[]', 'GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'Bearer', 'Basic', 'text/html', '*', '2026-02-30', '2026-02-16T18:00:00Z', 'close', 'chunked', 'Host', 'Authorization', 'Accept', '9'.repeat(30),
] // prettier-ignore

/** Valid headers, which may exceed a limit or repeat another one. */
const headers = [
  'Host: a', 'Host: b', 'Accept: text/html', 'Accept: */*', 'Expect: x', 'Expect: 100-continue', 'Content-Length: 0', 'Content-Length: 3', 'Transfer-Encoding: chunked', 'Authorization: Bearer x', 'Authorization: Basic x',
  'If-None-Match: *', 'Connection: close', 'Upgrade: h2c', 'Origin: http://a', 'X-Forwarded-For: ::1', 'X-Request-Id: x',
] // prettier-ignore

type Spoil = (text: string) => string
// Anywhere, where a number that comes easily would be near the start.
const place = fc.noBias(fc.nat(9999)).map(part => part / 10_000)
const at = (text: string, where: number) => Math.floor(where * (text.length + 1))

/** One change to the text of a request. */
const spoil: fc.Arbitrary<Spoil> = fc.oneof(
  { weight: 12, arbitrary: fc.tuple(place, fc.constantFrom(...words)).map(([where, word]): Spoil => text => text.replace(wordAt(text, where), () => word)) },
  { weight: 6, arbitrary: fc.tuple(place, fc.constantFrom(...headers)).map(([where, more]): Spoil => text => afterLine(text, where, `${more}\r\n`)) },
  fc.tuple(place, fc.constantFrom(...stumbling)).map(([where, more]): Spoil => text => text.slice(0, at(text, where)) + more + text.slice(at(text, where))),
  fc.tuple(place, fc.constantFrom(...stumbling)).map(([where, more]): Spoil => text => afterLine(text, where, more)),
  fc.tuple(place, fc.nat(255)).map(([where, byte]): Spoil => text => text.slice(0, at(text, where)) + String.fromCharCode(byte) + text.slice(at(text, where) + 1)),
  fc.tuple(place, fc.nat(40)).map(([where, length]): Spoil => text => text.slice(0, at(text, where)) + text.slice(at(text, where) + length)),
  fc.tuple(place, place).map(([from, to]): Spoil => text => afterLine(text, to, lineAt(text, from))),
  place.map((where): Spoil => text => text.replace(lineAt(text, where), '')),
  place.map((where): Spoil => text => text.slice(0, at(text, where))),
  fc.constant<Spoil>(text => text + text),
  fc.constant<Spoil>(text => text.replaceAll('\r\n', '\n')),
  fc.constant<Spoil>(text => text.toUpperCase()),
) // prettier-ignore

function wordAt(text: string, where: number): RegExp | string {
  const all = [...text.matchAll(/[\w%[\]*.-]+/g)]
  const found = all[Math.floor(where * all.length)]
  return found === undefined ? '' : new RegExp(`(?<=^[^]{${found.index}})[^]{${found[0].length}}`)
}

function lineAt(text: string, where: number): string {
  const all = text.split(/(?<=\n)/)
  return all[Math.floor(where * all.length)] ?? ''
}

function afterLine(text: string, where: number, more: string): string {
  const all = text.split(/(?<=\n)/)
  return all.toSpliced(Math.floor(where * (all.length + 1)), 0, more).join('')
}

const promised = new Set<number>([200, 204, 303, 304, ...Object.values(errors).map(({ status }) => status)])
promised.delete(500)
promised.delete(503)

test(`whatever clients send, each request gets exactly one documented response, and the service keeps running (seed ${seed})`, async () => {
  await using service = await startService(cast, tableSettings)
  const tokens = await makeTokens(service)
  const seen: { summary: RequestSummary; aborted: boolean }[] = []
  const failures: unknown[] = []
  const server = await startWhole({
    store: service.store,
    config: readConfig({
      LOCKSTEP_PORT: '0',
      LOCKSTEP_CORS_ORIGINS: 'http://a',
      LOCKSTEP_CONCURRENCY_LIMIT: '0',
      LOCKSTEP_HEADERS_TIMEOUT: '0.5',
      LOCKSTEP_REQUEST_TIMEOUT: '1',
      LOCKSTEP_KEEP_ALIVE: '1',
      ...tableSettings,
    }),
    log: {
      request: (summary, aborted) => seen.push({ summary, aborted }),
      failure: error => failures.push(error),
      flush: () => {},
    },
  })
  const right = valid(tokens)
  const requests = fc.array(
    fc.tuple(fc.nat(right.length - 1), fc.array(spoil, { maxLength: 3 })).map(([index, spoils]) => spoils.reduce((text, one) => one(text), right[index] ?? '')),
    { minLength: 1, maxLength: 4 },
  ) // prettier-ignore
  const cuts = fc.array(place, { maxLength: 6 })

  const check = async (texts: readonly string[], where: readonly number[]) => {
    seen.length = 0
    const bytes = Buffer.from(texts.join(''), 'latin1')
    using connection = open(server.port)
    let sent = 0
    for (const cut of where.map(part => Math.floor(part * bytes.length)).toSorted((a, b) => a - b)) {
      connection.send(bytes.subarray(sent, cut))
      sent = cut
      await turn()
    }
    connection.send(Buffer.concat([bytes.subarray(sent), Buffer.from(LAST_REQUEST)]))
    const received = await connection.closed()
    const ours = received.replaceAll(EXPECTATION_FAILED, '')
    await turn()

    // Who says that the connection ends and sends more can lose the rest of the answer: the system resets the connection. So can who sends
    // a body that is not read, and who asks for `100 Continue` behind another request: their answers close the connection, too.
    const isCut =
      /close|HTTP\/1\.0|100-continue|content-length|transfer-encoding/i.test(texts.join('')) && !isWhole(ours)
    if (isCut) return

    const methods = new Map(seen.map(({ summary }) => [summary.requestId, summary.method]))
    const answers = parseAnswers(
      Buffer.from(ours, 'latin1'),
      head => methods.get(header(head, 'X-Request-Id') ?? '') ?? 'GET',
    )
    for (const answer of answers) assertSound(answer)
    assert.deepEqual(
      answers.map(answer => header(answer, 'X-Request-Id')),
      seen
        .filter(({ aborted }) => !aborted)
        .toSorted((a, b) => a.summary.startedAt - b.summary.startedAt)
        .map(({ summary }) => summary.requestId),
      'one answer for each request, in their order',
    )
    assert.deepEqual(failures, [])
    const isRefusedByNode = ours !== received || texts.some(text => text.includes('CONNECT '))
    assert.ok(answers.length > 0 || isRefusedByNode, 'something was asked, so something is said')
  }

  try {
    await fc.assert(fc.asyncProperty(requests, cuts, check), {
      seed,
      numRuns: Number.MAX_SAFE_INTEGER,
      plugins: [fc.interruptAfterTimeLimit(seconds * 1000)],
    })
    const answer = await fetch(`${server.url}/api/v1/me`, { headers: { Authorization: `Bearer ${tokens.ann}` } })
    assert.equal(answer.status, 200)
  } finally {
    await server.close()
  }
})

/** Whether the last answer has as many bytes as it says. */
function isWhole(received: string): boolean {
  const start = received.lastIndexOf('HTTP/1.1 ')
  const [head = '', body = ''] = received.slice(start).split(/\r\n\r\n([^]*)/, 2)
  const length = /^content-length: (\d+)$/im.exec(head)?.[1]
  return !head.startsWith('HTTP/1.1 100 ') && (length === undefined || body.length >= Number(length))
}

/** Node answers an unknown `Expect` itself, and closes the connection of a CONNECT. */
const EXPECTATION_FAILED =
  /HTTP\/1\.1 417 Expectation Failed\r\nConnection: close\r\nDate: [^\r]+(?:\r\nTransfer-Encoding: chunked)?\r\n\r\n(?:0\r\n\r\n)?/g

/** Checks what holds for every response. */
function assertSound(answer: RawAnswer) {
  const { status, body } = answer
  assert.ok(promised.has(status), `${status} ${body}`)
  assert.equal(header(answer, 'X-Content-Type-Options'), 'nosniff')
  assert.ok(header(answer, 'Date') !== undefined)
  assert.ok(!JSON.stringify(answer).includes(MARK), 'nothing of the request is repeated')
  if (status < 400 || body === '') return
  // To a browser, beside the API.
  if (header(answer, 'Content-Type')?.startsWith('text/html') === true) {
    assert.equal(status, 404)
    return
  }
  const { code, requestId } = JSON.parse(body) as { code: keyof typeof errors; requestId: string }
  assert.equal(errors[code].status, status)
  assert.equal(requestId, header(answer, 'X-Request-Id'))
}
