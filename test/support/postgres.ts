import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import { until } from './waiting.ts'

/** A PostgreSQL server for tests, on loopback. */
export interface PostgresServer extends Disposable {
  readonly url: string
  readonly port: number
  readonly folder: string
  /** Stops it: `fast` as an operator would, `immediate` as a crash would. */
  stop(how: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  remove(): void
}

/** The folder of the PostgreSQL programs; undefined if none are installed. */
export const postgresPrograms = findPrograms()

/** A test that needs a server. Without one it is skipped by name, which CI counts as a failure. */
export function testOnPostgres(title: string, work: (context: TestContext) => Promise<void>) {
  const skip = postgresPrograms === undefined && process.env['CI'] !== 'true'
  test(title, { skip: skip && 'there is no PostgreSQL server on this machine' }, work)
}

let shared: Promise<PostgresServer> | undefined

/** The server that the tests of a file share. */
export function sharedServer(): Promise<PostgresServer> {
  shared ??= startPostgres()
  return shared
}

interface ServerOptions {
  /** More settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>
  /** Any free one if undefined. */
  readonly port?: number
  /** The server to follow, as a streaming replica. */
  readonly follows?: PostgresServer
}

export async function startPostgres(options: ServerOptions = {}): Promise<PostgresServer> {
  const { settings = {}, follows, port = await freePort() } = options
  if (postgresPrograms === undefined) throw new Error('there is no PostgreSQL server on this machine')
  const parent = mkdtempSync(join(tmpdir(), 'lockstep-postgres-'))
  const folder = join(parent, 'data')
  if (process.getuid?.() === 0) spawnSync('chown', ['postgres', parent])
  if (follows === undefined) {
    await program('initdb', ['-D', folder, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '--no-sync'])
  } else {
    const source = `host=127.0.0.1 port=${follows.port} user=postgres`
    await program('pg_basebackup', ['-D', folder, '-d', source, '-R', '-X', 'stream', '--no-sync', '-c', 'fast'])
  }
  const all = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    max_connections: '200',
    ...settings,
  }
  const flags = Object.entries(all)
    .map(([name, value]) => `-c ${name}='${value}'`)
    .join(' ')
  const server: PostgresServer = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    folder,
    start: () => program('pg_ctl', ['-D', folder, '-w', ...PATIENTLY, '-l', join(folder, 'log'), '-o', flags, 'start']),
    stop: how => program('pg_ctl', ['-D', folder, '-w', ...PATIENTLY, '-m', how, 'stop']),
    remove() {
      process.off('exit', server.remove)
      const [command = '', ...args] = asPostgres(pathOf('pg_ctl'), ['-D', folder, '-w', '-m', 'immediate', 'stop'])
      spawnSync(command, args, QUIETLY)
      // One of its processes may still write a file.
      rmSync(parent, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    },
    [Symbol.dispose]: () => server.remove(),
  }
  // However the tests end.
  process.once('exit', server.remove)
  await server.start()
  return server
}

function findPrograms(): string | undefined {
  // Debian installs them by version, outside the PATH.
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  const folders = [...versions.map(version => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(':')]
  return folders.find(folder => existsSync(join(folder, 'initdb')))
}

async function program(name: string, args: readonly string[]) {
  const [command = '', ...all] = asPostgres(pathOf(name), args)
  const [status] = await once(spawn(command, all, QUIETLY), 'exit')
  if (status !== 0) throw new Error(`${name} failed: ${status}`)
}

function pathOf(name: string): string {
  return join(postgresPrograms ?? '', name)
}

/** Servers refuse to run as root. */
export function asPostgres(path: string, args: readonly string[]): string[] {
  if (process.getuid?.() !== 0) return [path, ...args]
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', path, ...args]
}

/** Seconds for the server to start or stop on a slow machine. */
const PATIENTLY = ['-t', '240']

// The server that pg_ctl leaves behind would hold on to a pipe.
const QUIETLY = { stdio: 'ignore', cwd: '/', timeout: 300_000 } as const

/**
 * A free port on loopback for a server that starts later, or again. Systems give ports above these to those who ask for any, so nobody
 * else gets it meanwhile; processes that run at the same time begin at different ones.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + (nextPort++ % PORTS)
    if (await isFree(port)) return port
  }
}

const FIRST_PORT = 10_240
const PORTS = 5000
let nextPort = process.pid * 20

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise(resolve => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** A connection that ends with the block that declares it: a test that fails would else never end. */
export async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  // The end of the server is no fault of a test.
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

/** The rows of one statement, on a connection of its own. */
export async function runSql<Row extends pg.QueryResultRow>(server: string, statement: string): Promise<Row[]> {
  await using client = await connect(server)
  return (await client.query<Row>(statement)).rows
}

/** Waits until a replica has everything that the primary has now. */
export async function waitForReplica(primary: PostgresServer, replica: PostgresServer) {
  const [row] = await runSql<{ position: string }>(primary.url, 'select pg_current_wal_lsn()::text as position')
  await until(async () => {
    const [at] = await runSql<{ isReached: boolean }>(
      replica.url,
      `select pg_last_wal_replay_lsn() >= '${row?.position}' as "isReached"`,
    )
    return at?.isReached === true
  })
}
