import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { gatedStore, startSecondServer } from '../support/second-server.ts'
import { type Ended, type Folder, makeFolder, type Running } from '../support/command.ts'
import { exchange, header, open } from '../support/raw.ts'
import { trainerSegment, trainingSession, world } from '../support/records.ts'
import { bearer, lines } from '../support/requests.ts'
import { archiveOf, startService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

const ONE = '/api/v1/dtt/sessions/5'
const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** The service in a process of its own. */
interface Served extends AsyncDisposable {
  readonly port: number
  readonly token: string
  readonly running: Running
  readonly folder: Folder
  /** Sends a signal and returns how the process ended, and after how many milliseconds. */
  end(...signals: readonly NodeJS.Signals[]): Promise<Ended & { readonly after: number }>
}

async function serve(settings: Readonly<Record<string, string>> = {}): Promise<Served> {
  const folder = await makeFolder()
  const large = Array.from({ length: 100 }, (_, index) =>
    trainingSession(index + 5, 1, {
      TrainerSegment: Array.from({ length: 25 }, (_item, id) => trainerSegment(id + 1)),
    }),
  )
  const store = await folder.store()
  await importArchive(store, archiveOf([...world, ...large]))
  const facts = { accountId: 1, name: 'test', scopes: ['dtt:read'], expiresAt: null }
  const token = await createKey(store, facts, Date.now())
  await store.close()
  const running = folder.start(['serve', '--port', '0'], { env: { ...unlimited, ...settings } })
  const [, port] = await running.says(/Listening on http:\/\/127\.0\.0\.1:(\d+)/)
  return {
    port: Number(port),
    token,
    running,
    folder,
    async end(...signals) {
      const start = performance.now()
      for (const [index, signal] of signals.entries()) {
        // Signals that follow each other at once may arrive as one.
        if (index > 0) await until(async () => (await exchange(Number(port), get('/readyz', token))).status === 503)
        running.process.kill(signal)
      }
      const ended = await running.ended
      return { ...ended, after: performance.now() - start }
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const get = (path: string, token: string) => lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(token))

suite('a service that receives a signal to stop', { concurrency: 2 }, () => {
  for (const signal of SIGNALS) {
    test(`exits at once with code 0 when it is idle (${signal})`, async () => {
      await using served = await serve()
      assert.equal((await exchange(served.port, get(ONE, served.token))).status, 200)
      const { code, stderr } = await served.end(signal)
      assert.equal(code, 0)
      assert.match(stderr, /"status":200/, 'what was held back of the log is written')
    })
  }

  test('reports 503 at /readyz during the drain delay, serves requests meanwhile, and then stops listening', async () => {
    {
      await using served = await serve({ LOCKSTEP_DRAIN_DELAY: '300' })
      const { port, token, running } = served
      assert.equal((await exchange(port, get('/readyz', token))).status, 200)
      running.process.kill('SIGTERM')
      await until(async () => (await exchange(port, get('/readyz', token))).status === 503)
      assert.equal(header(await exchange(port, get('/readyz', token)), 'Retry-After'), '1')
      for (const path of [ONE, '/healthz', ONE]) {
        const { status, kept } = await exchange(port, get(path, token))
        assert.deepEqual([status, kept], [200, true])
      }
    }
    await using served = await serve({ LOCKSTEP_DRAIN_DELAY: '1' })
    const { port, token, running } = served
    const start = performance.now()
    running.process.kill('SIGTERM')
    assert.equal((await running.ended).code, 0)
    const after = performance.now() - start
    assert.ok(after > 1000, `${after} ms`)
    await assert.rejects(exchange(port, get(ONE, token)))
  })

  test('answers every accepted request, and closes each connection with its last response', async () => {
    await using served = await serve({ LOCKSTEP_CONCURRENCY_LIMIT: '0' })
    const { port, token } = served
    let received = 0
    let last = 0
    /** Sends requests one after another until the connection ends; returns how many were answered. */
    const insist = async () => {
      using connection = open(port)
      for (let answers = 0; ; answers += 1) {
        connection.send(get(ONE, token))
        const answer = await connection.answer().catch((error: unknown) => {
          // The connection ended before a response began.
          assert.equal(connection.rest(), '', String(error))
        })
        if (answer === undefined) return answers
        assert.equal(answer.status, 200)
        received += 1
        if (header(answer, 'Connection') !== 'close') continue
        last += 1
        assert.equal(await connection.closed(), '')
        return answers + 1
      }
    }
    const all = Array.from({ length: 12 }, () => insist())
    await until(async () => received > 500)
    const end = served.end('SIGTERM')
    const { code, stderr } = await end
    assert.ok(
      (await Promise.all(all)).every(answers => answers > 0),
      'whoever is connected is answered',
    )
    assert.equal(code, 0)
    assert.ok(last > 0, 'connections in use are told')
    assert.ok(!stderr.includes('"aborted"'), 'nothing that was read stays without an answer')
    assert.equal(stderr.split('\n').filter(line => line.includes('"status":200')).length, received)
  })

  test('does not wait for sockets that are idle, half-open or have sent half a request', async () => {
    await using served = await serve({ LOCKSTEP_KEEP_ALIVE: '60', LOCKSTEP_HEADERS_TIMEOUT: '60' })
    const connections = Array.from({ length: 30 }, () => open(served.port))
    for (const [index, connection] of connections.entries()) {
      if (index % 3 === 0) continue
      connection.send(index % 3 === 1 ? get(ONE, served.token) : get(ONE, served.token).slice(0, -4))
      if (index % 3 === 1) await connection.answer()
    }
    const { code } = await served.end('SIGTERM')
    assert.equal(code, 0)
    for (const connection of connections) assert.equal(await connection.closed(), '')
  })

  test('exits within ten seconds with code 0, even if a client does not read its responses', async () => {
    await using served = await serve()
    using connection = open(served.port)
    connection.socket.pause()
    connection.send(get('/api/v1/dtt/sessions?limit=100', served.token).repeat(16))
    await sleep(300)
    const { code } = await served.end('SIGTERM')
    // By then it would end itself with another code.
    assert.equal(code, 0)
  })

  test('exits at once with a non-zero code on a second signal', async () => {
    await using served = await serve({ LOCKSTEP_DRAIN_DELAY: '300' })
    const { code, after } = await served.end('SIGTERM', 'SIGINT')
    assert.notEqual(code, 0)
    assert.ok(after < 100_000, `${after} ms`)
  })
})

test('a request that waits for the store during shutdown is answered, and its response closes the connection', async () => {
  await using service = await startService([...world, trainingSession(5, 1)])
  const token = await service.token('ann')
  const { store, waiting, open: openGate } = gatedStore(service.store)
  const again = await startSecondServer(service, {}, { store })
  const idle = open(again.port)
  idle.send(get('/healthz', token))
  await idle.answer()
  const busy = [1, 2, 3].map(() => open(again.port))
  for (const connection of busy) connection.send(get(ONE, token))
  await until(async () => waiting.length === 3)
  const closed = again.close()
  assert.equal(await idle.closed(), '', 'who asks nothing is let go')
  openGate()
  for (const connection of busy) {
    const answer = await connection.answer()
    assert.deepEqual([answer.status, header(answer, 'Connection')], [200, 'close'])
    assert.equal(await connection.closed(), '')
  }
  await closed
})
