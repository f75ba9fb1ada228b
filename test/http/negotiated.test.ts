import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { matchesEtag } from '../../src/contract/responses.ts'
import { acceptsJson } from '../../src/http/request.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { startSecondServer } from '../support/second-server.ts'
import { answersTo, exchange, header, open, type RawAnswer } from '../support/raw.ts'
import { EVERYWHERE } from '../support/error-responses.ts'
import { oneOfEach, trainingSession, world } from '../support/records.ts'
import { bearer, lines, MARK, OUTSIDE_API } from '../support/requests.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

// engine: any

const ONE = '/api/v1/dtt/sessions/5'
const PATHS = Object.values<Endpoint>(api).map(({ path }) =>
  path.replace(':id', path.startsWith('/api/v1/users') ? '1' : '5'),
)

let service: TestService
let token: string
before(async () => {
  service = await startService([...world, ...oneOfEach(5, 1), trainingSession(6, 1), trainingSession(7, 1)], unlimited)
  token = await service.token('ann')
})
/** Notes the token as used, so that /me answers the same for a minute. */
const noteKeyUse = () => service.store.db.updateTable('token').set({ last_used_at: Date.now() }).execute()
after(() => service[Symbol.asyncDispose]())

const ask = (target: string, ...headers: readonly string[]) => send('GET', target, ...headers)

function send(method: string, target: string, ...headers: readonly string[]): Promise<RawAnswer> {
  return exchange(service.service.port, lines(`${method} ${target} HTTP/1.1`, 'Host: a', bearer(token), ...headers))
}

/** The parts of a response that are equal for equal requests. */
function lasting({ status, headers, body }: RawAnswer) {
  const kept = headers.filter(([name]) => !/^(x-request-id|date)$/i.test(name))
  const id = headers.find(([name]) => /^x-request-id$/i.test(name))?.[1] ?? ''
  return { status, headers: kept, body: body.replace(id, '') }
}

const acceptable: readonly (string | undefined)[] = [
  undefined, '', '  ', ',', ', ,', '*/*', 'application/json', 'application/*', 'APPLICATION/Json', ' application/json ',
  'application/json;q=0.001', 'application/json ; q=0.5', 'application/json;Q=1', 'application/json;q=1.000', 'text/html, */*;q=0.1',
  'text/html;q=1, application/json;q=0.1', '*/*;q=0, application/json', 'application/*;q=0, application/json', '*/*;q=0, application/*;q=0.2',
  'application/json;charset=utf-8', 'application/json; charset="UTF-8"; q=0.3', 'application/json;q=0, application/json;charset=utf-8',
  'application/json;q=0, application/json;q=0.1', 'text/html;x="a,b", application/json', 'text/html;x="a, b', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  // Not parsable, which counts as absent.
  'json', '/', 'application/', '*', 'text/html;q=0 application/json', 'text html', '"application/json"', 'text/html;q=0, (comment)',
] // prettier-ignore

const excluding = [
  'text/html', 'text/*', 'text/html, image/*;q=0.5', 'application/xml', 'application/vnd.api+json', 'application/jsonx',
  'application/json;q=0', 'application/json; q=0.000', '*/*;q=0', 'application/*;q=0', 'application/*;q=0, */*', 'application/json;q=0, */*',
  'application/json;q=0, application/*', 'application/json;charset=utf-8;q=0, application/json', 'application/json;charset=utf-16',
  'text/html;level=1;q=1, text/html;q=0.7', 'text/html;', 'text/html;x="a,b"', 'text/html;x="a\\",b", image/png',
  'application/json;x=";q=1"', 'text/html;x=", application/json"',
] // prettier-ignore

test('a request is answered if the most specific range of Accept allows JSON, or Accept cannot be parsed', async () => {
  for (const accept of acceptable) {
    assert.equal((await ask(ONE, ...(accept === undefined ? [] : [`Accept: ${accept}`]))).status, 200, String(accept))
  }
  for (const accept of excluding) assert.equal((await ask(ONE, `Accept: ${accept}`)).status, 406, accept)
  assert.equal((await ask(ONE, 'Accept: text/html', 'Accept: application/json;q=0.1')).status, 200)
  assert.equal((await ask(ONE, 'Accept: application/json;q=0', 'Accept: */*')).status, 406)
})

test('of any ranges in any order the most specific match decides, and of equal ones the highest weight', () => {
  const ranges = ['application/json', 'application/*', '*/*', 'text/html', 'text/*', 'image/png']
  const range = fc.record({
    type: fc.constantFrom(...ranges),
    weight: fc.constantFrom('', ';q=0', ';q=0.0', ';q=0.001', ' ; q=0.5', ';\tQ=1', ';q=1.0'),
    space: fc.constantFrom('', ' ', '\t'),
  })
  fc.assert(
    fc.property(fc.array(range, { minLength: 1, maxLength: 6 }), sent => {
      const text = sent.map(({ type, weight, space }) => `${space}${type}${weight}${space}`).join(',')
      const decisive = ranges.slice(0, 3).find(type => sent.some(one => one.type === type))
      const allowed = sent.some(({ type, weight }) => type === decisive && !/=0(\.0*)?$/.test(weight))
      assert.equal(acceptsJson(text), allowed, text)
    }),
  )
})

test('no header takes long to parse', async () => {
  const odd = [
    '; ',
    ';',
    ' ',
    '\t',
    ',',
    ';a=',
    ';a="',
    '"',
    '\\"',
    'a/b;',
    'a/b,',
    '*/*;q=',
    ', "',
    'W/"',
    'W/',
    '",',
    '/',
  ]
  for (const text of odd) {
    const long = text.repeat(15_000 / text.length)
    for (const value of [
      long,
      `a/b${long}\x01`.slice(0, -1),
      `application/json${long}@`,
      `"${long}`,
      `W/"a"${long}@`,
    ]) {
      const before = process.cpuUsage()
      acceptsJson(value)
      matchesEtag(value, '"x"')
      const { user } = process.cpuUsage(before)
      assert.ok(user < 200_000, JSON.stringify(value.slice(0, 30)))
    }
  }
})

test('a current validator gets 304 without a body, in every form of If-None-Match', async () => {
  for (const path of [ONE, '/api/v1/dtt/sessions?cursor=', '/api/v1/lkbx/session/current', '/api/v1/me']) {
    await noteKeyUse()
    const etag = header(await ask(path), 'ETag') ?? ''
    assert.match(etag, /^"[A-Za-z0-9_-]+"$/)
    for (const form of [
      etag,
      `W/${etag}`,
      '*',
      ` * `,
      `"other", ${etag}`,
      `${etag}, "other"`,
      `W/"other" ,\tW/${etag},`,
      `"a,b",${etag}`,
      `, ${etag}`,
      `"", ${etag}`,
    ]) {
      // prettier-ignore
      const { status, body } = await ask(path, `If-None-Match: ${form}`)
      assert.deepEqual([status, body], [304, ''], form)
    }
    for (const form of [
      '',
      etag.slice(1, -1),
      etag.slice(0, -1),
      etag.slice(1),
      `w/${etag}`,
      `W/ ${etag}`,
      '"*"',
      '"other"',
      `"x${etag}`,
      `${etag}x`,
      `a=${etag}`,
      `'${etag.slice(1, -1)}'`,
      `${etag.slice(0, -2)}"`,
      etag.toUpperCase(),
    ]) {
      // prettier-ignore
      assert.equal((await ask(path, `If-None-Match: ${form}`)).status, 200, form)
    }
    assert.equal((await ask(path, 'If-None-Match: "other"', `If-None-Match: ${etag}`)).status, 304)
  }
  assert.equal((await ask('/api/v1/dtt/sessions/99', 'If-None-Match: *')).status, 404, 'nothing is not unchanged')
})

const ignored = [
  'Range: bytes=0-1', 'Range: bytes=99999-', 'If-Range: "x"', 'If-Match: "x"', 'If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT',
  'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT', 'Upgrade: websocket', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__',
  'Connection: Upgrade, HTTP2-Settings', 'Accept-Encoding: gzip, br', 'Accept-Encoding: identity;q=0', 'Accept-Charset: utf-16', 'Accept-Language: fi',
  'X-HTTP-Method-Override: DELETE', 'X-HTTP-Method: DELETE', 'X-Method-Override: DELETE', 'X-Original-URL: /healthz', 'X-Rewrite-URL: /healthz',
  'X-Forwarded-Host: elsewhere', 'X-Forwarded-Proto: gopher', 'X-Forwarded-For: 203.0.113.7', 'Forwarded: for=203.0.113.7', 'X-Forwarded-Prefix: /x',
  'Content-Type: text/plain', 'Content-Encoding: gzip', 'Content-Length: 0', 'TE: trailers', 'Trailer: X', 'Cookie: token=1', 'Origin: http://elsewhere',
  'Max-Forwards: 0', 'Cache-Control: only-if-cached', 'Pragma: no-cache', 'Transfer: chunked', 'X-Request-Id: mine', 'Sec-Fetch-Mode: navigate',
] // prettier-ignore

test('Range, Upgrade, Accept-Encoding and override headers are ignored', async () => {
  const plain = lasting(await ask(ONE))
  assert.equal(plain.status, 200)
  for (const line of ignored) assert.deepEqual(lasting(await ask(ONE, line)), plain, line)
  assert.deepEqual(
    lasting(await ask(ONE, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: eA==')),
    plain,
  )
})

test('a client that sends Expect: 100-continue gets its response at once, without an interim one', async () => {
  for (const path of [ONE, '/healthz']) {
    using connection = open(service.service.port)
    connection.send(lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(token), 'Expect: 100-Continue'))
    assert.equal((await connection.answer()).status, 200)
  }
  const post = await send('POST', ONE, 'Expect: 100-continue', 'Content-Length: 5')
  assert.deepEqual([post.status, header(post, 'Connection')], [405, 'close'])
})

test('a client that expects 100-continue and more gets 417, and its connection is closed, whatever follows', async () => {
  for (const more of ['Expect: 100-continue', 'Expect: x', 'Expect: x100-continue, 100-continue']) {
    using connection = open(service.service.port)
    const first = lines(`GET ${ONE} HTTP/1.1`, 'Host: a', 'Expect: 100-continue', more)
    connection.send(`${first}${lines('GET /healthz HTTP/1.1', 'Host: a')}no request\r\n\r\n`)
    const { status } = await connection.answer()
    assert.equal(status, 417)
    assert.equal(await connection.closed(), '')
  }
})

const dressed: Readonly<Record<string, (path: string, token: string) => string>> = {
  'as most send it': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(own)),
  'the scheme in capitals': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: a', `Authorization: BEARER ${own}`),
  'spaces around the token': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: a', `authorization:  bEARER    ${own}  `),
  'tabs around the header': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host:\ta\t', `AUTHORIZATION:\tBearer ${own}\t`),
  'no space after the colon': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host:a', `Authorization:Bearer ${own}`),
  'empty lines before it': (path, own) => `\r\n\r\n${lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(own))}`,
  'HTTP/1.0 without a Host': (path, own) => lines(`GET ${path} HTTP/1.0`, bearer(own)),
  'HTTP/1.0 that stays': (path, own) => lines(`GET ${path} HTTP/1.0`, 'Host: a', 'Connection: keep-alive', bearer(own)),
  'an absolute target': (path, own) => lines(`GET http://a${path} HTTP/1.1`, 'Host: a', bearer(own)),
  'an absolute target in capitals': (path, own) => lines(`GET HTTPS://A:8080${path} HTTP/1.1`, 'Host: a:8080', bearer(own)),
  'an absolute target in HTTP/1.0': (path, own) => lines(`GET http://a${path} HTTP/1.0`, bearer(own)),
  'a Host with a port': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: history.example:443', bearer(own)),
  'a Host with an empty port': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: history.example:', bearer(own)),
  'an IPv4 address as Host': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: 192.0.2.1:80', bearer(own)),
  'an IPv6 address as Host': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: [2001:db8::1]:80', bearer(own)),
  'a Host of odd characters': (path, own) => lines(`GET ${path} HTTP/1.1`, "Host: A_b-c.~!$&'()*+;=%61", bearer(own)),
  'everything encoded that can be': (path, own) =>
    lines(`GET ${path.replaceAll(/[a-z]/g, found => `%${found.charCodeAt(0).toString(16)}`)} HTTP/1.1`, 'Host: a', bearer(own)),
  'a question mark': (path, own) => lines(`GET ${path}? HTTP/1.1`, 'Host: a', bearer(own)),
  'empty pairs': (path, own) => lines(`GET ${path}?&&& HTTP/1.1`, 'Host: a', bearer(own)),
  'a length of 0': (path, own) => lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(own), 'Content-Length: 0'),
  'a hundred headers': (path, own) =>
    lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(own), ...Array.from({ length: 98 }, (_, index) => `X-${index}: 1`)),
  'headers of 16 KiB': (path, own) => {
    const own16 = ['Host: a', bearer(own), 'X: ']
    const size = own16.reduce((sum, line) => sum + line.length + 2, 0)
    return lines(`GET ${path} HTTP/1.1`, ...own16.slice(0, 2), `X: ${'x'.repeat(16 * 1024 - size)}`)
  },
} // prettier-ignore

for (const [title, dress] of Object.entries(dressed)) {
  test(`an unusual but valid request is answered: ${title}`, async () => {
    const plain = await ask(ONE)
    const { status, body } = await exchange(service.service.port, dress(ONE, token))
    assert.deepEqual([status, body], [200, plain.body])
  })
}

test('the limits of headers are exact: one more byte or one more header is refused', async () => {
  for (const title of ['headers of 16 KiB', 'a hundred headers']) {
    const full = dressed[title]?.(ONE, token) ?? ''
    const more = title === 'a hundred headers' ? full.replace('X-1: ', 'X-1: \r\nX: ') : full.replace('X: x', 'X: xx')
    assert.equal((await exchange(service.service.port, more)).status, 431)
  }
})

test('a target of 8192 bytes is accepted, one of 8193 is refused', async () => {
  const target = (size: number) => `${ONE}?x=${'a'.repeat(size - ONE.length - 3)}`
  assert.equal((await ask(target(8192))).status, 400)
  assert.equal((await ask(target(8193))).status, 414)
})

test('HEAD gets the headers of GET everywhere, Content-Length included, and no body', async () => {
  for (const path of [
    ...PATHS,
    ...OUTSIDE_API,
    '/nothing',
    '/api/v1/dtt/sessions/99',
    '/api/v1/dtt/sessions?limit=0',
    '/api/v1/me/',
  ]) {
    await noteKeyUse()
    const get = lasting(await ask(path))
    const head = lasting(await send('HEAD', path))
    assert.deepEqual(head, { ...get, body: '' }, path)
  }
  for (const headers of [[], ['Authorization: Bearer x'], [bearer(token), 'Accept: text/html']]) {
    const [get, head] = await Promise.all(
      ['GET', 'HEAD'].map(method =>
        exchange(service.service.port, lines(`${method} ${ONE} HTTP/1.1`, 'Host: a', ...headers)),
      ),
    )
    assert.ok(get !== undefined && head !== undefined && get.status >= 400)
    assert.deepEqual(lasting(head), { ...lasting(get), body: '' })
  }
  const etag = header(await ask(ONE), 'ETag') ?? ''
  assert.equal((await send('HEAD', ONE, `If-None-Match: ${etag}`)).status, 304)
})

test('HEAD and GET can be mixed on one connection', async () => {
  const requests = ['HEAD', 'GET', 'HEAD', 'HEAD', 'GET'].map(method =>
    lines(`${method} ${ONE} HTTP/1.1`, 'Host: a', bearer(token)),
  )
  const answers = await answersTo(service.service.port, requests.join(''), ['HEAD', 'GET', 'HEAD', 'HEAD', 'GET'])
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.length > 0]),
    [false, true, false, false, true].map(hasBody => [200, hasBody]),
  )
})

test('OPTIONS lists the methods of every path and of the service, without an API key', async () => {
  for (const target of [...PATHS, ...OUTSIDE_API, '*', `http://a${ONE}`]) {
    const text = lines(`OPTIONS ${target} HTTP/1.1`, 'Host: a', 'Accept: text/html', 'Origin: http://elsewhere')
    const answer = await exchange(service.service.port, text)
    assert.deepEqual([answer.status, header(answer, 'Allow'), answer.body], [204, 'GET, HEAD, OPTIONS', ''], target)
    for (const [name, value] of Object.entries(EVERYWHERE)) assert.equal(header(answer, name), value)
    assert.ok(answer.headers.every(([name]) => !name.startsWith('Access-Control') && !name.startsWith('RateLimit')))
    assert.ok(answer.kept)
  }
  const withBody = await send('OPTIONS', ONE, 'Content-Length: 3')
  assert.deepEqual([withBody.status, header(withBody, 'Connection')], [204, 'close'])
})

test('every response of the API has the documented headers, and none that names the software', async () => {
  for (const path of PATHS) {
    const answer = await ask(path)
    assert.equal(answer.status, 200, path)
    for (const [name, value] of Object.entries(EVERYWHERE)) assert.equal(header(answer, name), value, name)
    assert.match(header(answer, 'X-Request-Id') ?? '', /^[A-Za-z0-9._-]{16,}$/)
    assert.equal(header(answer, 'Content-Type'), 'application/json; charset=utf-8')
    const names = answer.headers.map(([name]) => name.toLowerCase())
    for (const name of ['server', 'x-powered-by', 'set-cookie', 'vary', 'age', 'via']) assert.ok(!names.includes(name))
  }
})

test('the request id of a client is logged only in plain form, and never if it looks like an API key', async () => {
  const names: Readonly<Record<string, boolean>> = {
    'abc-1.2_3': true,
    ['a'.repeat(64)]: true,
    ['a'.repeat(65)]: false,
    '': false,
    'two words': false,
    'a"b': false,
    'a\\nb': false,
    'a,b': false,
    '<b>': false,
    'caf\xe9': false,
    '{}': false,
    [mintKey()]: false,
    [token]: false,
    [`x.${token}`]: false,
    [token.slice(0, -1)]: false,
    [token.slice(0, 10).toUpperCase()]: false,
  }
  const again = await startSecondServer(service)
  for (const name of Object.keys(names)) {
    const text = lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(token), `X-Request-Id: ${name}`)
    const answer = await exchange(again.port, Buffer.from(text, 'latin1'))
    assert.notEqual(header(answer, 'X-Request-Id'), name, 'ours is made here')
  }
  await exchange(again.port, lines(`GET /${MARK} HTTP/1.1`, 'Host: a', 'X-Request-Id: refused-too'))
  await again.close()
  const logged = again.log
    .join('')
    .trim()
    .split('\n')
    .flatMap(line => (JSON.parse(line) as { clientRequestId?: string }).clientRequestId ?? [])
  assert.deepEqual(logged, [...Object.keys(names).filter(name => names[name]), 'refused-too'])
})
