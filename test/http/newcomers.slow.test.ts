// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { sampleService, visitor } from '../support/dashboard.ts'
import { open } from '../support/raw.ts'
import { bearer, lines } from '../support/requests.ts'
import { serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

const CONNECTIONS = 1024
const ADMITTED = 128
const HTML = 'Accept: text/html'
const get = (path: string, ...headers: string[]) => lines(`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers)

for (const busyWith of ['the sign-in', 'pages of a session', 'statistics of the API'] as const) {
  test(`of ${CONNECTIONS} connections of an address that ask for ${busyWith}, ${ADMITTED} are let in, and a newcomer who connects after them is answered at once`, async t => {
    await using sample = await sampleService()
    const settings = { LOCKSTEP_ADDRESS_CONNECTIONS: String(ADMITTED) }
    await using service = await serve(sample.databaseUrl, { settings })
    const port = Number(new URL(service.url).port)
    const alex = visitor(service.url)
    await alex.signIn('alex')
    const request = {
      'the sign-in': get('/signin', HTML),
      'pages of a session': get('/training', HTML, `Cookie: session=${alex.cookies.get('session')}`),
      'statistics of the API': get('/api/v1/dtt/stats?bucket=day', bearer(await sample.token('alex'))),
    }[busyWith]
    const robin = bearer(await sample.token('robin'))
    let answered = 0
    let closed = 0
    const sockets = Array.from({ length: CONNECTIONS }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2', noDelay: true })
      socket.on('connect', () => socket.write(request)).on('close', () => (closed += 1))
      socket.on('data', (chunk: Buffer) => {
        if (!chunk.toString('latin1', 0, 5).startsWith('HTTP/')) return
        answered += 1
        socket.write(request)
      })
      return socket.on('error', () => {})
    })
    try {
      await Promise.all(sockets.map(socket => once(socket, 'connect').catch(() => {})))
      const from = performance.now()
      const newcomers = ['/healthz', '/signin', '/api/v1/me'].map(async path => {
        using connection = open(port)
        connection.send(get(path, HTML, robin))
        assert.equal((await connection.answer()).status, 200, path)
      })
      await Promise.all(newcomers)
      t.diagnostic(`${Math.round(performance.now() - from)} ms, after ${answered} answers to the others`)
      // In each turn of the event loop one connection is accepted: a newcomer would wait for as many turns full of answers.
      assert.ok(answered < 3 * CONNECTIONS, `${answered} answers`)
      await until(async () => closed === CONNECTIONS - ADMITTED)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
  })
}
