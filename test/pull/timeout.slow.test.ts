import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { makeClock, makeSource } from '../support/sources/pulls.ts'

// engine: sqlite

test('a request that is not answered in full within 30 seconds is sent again', async () => {
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    if (requests === 1) response.writeHead(200).write('{"ok":true,')
    else response.end('{"ok":true,"data":{"id":1}}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const clock = makeClock()
  // The server listens on a port.
  const { port } = server.address() as AddressInfo
  const startedAt = performance.now()
  const { data } = await makeSource(`http://127.0.0.1:${port}`, { clock }).get('/me')
  assert.deepEqual([data, requests, clock.waits], [{ id: 1 }, 2, []])
  assert.ok(performance.now() - startedAt >= 29_000)
  server.closeAllConnections()
  server.close()
})
