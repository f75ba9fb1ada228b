// engine: sqlite
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { limits } from '../../src/http/limits.ts'
import { exchange } from '../support/raw.ts'
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
