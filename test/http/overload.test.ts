import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/index.ts'
import { startSecondServer } from '../support/second-server.ts'
import { assertPromised } from '../support/error-responses.ts'
import { exchange, header, open } from '../support/raw.ts'
import { trainingSession, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

const ONE = '/api/v1/dtt/sessions/5'

/** A store that, while it is told to, keeps the event loop busy with each read. */
function heavy(store: Store) {
  const load = { milliseconds: 0, reads: 0 }
  const busy: Store = {
    ...store,
    read(query, values) {
      load.reads += 1
      const until = performance.now() + load.milliseconds
      while (performance.now() < until);
      return store.read(query, values)
    },
  }
  return { store: busy, load }
}

/** Sends requests on connections of their own, all at the same moment, and returns their answers. */
async function burst(port: number, requests: readonly string[]) {
  const connections = requests.map(() => open(port))
  await Promise.all(connections.map(({ socket }) => new Promise(resolve => socket.once('connect', resolve))))
  for (const [index, connection] of connections.entries()) connection.send(requests[index] ?? '')
  const answers = await Promise.all(connections.map(connection => connection.answer()))
  for (const connection of connections) connection[Symbol.dispose]()
  return answers
}

/** A server on such a store, with this limit of the lag. */
async function startHeavy(lag: string) {
  const { service, get } = await prepare()
  const { store, load } = heavy(service.store)
  const again = await startSecondServer(service, { LOCKSTEP_OVERLOAD_LAG: lag }, { store })
  const end = async () => {
    await again.close()
    await service[Symbol.asyncDispose]()
  }
  return { again, load, get, [Symbol.asyncDispose]: end }
}

async function prepare(): Promise<{ service: TestService; get: (path: string) => string }> {
  const service = await startService([...world, trainingSession(5, 1)])
  const token = await service.token('ann')
  return { service, get: path => lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(token)) }
}

test('requests are refused while the event loop lags, and served again afterwards', async () => {
  await using server = await startHeavy('250')
  const { again, load, get } = server
  const isAnswered = async () => (await exchange(again.port, get(ONE))).status === 200
  await until(isAnswered)

  load.milliseconds = 400
  load.reads = 0
  const answers = await burst(
    again.port,
    Array.from({ length: 30 }, () => get(ONE)),
  )
  load.milliseconds = 0

  const refused = answers.filter(({ status }) => status === 503)
  assert.ok(refused.length >= 15, `${refused.length} of 30 were refused`)
  for (const answer of refused) {
    assertPromised(answer, { code: 'unavailable', closes: false, headers: { 'Retry-After': '1' } })
  }
  for (const { status } of answers) assert.ok(status === 200 || status === 503)
  assert.ok(load.reads <= 2 * (30 - refused.length), 'what is refused does not reach the store')

  await until(isAnswered)
})

test('pages are refused while the event loop lags: browsers are shown a page that says so', async () => {
  await using server = await startHeavy('250')
  const { again, load, get } = server
  const signIn = lines('GET /signin HTTP/1.1', 'Host: a', 'Accept: text/html')
  await until(async () => (await exchange(again.port, signIn)).status !== 503)
  load.milliseconds = 400
  const [first, ...others] = await burst(again.port, [get(ONE), ...Array.from({ length: 20 }, () => signIn)])
  load.milliseconds = 0
  assert.ok(first !== undefined)
  const refused = others.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0)
  for (const answer of refused) {
    assert.equal(header(answer, 'Retry-After'), '1')
    assert.match(header(answer, 'Content-Type') ?? '', /^text\/html/)
    assert.match(answer.body, /The service is not available right now\. Try again in 1 second\./)
  }
})

test('/healthz answers while other requests are refused', async () => {
  await using server = await startHeavy('150')
  const { again, load, get } = server
  await exchange(again.port, get('/healthz'))
  load.milliseconds = 300
  const paths = Array.from({ length: 20 }, (_item, index) => (index % 2 === 0 ? ONE : '/healthz'))
  const answers = await burst(again.port, paths.map(get))
  assert.ok(answers.some(({ status }) => status === 503))
  for (const [index, answer] of answers.entries()) {
    if (paths[index] === '/healthz') assert.deepEqual([answer.status, answer.body], [200, '{"ok":true}'])
  }
})

test('a single long turn of the event loop does not cause refusals', async () => {
  const { service, get } = await prepare()
  await using _ = service
  const LAG_MS = 1000
  await using again = await startSecondServer(service, { LOCKSTEP_OVERLOAD_LAG: String(LAG_MS) })
  for (let count = 0; count < 3; count += 1) {
    const until = performance.now() + LAG_MS + 200
    while (performance.now() < until);
    await sleep(50)
    assert.equal((await exchange(again.port, get(ONE))).status, 200)
  }
})

test('with an overload lag of 0 no request is refused', async () => {
  await using server = await startHeavy('0')
  const { again, load, get } = server
  load.milliseconds = 60
  const answers = await burst(
    again.port,
    Array.from({ length: 10 }, () => get(ONE)),
  )
  for (const answer of answers) assert.deepEqual([answer.status, header(answer, 'Retry-After')], [200, undefined])
})
