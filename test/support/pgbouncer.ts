import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { asPostgres, freePort, type PostgresServer, postgresPrograms, runSql } from './postgres.ts'
import { until } from './waiting.ts'

/** PgBouncer in front of a server, on loopback. */
export interface Pooler extends AsyncDisposable {
  /** The address of a database of the server, through the pooler. */
  urlOf(url: string): string
}

export interface PoolerOptions {
  readonly mode: 'transaction' | 'session'
  /** How many connections to the server all clients of a database share. */
  readonly connections: number
  /** `max_prepared_statements`, where it has that. */
  readonly prepared?: number
}

/** Debian installs it outside the PATH of most users. */
const PROGRAM = process.env['LOCKSTEP_TEST_PGBOUNCER'] ?? '/usr/sbin/pgbouncer'

const version = /PgBouncer (\S+)/.exec(spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1]

/** Whether it prepares statements for its clients. */
export const hasPrepared = Number(version?.split('.')[1]) >= 21

/** A test that needs PgBouncer. Without it, it is skipped by name, which CI counts as a failure. */
export function testBehindPgBouncer(title: string, work: () => Promise<void>) {
  const isMissing = version === undefined || postgresPrograms === undefined
  const skip =
    isMissing && process.env['CI'] !== 'true' && 'there is no PgBouncer or no PostgreSQL server on this machine'
  test(title, { skip }, work)
}

export async function startPgBouncer(
  server: PostgresServer,
  { mode, connections, prepared }: PoolerOptions,
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-pgbouncer-'))
  const port = await freePort()
  writeFileSync(join(folder, 'users'), '"postgres" ""\n')
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users')}
pool_mode = ${mode}
default_pool_size = ${connections}
max_client_conn = 500
stats_users = postgres
ignore_startup_parameters = options, statement_timeout, lock_timeout
${prepared === undefined || !hasPrepared ? '' : `max_prepared_statements = ${prepared}\n`}`,
  )
  // It refuses to run as root, like the server.
  if (process.getuid?.() === 0) spawnSync('chown', ['-R', 'postgres', folder])
  const [command = '', ...args] = asPostgres(PROGRAM, ['-q', join(folder, 'pgbouncer.ini')])
  const child = spawn(command, args, { stdio: 'ignore', cwd: '/' })
  const stop = () => child.kill('SIGKILL')
  process.once('exit', stop)
  const urlOf = (url: string) => Object.assign(new URL(url), { port: String(port) }).href
  const pooler: Pooler = {
    urlOf,
    async [Symbol.asyncDispose]() {
      process.off('exit', stop)
      if (child.exitCode === null && stop()) await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await until(() =>
    runSql(urlOf(server.url), 'select 1').then(
      () => true,
      () => false,
    ),
  )
  return pooler
}
