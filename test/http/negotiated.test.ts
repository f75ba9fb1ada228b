import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { matchesEtag } from '../../src/contract/validators.ts'
import { exchange, header, type RawAnswer } from '../support/raw.ts'
import { oneOfEach, trainingSession, world } from '../support/records.ts'
import { bearer, lines, OUTSIDE_API } from '../support/requests.ts'
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

test('no If-None-Match takes long to parse', () => {
  for (const text of [' ', '\t', ',', '"', '\\"', ', "', 'W/"', 'W/', '",']) {
    const long = text.repeat(15_000 / text.length)
    for (const value of [long, `"${long}`, `W/"a"${long}@`]) {
      const before = process.cpuUsage()
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
      `${etag.slice(0, -1)}-gzip"`,
      `W/${etag.slice(0, -1)}-br"`,
      '*',
      ` * `,
      `"other", ${etag}`,
      `W/"other" ,\tW/${etag},`,
      `, ${etag}`,
    ]) {
      // prettier-ignore
      const { status, body } = await ask(path, `If-None-Match: ${form}`)
      assert.deepEqual([status, body], [304, ''], form)
    }
    for (const form of [
      '',
      etag.slice(1, -1),
      `w/${etag}`,
      '"*"',
      '"other"',
      `"x${etag}`,
      `a=${etag}`,
      `'${etag.slice(1, -1)}'`,
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
  for (const headers of [[], ['Authorization: Bearer x']]) {
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
