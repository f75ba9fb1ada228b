import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { detectInternals, NO_INTERNALS } from '../../src/http/node-internals.ts'
import { header, open, type RawAnswer } from '../support/raw.ts'
import { account, lockTemplate, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'
import { gatedStore } from '../support/gated-store.ts'

// engine: sqlite

const PATH = '/api/v1/lkbx/templates/1'

/** What decides how response headers end: version, what the client wants of the connection, method, status. */
const asks = ['1.1', '1.0'].flatMap(version =>
  ['', 'Connection: close', 'Connection: keep-alive'].flatMap(connection =>
    [
      { method: 'GET', path: PATH, more: '' },
      { method: 'HEAD', path: PATH, more: '' },
      { method: 'GET', path: PATH, more: 'If-None-Match: *' },
      { method: 'OPTIONS', path: PATH, more: '' },
      { method: 'GET', path: '/api/v1/nothing', more: '' },
      { method: 'HEAD', path: '/api/v1/nothing', more: '' },
    ].map(ask => ({ ...ask, version, connection })),
  ),
)

test('a connection stays open or closes after a response, and the headers say so, as Node itself does it', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)], unlimited)
  const token = await service.token('ann')
  for (const keepAlive of [5000, 65_000]) {
    await using again = await startSecondServer(service, { ...unlimited, LOCKSTEP_KEEP_ALIVE: `${keepAlive / 1000}` })
    let own: RawAnswer | undefined
    const node = createServer({ keepAliveTimeout: keepAlive }, (_, response) => {
      const { status = 500, headers = [], body = '' } = own ?? {}
      response.writeHead(status, headers.filter(([name]) => !ADDED.has(name)).flat())
      response.end(body)
    })
    node.listen(0, '127.0.0.1')
    await once(node, 'listening')
    try {
      for (const { method, path, more, version, connection } of asks) {
        const first = [`${method} ${path} HTTP/${version}`, 'Host: a', bearer(token)]
        const request = lines(...first, ...[more, connection].filter(line => line !== ''))
        own = await answerTo(again.port, request, method)
        const theirs = await answerTo((node.address() as AddressInfo).port, request, method)
        assert.deepEqual(inOneOrder(own), inOneOrder(theirs))
      }
    } finally {
      node.closeAllConnections()
      node.close()
    }
  }
})

test('all undocumented parts of Node that the server uses work in this version', async () => {
  assert.deepEqual(new Set(Object.values(await detectInternals())), new Set([true]))
})

test('the service starts and says so once if an undocumented part of Node no longer answers', async context => {
  await using service = await startService([account(1, 'ann')])
  const emit = Server.prototype.emit
  context.mock.method(Server.prototype, 'emit', function (this: Server, name: string, ...values: unknown[]) {
    return name === 'connection' || Reflect.apply(emit, this, [name, ...values])
  })
  const internals = await detectInternals()
  context.mock.restoreAll()
  assert.deepEqual({ ...internals }, { halfOpen: false, lingering: false, pieces: false, gentleClose: false })
  await using again = await startSecondServer(service, {}, { internals })
  await until(async () => again.log.length > 0)
  assert.deepEqual(
    again.log.map(line => (JSON.parse(line) as { message: string }).message),
    [
      'Parts of Node that the service makes use of do not work in this version: halfOpen, lingering, pieces, gentleClose',
    ],
  )
})

test('without undocumented parts of Node, requests are answered in order, errors included', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)], unlimited)
  const get = (path: string) => lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(token))
  const token = await service.token('ann')
  await using again = await startSecondServer(service, unlimited, { internals: NO_INTERNALS })
  using connection = open(again.port)
  connection.send(get(PATH) + get('/healthz') + get('/docs') + get('/api/v1/nothing') + lines('no request'))
  for (const status of [200, 200, 200, 404, 400]) assert.equal((await connection.answer()).status, status)
  assert.equal(await connection.closed(), '')
})

test('without undocumented parts of Node, a server that stops sends its pending responses', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)], unlimited)
  const token = await service.token('ann')
  const gate = gatedStore(service.store)
  const options = { store: gate.store, internals: NO_INTERNALS }
  await using again = await startSecondServer(service, unlimited, options)
  using connection = open(again.port)
  connection.send(lines(`GET ${PATH} HTTP/1.1`, 'Host: a', bearer(token)))
  await until(async () => gate.waiting.length > 0)
  const closed = again.close()
  await until(() => isRefused(again.port))
  gate.open()
  const answer = await connection.answer()
  assert.deepEqual([answer.status, header(answer, 'Connection')], [200, 'close'])
  await closed
})

function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return once(socket, 'connect').then(
    () => (socket.destroy(), false),
    () => true,
  )
}

/** Headers that Node adds to those it is given. */
const ADDED = new Set(['Date', 'Connection', 'Keep-Alive'])

async function answerTo(port: number, request: string, method: string): Promise<RawAnswer> {
  using connection = open(port)
  connection.send(request)
  return await connection.answer(method)
}

function undated([name, value]: readonly [string, string]) {
  return [name, name === 'Date' ? value.replace(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/, 'a date') : value]
}

function inOneOrder(answer: RawAnswer) {
  return { ...answer, headers: answer.headers.map(undated).toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)) }
}

test('with https at the public address every response lets browsers use nothing else for a year, unless a setting is off', async () => {
  const https = { LOCKSTEP_PUBLIC_URL: 'https://history.example' }
  const paths = [
    '/',
    '/signin',
    '/docs',
    '/nothing',
    '/healthz',
    '/api/v1/me',
    '/api/v1/nothing',
    '/openapi.json',
    '/client.js',
  ]
  for (const [settings, expected] of [
    [https, 'max-age=31536000'],
    [{ ...https, LOCKSTEP_HSTS: 'off' }, null],
    [{ LOCKSTEP_PUBLIC_URL: 'http://history.example' }, null],
  ] as const) {
    await using service = await startService([], { ...settings, LOCKSTEP_ADDRESS_PAGE_LIMIT: '20' })
    const ask = async (path: string) =>
      (await fetch(service.url + path, { redirect: 'manual', headers: { Accept: 'text/html' } })).headers
    for (const path of paths) assert.equal((await ask(path)).get('Strict-Transport-Security'), expected, path)
    // Also the page of a limit.
    for (let count = 0; count < 20; count += 1) await ask('/signin')
    const limited = await ask('/signin')
    assert.ok(limited.has('Retry-After'))
    assert.equal(limited.get('Strict-Transport-Security'), expected)
  }
})
