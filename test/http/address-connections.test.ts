// engine: any
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { Metrics } from '../../src/http/metrics.ts'
import { lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

const REQUEST = lines('GET /healthz HTTP/1.1', 'Host: a')

/** Connections from an address of this machine, and what each of them is told. */
async function connectFrom(localAddress: string, port: number, count: number) {
  const sockets: Socket[] = []
  let closed = 0
  for (let index = 0; index < count; index += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).resume()
    socket.on('error', () => {})
    socket.once('close', () => (closed += 1))
    sockets.push(socket)
    await once(socket, 'connect')
  }
  return {
    sockets,
    closed: () => closed,
    [Symbol.dispose]: () => sockets.forEach(socket => socket.destroy()),
  }
}

/** False if the connection is closed instead. */
async function isServed(socket: Socket | undefined): Promise<boolean> {
  socket?.write(REQUEST)
  const { promise: closed, resolve: close } = Promise.withResolvers<readonly unknown[]>()
  socket?.once('close', () => close([]))
  return (
    socket?.destroyed === false &&
    String((await Promise.race([once(socket, 'data'), closed]))[0]).startsWith('HTTP/1.1 200 ')
  )
}

test('an address has so many connections and no more, and another address is served', async () => {
  await using service = await startService()
  const metrics = new Metrics()
  await using server = await startSecondServer(service, { LOCKSTEP_ADDRESS_CONNECTIONS: '5' }, { metrics })
  {
    using many = await connectFrom('127.0.0.1', server.port, 8)
    await until(async () => many.closed() === 3)
    using other = await connectFrom('127.0.0.2', server.port, 1)
    assert.ok(await isServed(other.sockets[0]))
    for (const socket of many.sockets) if (!socket.destroyed) assert.ok(await isServed(socket))
  }
  assert.match(await metrics.text(), /{limit="addressConnections"} 3/)
  await until(async () => server.log.join('').includes('connections'))
  const [said, ...more] = server.log
    .join('')
    .split('\n')
    .filter(line => line.includes('"error"'))
  assert.match(
    said ?? '',
    /127\.0\.0\.1 has 5 open connections.*LOCKSTEP_ADDRESS_CONNECTIONS.*LOCKSTEP_TRUSTED_PROXIES/,
  )
  assert.deepEqual(more, [], 'it is said once')
  await until(async () => {
    using again = await connectFrom('127.0.0.1', server.port, 1)
    return await isServed(again.sockets[0])
  })
})

test('a trusted proxy has as many connections as it needs, and so has everybody where the limit is 0', async () => {
  await using service = await startService()
  for (const settings of [
    { LOCKSTEP_ADDRESS_CONNECTIONS: '2', LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8' },
    { LOCKSTEP_ADDRESS_CONNECTIONS: '0' },
  ]) {
    await using server = await startSecondServer(service, settings)
    using many = await connectFrom('127.0.0.1', server.port, 200)
    for (const socket of many.sockets) assert.ok(await isServed(socket))
    assert.equal(many.closed(), 0)
  }
})
