// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sampleService, visitor } from '../support/dashboard.ts'
import { judgeHealth, waitedForCore, watchHealth } from '../support/health.ts'
import { bearer, lines } from '../support/requests.ts'
import { serve, type Serving } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

/** How long somebody who comes may wait for an answer, without the time in which the machine has no core for the service. */
const MAX_WAIT_MS = 1000
const MAX_HEALTH_MS = 1000
const ATTACKING_CONNECTIONS = 1024
const ATTACKING_ADDRESS = '127.0.0.2'
const ROUNDS = 12

/** Requests from one address that are sent again on each of many connections as soon as they are answered, until the scope ends. */
function attack(port: number, request: string) {
  let answers = 0
  const sockets = Array.from({ length: ATTACKING_CONNECTIONS }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: ATTACKING_ADDRESS, noDelay: true })
    socket.on('connect', () => socket.write(request))
    socket.on('data', (chunk: Buffer) => {
      if (!chunk.toString('latin1', 0, 5).startsWith('HTTP/')) return
      answers += 1
      socket.write(request)
    })
    return socket.on('error', () => {})
  })
  return { answered: () => answers, [Symbol.dispose]: () => sockets.forEach(socket => socket.destroy()) }
}

/** The status of one request on a new connection, and how long the service took. */
function visit(
  { url, process: { pid = 0 } }: Serving,
  request: string,
): Promise<{ readonly status: string; readonly ms: number }> {
  return new Promise(resolve => {
    const port = Number(new URL(url).port)
    const start = performance.now()
    const waited = waitedForCore(pid)
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const finish = (status: string) => {
      socket.destroy()
      const took = performance.now() - start
      resolve({ status, ms: Math.max(0, took - (waitedForCore(pid) - waited)) })
    }
    socket.setTimeout(30 * MAX_WAIT_MS, () => finish('none'))
    socket.on('error', ({ message }) => finish(message))
    socket.on('connect', () => socket.write(request))
    socket.on('data', (chunk: Buffer) => finish(chunk.toString('latin1', 9, 12)))
  })
}

const get = (path: string, ...headers: string[]) => lines(`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers)
const HTML = 'Accept: text/html'

for (const workers of [1, 2]) {
  for (const busyWith of ['pages of a session', 'statistics of the API', 'pages before the sign-in'] as const) {
    test(`a new visitor is answered in time while ${ATTACKING_CONNECTIONS} connections of another address ask for ${busyWith} (processes: ${workers})`, async t => {
      await using sample = await sampleService()
      await using service = await serve(sample.databaseUrl, {
        args: workers === 1 ? [] : ['--workers', String(workers)],
        // Of its address, only the number of connections is limited.
        settings: { LOCKSTEP_OVERLOAD_LAG: '500', LOCKSTEP_PAGE_LIMIT: '600', LOCKSTEP_ADDRESS_PAGE_LIMIT: '0' },
      })
      const port = Number(new URL(service.url).port)
      const attacker = await sessionAt(service.url)
      const newcomer = await sessionAt(service.url)
      const attacks = {
        'pages of a session': get('/training', attacker, HTML),
        'statistics of the API': get('/api/v1/dtt/stats?bucket=day', bearer(await sample.token('alex'))),
        'pages before the sign-in': get('/signin', HTML),
      }
      const newcomers = {
        'the sign-in': get('/signin', HTML),
        'a page of another session': get('/locks', newcomer, HTML),
        'the API with another key': get('/api/v1/me', bearer(await sample.token('robin'))),
      }
      using health = watchHealth(service.url, service.process.pid)
      await until(async () => health.checks.length > 2)
      using busy = attack(port, attacks[busyWith])
      const late: string[] = []
      const visits: string[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        // The first come while the attacking connections are being accepted.
        if (round === 1) await until(async () => busy.answered() > ATTACKING_CONNECTIONS)
        await Promise.all(
          Object.entries(newcomers).map(async ([name, request]) => {
            const { status, ms } = await visit(service, request)
            visits.push(`${name} in round ${round}: ${status} after ${Math.round(ms)} ms`)
            if (!['200', '503'].includes(status) || ms > MAX_WAIT_MS) late.push(visits.at(-1) ?? '')
          }),
        )
        await sleep(100)
      }
      assert.deepEqual(late, [], visits.join('\n'))
      const { late: lateHealth, figures } = judgeHealth(await health.stop(), MAX_HEALTH_MS)
      t.diagnostic(figures)
      assert.deepEqual(lateHealth, [], figures)
    })
  }
}

/** The cookie of a new session. On a busy machine, the start of the service can be an overload. */
async function sessionAt(url: string): Promise<string> {
  const person = visitor(url)
  await until(async () => (await person.signIn('alex')).status === 303)
  return `Cookie: session=${person.cookies.get('session')}`
}
