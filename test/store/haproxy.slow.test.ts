// engine: any

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKey } from '../../src/accounts/api-keys.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { allowSignIn, visitorAs } from '../support/dashboard.ts'
import {
  freePort,
  postgresPrograms,
  type PostgresServer,
  runSql,
  startPostgres,
  waitForReplica,
} from '../support/postgres.ts'
import { needs, programPath } from '../support/programs.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { ask, serve } from '../support/serving.ts'
import { readSample } from '../support/tls-proxies.ts'
import { until } from '../support/waiting.ts'

const READ = '/api/v1/dtt/sessions/1'

const { skip } = needs('haproxy')
const options = { skip: skip || (postgresPrograms === undefined && 'there is no PostgreSQL server on this machine') }

const TITLE = 'behind HAProxy a failover ends by itself, and the former primary that comes back gets nothing'

test(TITLE, options, async () => {
  using one = await startPostgres({ settings: { log_statement: 'all', log_connections: 'on' } })
  using two = await startPostgres({ follows: one })
  // What was confirmed is on both.
  await runSql(one.url, "alter system set synchronous_standby_names = '*'")
  await runSql(one.url, 'select pg_reload_conf()')
  const store = await open(one.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf([...world, trainingSession(1, 1)]))
  const key = await createKey(store, { accountId: 1, name: 'k', scopes: ['dtt:read'], expiresAt: null }, Date.now())
  await allowSignIn({ store }, 'ann')
  await store.close()
  await waitForReplica(one, two)

  await using haproxy = await startHaProxy(one, two)
  const says = (what: string) => until(async () => haproxy.log().includes(`Server postgresql/${what}`))
  await says('db2 is DOWN')
  await using service = await serve(haproxy.urlOf(one.url))
  const ann = await visitorAs(service.url, 'ann')
  const expected = await ask(service.url + READ, key)
  assert.equal(expected.status, 200)

  const wrong: string[] = []
  const form = { posted: 0, confirmed: 0 }
  const work = {
    async read() {
      const { status, text } = await ask(service.url + READ, key)
      if (status === 200 && text !== expected.text) wrong.push(text)
      return status
    },
    async form() {
      const number = (form.posted += 1)
      const fields = { timeZone: 'UTC', units: 'metric', weeklyGoal: String(number) }
      const { status } = await ann.post('/settings', fields)
      if (status === 303) form.confirmed = number
      return status
    },
  }
  const outcomes: { what: string; at: number; status: number | string }[] = []
  const stopping = new AbortController()
  const loops = Object.entries(work).map(async ([what, work]) => {
    for (; !stopping.signal.aborted; await sleep(10))
      outcomes.push({ what, at: performance.now(), status: await work() })
  })
  const isDone = ({ status }: { status: number | string }) => status === 200 || status === 303
  const areDone = (since: number) =>
    until(async () =>
      Object.keys(work).every(
        what => outcomes.filter(each => each.what === what && each.at > since && isDone(each)).length > 20,
      ),
    )
  const stop = async () => {
    stopping.abort()
    await Promise.all(loops)
  }

  try {
    await areDone(0)
    await one.stop('immediate')
    await says('db1 is DOWN')
    await runSql(two.url, 'select pg_promote()')
    await says('db2 is UP')
    const switched = performance.now()
    await areDone(switched)

    const logged = () => readFileSync(join(one.folder, 'log'), 'utf8')
    const before = logged().length
    await one.start()
    await says('db1 is UP')
    await areDone(performance.now())
    await stop()
    const failed = outcomes.filter(outcome => !isDone(outcome))
    assert.deepEqual([...new Set(failed.map(({ status }) => status))], [503])
    const last = Math.max(...failed.map(({ at }) => at)) - switched
    assert.ok(last < 5000, `the last error was ${Math.round(last)} ms after the switch`)

    // All connections are new ones several times.
    for (let turn = 0; turn < 5; turn += 1) {
      await runSql(
        two.url,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lockstep'",
      )
      await until(async () => (await work.read()) === 200 && (await work.form()) === 303)
    }
    const ran =
      logged()
        .slice(before)
        .match(/(?:statement|execute [^:]*): .*/g) ?? []
    assert.deepEqual([...new Set(ran)], ['statement: select pg_is_in_recovery() as follows'])
    assert.doesNotMatch(logged().slice(before), /application_name=lockstep/)

    assert.deepEqual(wrong, [])
    const [row] = await runSql<{ goal: number }>(two.url, 'select weekly_goal as goal from preference')
    assert.equal(Number(row?.goal), form.confirmed)
  } finally {
    await stop()
  }
})

/** HAProxy in front of two servers, with the sample of deploy/ as it stands, but for its ports, its log and its user. */
interface HaProxy extends AsyncDisposable {
  /** The address of a database, through it. */
  urlOf(url: string): string
  /** What it wrote to its log. */
  readonly log: () => string
}

async function startHaProxy(one: PostgresServer, two: PostgresServer): Promise<HaProxy> {
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
