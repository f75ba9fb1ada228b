// engine: sqlite
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { limits } from '../../src/http/limits.ts'
import { exchange, open } from '../support/raw.ts'
import { lines } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

test('beyond the limit of connections a new one is closed, and served again when others have ended', async () => {
  await using service = await startService()
  const { port } = service.service
  const health = lines('GET /healthz HTTP/1.1', 'Host: a')
  const sockets: Socket[] = []
  try {
    // The service may accept them in another order.
    let closed = 0
    for (let index = 0; index <= limits.connections.max; index += 1) {
      const socket = connect(port, '127.0.0.1').resume()
      socket.on('error', () => {})
      socket.once('close', () => (closed += 1))
      sockets.push(socket)
      await once(socket, 'connect')
    }
    await until(async () => closed > 0)
    assert.equal(closed, 1)
    const open = sockets.find(socket => !socket.destroyed)
    open?.write(health)
    if (open !== undefined) assert.match(String((await once(open, 'data'))[0]), /^HTTP\/1\.1 200 /)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
  await until(async () => (await exchange(port, health).catch(() => undefined))?.status === 200)
})

test('200 forms that do not arrive hold no connection beyond the timeout, and others are answered meanwhile', async () => {
  const TIMEOUT_MS = 3000
  await using service = await startService([], { LOCKSTEP_REQUEST_TIMEOUT: String(TIMEOUT_MS / 1000) })
  const { port } = service.service
  const form = (framing: string) =>
    lines('POST /signin HTTP/1.1', 'Host: localhost', 'Origin: http://localhost', `Content-Type: ${FORM}`, framing)
  const starts = [
    form('Content-Length: 1000'),
    `${form('Content-Length: 1000')}username=`,
    `${form('Transfer-Encoding: chunked')}fff\r\nusername`,
    `${form('Transfer-Encoding: chunked')}x\r\n`,
    form('Transfer-Encoding: chunked'),
  ]
  // The code of the pages is loaded with the first of them.
  assert.equal((await exchange(port, lines('GET /signin HTTP/1.1', 'Host: localhost'))).status, 200)
  const from = performance.now()
  const connections = Array.from({ length: 200 }, (_, index) => {
    const connection = open(port)
    connection.send(starts[index % starts.length] ?? '')
    // Half of them send a byte now and then.
    const timer = setInterval(() => connection.socket.writable && connection.send('1'), 200)
    if (index % 2 === 0) clearInterval(timer)
    connection.socket.once('close', () => clearInterval(timer))
    return connection
  })
  const ended = connections.map(async connection => {
    const { status } = await connection.answer()
    assert.equal(await connection.closed(), '')
    return { status, after: performance.now() - from }
  })
  assert.equal((await exchange(port, lines('GET /healthz HTTP/1.1', 'Host: a'))).status, 200)
  const ends = await Promise.all(ended)
  const [late, malformed] = [408, 400].map(wanted => ends.filter(({ status }) => status === wanted))
  // So many bytes may be too many for the length of a chunk.
  assert.ok(malformed !== undefined && malformed.length >= 40 && late?.length === 200 - malformed.length)
  const longest = Math.max(...ends.map(({ after }) => after))
  assert.ok(longest >= TIMEOUT_MS && longest < TIMEOUT_MS + 5000, `${longest} ms`)
})

const FORM = 'application/x-www-form-urlencoded'
