import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder, run } from '../support/command.ts'

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

test('too many open files are named as the cause when a database cannot be opened', async () => {
  await using folder = await makeFolder()
  await folder.succeeds(['migrate', '--database', 'sqlite:own.db'])
  const script = `
    const { openSync } = await import('node:fs')
    const { open } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/store/index.ts'))})
    const files = []
    try { for (;;) files.push(openSync('/dev/null')) } catch {}
    await open('sqlite:own.db', { busyTimeoutMs: 0 }).catch(error => console.log(error.name, error.message))`
  await using running = folder.spawn('/bin/sh', [
    '-c',
    'ulimit -n 64; exec "$0" --input-type=module -e "$1"',
    process.execPath,
    script,
  ])
  const { stdout } = await running.ended
  assert.match(stdout, /^StoreError .*own\.db cannot be opened: the process has too many files open: raise its limit/)
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
