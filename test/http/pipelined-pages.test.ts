// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { limits } from '../../src/http/limits.ts'
import { makeMetrics } from '../../src/http/metrics.ts'
import { answersTo, exchange, open } from '../support/raw.ts'
import { world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'
import { gatedStore } from '../support/gated-store.ts'
import { signInAs } from '../support/dashboard.ts'

let service: TestService
let cookie: string
before(async () => {
  service = await startService(world, unlimited)
  const ann = await signInAs(service, 'ann')
  cookie = `Cookie: session=${ann.cookies.get('session')}`
})
after(() => service[Symbol.asyncDispose]())

const page = (path: string) => lines(`GET ${path} HTTP/1.1`, 'Host: localhost', cookie)

test('pipelined requests for pages and for the API are all answered, in their order', async () => {
  const token = await service.token('ann')
  const api = lines('GET /api/v1/me HTTP/1.1', 'Host: localhost', bearer(token))
  const form = lines('POST /signout HTTP/1.1', 'Host: localhost', 'Origin: http://b', 'Content-Length: 3')
  const asked: readonly (readonly [request: string, status: number])[] = [
    [page('/training'), 200],
    [api, 200],
    [page('/locks/x'), 404],
    [page('/healthz'), 200],
    [page('/openapi.json'), 200],
    [page('/nothing'), 404],
  ]
  const all = Array.from({ length: 2 }, () => asked).flat()
  const answers = await answersTo(
    service.service.port,
    `${all.map(([request]) => request).join('')}${form}a=b${page('/training')}`,
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...all.map(([, status]) => status), 403],
  )
})

test('pages of a connection are made one at a time, and dropped when it ends', async () => {
  const metrics = makeMetrics()
  const server = await startSecondServer(service, unlimited, { metrics })
  using connection = open(server.port)
  connection.send(page('/training').repeat(MAX))
  assert.equal((await connection.answer()).status, 200)
  connection.socket.destroy()
  assert.equal((await exchange(server.port, page('/training'))).status, 200)
  await server.close()
  const made = server.log.join('').match(/"route":"\/training"/g)?.length ?? 0
  assert.ok(made >= 2 && made < MAX, `${made} pages were made`)
  assert.match(await metrics.text(), /\{limit="pages"\} [1-9]/)
})

test('a connection with more requests than may wait for a response is closed', async () => {
  const gate = gatedStore(service.store)
  const metrics = makeMetrics()
  const server = await startSecondServer(service, unlimited, { store: gate.store, metrics })
  const request = lines('GET /api/v1/me HTTP/1.1', 'Host: a', bearer(await service.token('ann')))
  using allowed = open(server.port)
  allowed.send(request.repeat(MAX))
  await until(async () => gate.waiting.length > 0)
  using refused = open(server.port)
  refused.send(request.repeat(MAX + 1))
  assert.equal(await refused.closed(), '')
  using flooding = open(server.port)
  flooding.send(request.repeat(20_000))
  await flooding.closed()
  gate.open()
  for (let count = 0; count < MAX; count += 1) assert.equal((await allowed.answer()).status, 200)
  allowed.socket.destroy()
  await server.close()
  assert.equal(server.log.join('').match(/"method":"GET"/g)?.length, 3 * MAX, 'others are not begun')
  assert.match(await metrics.text(), /\{limit="pipelined"\} 2/)
})

test('after one connection has sent a thousand requests at once, others are read in pieces', async () => {
  await using server = await startSecondServer(service, unlimited)
  const readOf = new Map<number | undefined, number>()
  const note = (message: unknown) => {
    const { remotePort } = (message as { readonly socket: Socket }).socket
    readOf.set(remotePort, (readOf.get(remotePort) ?? 0) + 1)
  }
  subscribe('http.server.request.start', note)
  const connections = Array.from({ length: 5 }, () => open(server.port))
  const request = lines('GET /nothing HTTP/1.1', 'Host: a')
  await Promise.all(connections.map(({ socket }) => once(socket, 'connect')))
  for (const connection of connections) connection.send(request.repeat(60_000 / request.length))
  await Promise.all(connections.map(connection => connection.closed()))
  // A request that arrives in pieces is answered like others.
  const form = lines('POST /signout HTTP/1.1', 'Host: localhost', 'Origin: http://b', 'Content-Length: 5000')
  assert.equal((await exchange(server.port, form + 'a'.repeat(5000))).status, 403)
  assert.equal((await exchange(server.port, page('/training'))).status, 200)
  unsubscribe('http.server.request.start', note)
  const [most = 0, next = 0] = [...readOf.values()].toSorted((a, b) => b - a)
  assert.ok(most > 1000 && next < 40, `${most} and ${next} were read`)
})

const MAX = limits.pipelined.max
