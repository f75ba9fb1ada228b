import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Refusal } from '../../src/contract/refusal.ts'
import { open } from '../../src/store/index.ts'
import { parseAddress } from '../../src/store/postgres-address.ts'
import { launch, makeFolder, run } from '../support/command.ts'
import { startPostgres, testOnPostgres } from '../support/postgres.ts'
import { selfSigned } from '../support/sources/certificate.ts'
import { createServer, type AddressInfo, type Socket } from 'node:net'

// engine: any

/** An address that is wrong before anything is connected, after `postgres://plain:hunter2@`. */
const wrong: readonly (readonly [rest: string, says: RegExp])[] = [
  ['127.0.0.1:1/d?sslrootcert=/nonexistent.crt', /cannot be used: ENOENT/],
  ['127.0.0.1:1/d?sslrootcert=/', /cannot be used: EISDIR/],
  [`127.0.0.1:1/d?sslcert=${import.meta.filename}`, /cannot be used: .*PEM/],
  ['127.0.0.1:1/d?sslmode=verify-ca', /verify-ca requires specifying a CA with sslrootcert/],
  ['127.0.0.1:1/d?sslmode=prefer', /sslmode of the database must be one of disable, require, verify-ca, verify-full/],
  ['127.0.0.1/d?port=abc', /cannot be used: Invalid port/],
  ['127.0.0.1:0/d', /port is not a number from 1 to 65535/],
  ['127.0.0.1:1/d%ff', /cannot be used: URI malformed/],
  ['one:1,two:2/d', /cannot be used: Invalid URL/],
  ['127.0.0.1:1/d?connect_timeout=abc', /may have host, port, .* after the question mark/],
]

test('an address of PostgreSQL that cannot be used is told in one sentence, with exit code 2', async () => {
  await using folder = await makeFolder()
  for (const [rest, says] of wrong) {
    const database = `postgres://plain:hunter2@${rest}`
    const { stderr } = await folder.refuses(['account', 'list', '--database', database], 2, says)
    assert.match(stderr, /^lockstep: .+\n$/, 'one line')
    assert.doesNotMatch(stderr, /hunter2/)
  }
  // The program itself, in which a stack trace could show.
  for (const command of ['serve', 'migrate']) {
    const env = { LOCKSTEP_DATABASE_URL: 'postgres://plain@127.0.0.1:1/d?sslrootcert=/nonexistent.crt' }
    const { code, stderr } = await launch([command], { env })
    assert.deepEqual([code, stderr.split('\n').length], [2, 2], stderr)
  }
})

test('an address that names several servers, or which of them to use, is refused', async () => {
  for (const wrong of ['one,two/a', 'one:1,two:2/a', 'one,/a', 'a:b,c:d/a', 'one/a?target_session_attrs=read-write']) {
    await assert.rejects(open(`postgres://app@${wrong}`, { busyTimeoutMs: 1000 }), Refusal, wrong)
  }
})

test('addresses of PostgreSQL mean what they mean to libpq', () => {
  const password = "@:/#?%+=&' é"
  const at = (start: string, more: object) => [start, more] as const
  const cases = [
    at(`postgresql://ann:${encodeURIComponent(password)}@db:1234/d`, {
      user: 'ann',
      password,
      host: 'db',
      port: 1234,
      database: 'd',
    }),
    at('postgres://plain@127.0.0.1/my%20db%C3%A9', { database: 'my dbé' }),
    at('postgres://plain@[::1]:1/d', { host: '::1', port: 1 }),
    at('postgres://plain@/d?host=/run/postgresql&port=2', {
      user: 'plain',
      host: '/run/postgresql',
      port: 2,
      database: 'd',
    }),
    at('postgres:///d?host=/run/postgresql&user=ann', { user: 'ann', host: '/run/postgresql', database: 'd' }),
    at('postgres://plain@%2Frun%2Fpostgresql/d', { host: '/run/postgresql' }),
    at('postgres://plain@%2Frun%2Fpostgresql/d?sslmode=require', { host: '/run/postgresql', ssl: false }),
    at('postgres://plain@db/d?sslmode=disable', { ssl: false }),
    at('postgres://plain@db/d?sslmode=verify-full', { ssl: {} }),
    at('postgres://plain@db/d?sslmode=require', { ssl: { rejectUnauthorized: false } }),
    at('postgres://plain@db/d?options=-c%20jit%3Doff&application_name=x', {
      options: '-c jit=off',
      application_name: 'x',
    }),
  ]
  for (const [address, expected] of cases) assert.partialDeepStrictEqual(parseAddress(address), expected, address)
})

testOnPostgres('without TLS, sslmode require does not connect, and sockets work', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'socket-'))
  chmodSync(folder, 0o777)
  using server = await startPostgres({ settings: { unix_socket_directories: folder } })
  const on = (query: string, host = `127.0.0.1:${server.port}`) =>
    connects(`postgres://postgres@${host}/postgres?${query}`)
  assert.equal(await on('sslmode=disable'), true)
  assert.equal(await on('sslmode=require'), false)
  assert.equal(await on(`host=${folder}&port=${server.port}`, ''), true)
  rmSync(folder, { recursive: true, force: true })
})

testOnPostgres('with TLS, verify-ca checks who signed, verify-full also the name, and require nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tls-'))
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content, { mode: 0o600 })
    return join(folder, name)
  }
  using server = await startPostgres()
  const owner = statSync(server.folder)
  const files = { cert: file('server.crt', selfSigned.cert), key: file('server.key', selfSigned.key) }
  for (const path of [folder, ...Object.values(files)])
    if (process.getuid?.() === 0) chownSync(path, owner.uid, owner.gid)
  const tls = { ssl: 'on', ssl_cert_file: files.cert, ssl_key_file: files.key }
  using secured = await startPostgres({ settings: tls })
  const on = (query: string) => connects(`postgres://postgres@127.0.0.1:${secured.port}/postgres?${query}`)
  // The certificate is for localhost, and signed by itself.
  assert.equal(await on(`sslmode=verify-ca&sslrootcert=${files.cert}`), true)
  assert.equal(await on(`sslmode=require&sslrootcert=${files.cert}`), true)
  assert.equal(await on(`sslmode=verify-full&sslrootcert=${files.cert}`), false)
  assert.equal(await on('sslmode=verify-full'), false)
  assert.equal(await on('sslmode=require'), true)
  rmSync(folder, { recursive: true, force: true })
})

async function connects(url: string): Promise<boolean> {
  try {
    const store = await open(url, { busyTimeoutMs: 1000 })
    await store.close()
    return true
  } catch {
    return false
  }
}

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
