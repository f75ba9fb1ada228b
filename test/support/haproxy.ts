import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type PostgresServer, runSql } from './postgres.ts'
import { programPath } from './programs.ts'
import { readSample } from './tls-proxies.ts'

/** HAProxy in front of two servers, with the sample of deploy/ as it stands, but for its ports, its log and its user. */
export interface HaProxy extends AsyncDisposable {
  /** The address of a database, through it. */
  urlOf(url: string): string
  /** What it wrote to its log. */
  readonly log: () => string
}

export async function startHaProxy(one: PostgresServer, two: PostgresServer): Promise<HaProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-haproxy-'))
  const port = await freePort()
  const [first, second] = await Promise.all([startPatroni(one), startPatroni(two)])
  const config = readSample('haproxy.cfg')
    .replace('127.0.0.1:5000\n    #', `127.0.0.1:${port}\n    #`)
    .replace('db1.example:5432 check port 8008', `127.0.0.1:${one.port} check port ${first.port}`)
    .replace('db2.example:5432 check port 8008', `127.0.0.1:${two.port} check port ${second.port}`)
    .replace('log /dev/log local0', 'log stdout format raw local0')
    .replace(/^ {4}(?:user|group) haproxy$/gm, '')
  writeFileSync(join(folder, 'haproxy.cfg'), config)
  const child = spawn(programPath('haproxy') ?? '', ['-db', '-f', join(folder, 'haproxy.cfg')])
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (log += text))
  const stop = () => child.kill('SIGKILL')
  process.once('exit', stop)
  return {
    urlOf: url => Object.assign(new URL(url), { port: String(port) }).href,
    log: () => log,
    async [Symbol.asyncDispose]() {
      process.off('exit', stop)
      if (child.exitCode === null && stop()) await once(child, 'exit')
      for (const patroni of [first, second]) patroni.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Answers as the REST API of Patroni does where it asks the server only; Patroni itself also stops a former primary that comes back. */
async function startPatroni({ url }: PostgresServer) {
  const server = createServer((request, response) => {
    const rows = runSql<{ follows: boolean }>(url, 'select pg_is_in_recovery() as follows')
    const status = rows
      .then(([row]) => (request.url === '/primary' && row?.follows === false ? 200 : 503))
      .catch(() => 503)
    void status.then(code => response.writeHead(code).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() }
}
