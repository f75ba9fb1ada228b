import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/index.ts'
import { makeFolder } from '../support/command.ts'
import { startSecondServer } from '../support/second-server.ts'
import { assertPromised } from '../support/error-responses.ts'
import { exchange, header, open } from '../support/raw.ts'
import { trainingSession, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

const ONE = '/api/v1/dtt/sessions/5'

/** More than may be in work before any is refused. */
const MANY = 150

/** A store that keeps the event loop busy with as many reads as it is told to. */
function heavy(store: Store) {
  const load = { milliseconds: 0, heavyReads: 0, reads: 0 }
  const busy: Store = {
    ...store,
    read(query, values) {
      load.reads += 1
      load.heavyReads -= 1
      const until = performance.now() + (load.heavyReads < 0 ? 0 : load.milliseconds)
      while (performance.now() < until);
      return store.read(query, values)
    },
  }
  return { store: busy, load }
}

/** Sends requests on connections of their own, which the server has accepted, all at the same moment. Returns their answers. */
async function burst(port: number, requests: readonly string[]) {
  const connections = requests.map(() => open(port))
  for (const connection of connections) connection.send(lines('GET /healthz HTTP/1.1', 'Host: a'))
  await Promise.all(connections.map(connection => connection.answer()))
  for (const [index, connection] of connections.entries()) connection.send(requests[index] ?? '')
  const answers = await Promise.all(connections.map(connection => connection.answer()))
  for (const connection of connections) connection[Symbol.dispose]()
  return answers
}

/** A server on such a store, with this limit of the lag. */
async function startHeavy(lag: string) {
  const { service, get } = await prepare()
  const { store, load } = heavy(service.store)
  const settings = { LOCKSTEP_OVERLOAD_LAG: lag, LOCKSTEP_CONCURRENCY_LIMIT: '0' }
  const again = await startSecondServer(service, settings, { store })
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

  Object.assign(load, { milliseconds: 400, heavyReads: 1, reads: 0 })
  const answers = await burst(
    again.port,
    Array.from({ length: MANY }, () => get(ONE)),
  )

  const refused = answers.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0, 'some were refused')
  for (const answer of refused) {
    const limited = header(answer, 'RateLimit') !== undefined
    assertPromised(answer, { code: 'unavailable', closes: false, headers: { 'Retry-After': '1' }, limited })
  }
  for (const { status } of answers) assert.ok(status === 200 || status === 503)
  assert.ok(load.reads <= 2 * (MANY - refused.length), 'what is refused does not reach the store')

  await until(isAnswered)
})

test('pages are refused while the event loop lags: browsers are shown a page that says so', async () => {
  await using server = await startHeavy('250')
  const { again, load, get } = server
  const signIn = lines('GET /signin HTTP/1.1', 'Host: a', 'Accept: text/html')
  await until(async () => (await exchange(again.port, signIn)).status !== 503)
  Object.assign(load, { milliseconds: 400, heavyReads: 1 })
  const records = Array.from({ length: MANY }, () => get(ONE))
  const answers = await burst(again.port, [...records, ...Array.from({ length: 50 }, () => signIn)])
  const refused = answers.slice(MANY).filter(({ status }) => status === 503)
  assert.ok(refused.length > 0)
  for (const answer of refused) {
    assert.equal(header(answer, 'Retry-After'), '1')
    assert.match(header(answer, 'Content-Type') ?? '', /^text\/html/)
    assert.match(answer.body, /The service is not available right now\. Try again in 1 second\./)
  }
})

test('health and assets are answered while other requests are refused', async () => {
  await using server = await startHeavy('150')
  const { again, load, get } = server
  const page = await exchange(again.port, lines('GET /signin HTTP/1.1', 'Host: a', 'Accept: text/html'))
  const style = /href="(\/assets\/[^"]+\.css[^"]*)"/.exec(page.body)?.[1] ?? ''
  Object.assign(load, { milliseconds: 300, heavyReads: 1 })
  const always = ['/healthz', '/readyz', style]
  const paths = Array.from(
    { length: MANY },
    (_item, index) => (index % 10 === 9 ? always[index % 3] : undefined) ?? ONE,
  )
  const answers = await burst(again.port, paths.map(get))
  assert.ok(answers.some(({ status }) => status === 503))
  for (const [index, { status }] of answers.entries()) {
    if (paths[index] !== ONE) assert.equal(status, 200, paths[index] ?? ONE)
  }
})

for (const count of [1, 20]) {
  test(`a process that was stopped for a second answers ${count} waiting requests late, refusing none`, async () => {
    await using folder = await makeFolder()
    const env = { LOCKSTEP_OVERLOAD_LAG: '100' }
    await using running = folder.start(['serve', '--port', '0', '--database', 'sqlite:own.db'], { env })
    const [, url = ''] = await running.says(/Listening on (\S+)/)
    assert.equal((await fetch(`${url}/signin`)).status, 200)
    running.process.kill('SIGSTOP')
    const waiting = Array.from({ length: count }, () => fetch(`${url}/signin`))
    await sleep(1000)
    running.process.kill('SIGCONT')
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200)
    assert.equal((await fetch(`${url}/api/v1/me`)).status, 401)
  })
}

test('a single long turn of the event loop does not cause refusals', async () => {
  const { service, get } = await prepare()
  await using _ = service
  const LAG_MS = 1000
  await using again = await startSecondServer(service, { LOCKSTEP_OVERLOAD_LAG: String(LAG_MS) })
  const until = performance.now() + LAG_MS + 200
  while (performance.now() < until);
  await sleep(50)
  assert.equal((await exchange(again.port, get(ONE))).status, 200)
})

test('with an overload lag of 0 no request is refused', async () => {
  await using server = await startHeavy('0')
  const { again, load, get } = server
  Object.assign(load, { milliseconds: 60, heavyReads: 5 })
  const answers = await burst(
    again.port,
    Array.from({ length: MANY }, () => get(ONE)),
  )
  for (const answer of answers) assert.deepEqual([answer.status, header(answer, 'Retry-After')], [200, undefined])
})
