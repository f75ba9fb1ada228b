import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { open, type RawAnswer } from '../support/raw.ts'
import { lockTemplate, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, unlimited } from '../support/service.ts'

// engine: sqlite

const PATH = '/api/v1/lkbx/templates/1'

/** What decides how response headers end: version, what the client wants of the connection, method, status. */
const asks = ['1.1', '1.0'].flatMap(version =>
  ['', 'Connection: close', 'Connection: keep-alive'].flatMap(connection =>
    [
      { method: 'GET', path: PATH, more: '' },
      { method: 'HEAD', path: PATH, more: '' },
      { method: 'GET', path: PATH, more: 'If-None-Match: *' },
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
