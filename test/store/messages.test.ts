import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { run } from '../support/command.ts'

// engine: any

// The messages of commands about failures of the system.

test('a pooler without the settings that it needs is named as the cause', async () => {
  // As PgBouncer writes them, before and after the log-in.
  const refusals: readonly (readonly [refuse: (socket: Socket) => void, cause: RegExp])[] = [
    [
      socket => socket.end(errorResponse('FATAL', '08P01', 'unsupported startup parameter: statement_timeout')),
      /a pooler is in between: it must pool by transaction or by session, with the settings that postgresql\.md names/,
    ],
    [
      socket => {
        socket.write(Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))]))
        socket.on('data', () =>
          socket.write(
            Buffer.concat([
              errorResponse('ERROR', '26000', 'prepared statement "read_1" does not exist'),
              message('Z', Buffer.from('I')),
            ]),
          ),
        )
      },
      /a pooler loses the prepared statements of its clients: use PgBouncer 1\.21 or later/,
    ],
  ]
  for (const [refuse, cause] of refusals) {
    await using pooler = await listen(socket => socket.once('data', () => refuse(socket)))
    const { code, stderr } = await run(['account', 'list', '--database', pooler.url])
    assert.equal(code, 3, stderr)
    assert.match(stderr, cause)
  }
})

/** A server with the minimum of the PostgreSQL protocol that a test needs. */
async function listen(greet: (socket: Socket) => void) {
  const server = createServer(socket => greet(socket.on('error', () => {})))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://lockstep@127.0.0.1:${port}/lockstep`,
    [Symbol.asyncDispose]: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

function errorResponse(severity: string, code: string, text: string): Buffer {
  return message('E', Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${text}\0\0`))
}

function message(type: string, body: Buffer): Buffer {
  const header = Buffer.alloc(5)
  header.write(type)
  header.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([header, body])
}
