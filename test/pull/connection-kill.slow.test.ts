// engine: any
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { connectSource, listRounds, pullNow, readConnection } from '../../src/pull/connections.ts'
import { openKey, openSecret } from '../../src/pull/stored-key.ts'
import { open, type Store } from '../../src/store/index.ts'
import { makeFolder } from '../support/command.ts'
import { newPostgres, newSqlite } from '../support/databases.ts'
import { startPostgres, testOnPostgres } from '../support/postgres.ts'
import { needsProc } from '../support/programs.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { type Serving, serve } from '../support/serving.ts'
import { byOperator, makeClock, pull } from '../support/sources/pulls.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { sweep } from '../support/sweeps.ts'
import { until } from '../support/waiting.ts'
import { exportOf } from '../support/archives.ts'

const KILLS = sweep(4, 50)

test(
  'a connected source is whole however often the service, its child or the source is killed',
  needsProc,
  async context => {
    const database = newSqlite()
    await surviveKills(context, database.url, ['service', 'child', 'source'])
    await database.remove()
  },
)

testOnPostgres('a pull on PostgreSQL that is killed, and whose server is, ends with the same store', async context => {
  if (needsProc.skip !== false) return context.skip(needsProc.skip)
  using server = await startPostgres({ settings: { fsync: 'off' } })
  const { url } = await newPostgres(server.url)
  const crash = async () => {
    await server.stop('immediate')
    await server.start()
  }
  await surviveKills(context, url, ['service', 'child', 'source', 'database'], crash)
})

type Victim = 'service' | 'child' | 'source' | 'database'

async function surviveKills(
  context: TestContext,
  databaseUrl: string,
  victims: readonly Victim[],
  crashDatabase = async () => {},
) {
  await using folder = await makeFolder()
  const config = { databaseUrl, secretFile: folder.file('secret') }
  const world = new SourceWorld().add(account(1, 'ann'), lockTemplate(1, 1), ...sessions(1, 150))
  await using source = await startSource({ world, identity: '/users/me', maxLimit: 20 })
  const store = await open(databaseUrl, { busyTimeoutMs: 20_000 })
  await importArchive(store, archiveOf([account(1, 'ann')]))
  await connectSource({ store, config }, 1, { origin: source.url, key: SOURCE_TOKEN, everyMinutes: 1 }, byOperator)

  // Who sent each request.
  const senders: number[] = []
  let isAway = false
  source.before = (_path, _index, port) => void senders.push(senderOf(port))
  // It takes its time, so that there is something to kill.
  source.fault = (_, index) =>
    isAway ? 'cut' : index % 4 === 1 ? { status: 429, headers: { 'Retry-After': '1' } } : undefined
  const begin = () =>
    serve(databaseUrl, {
      settings: {
        LOCKSTEP_SECRET_FILE: config.secretFile,
        LOCKSTEP_SOURCE_ORIGINS: source.url,
        LOCKSTEP_PULL_RATE: '0',
      },
    })
  const services: [Serving, Serving] = [await begin(), await begin()]
  const killed: Record<Victim, number> = { service: 0, child: 0, source: 0, database: 0 }
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      world.add(...sessions(1000 + kill, 1), ...sessions(1 + ((kill * 37) % 150), 1, { points: kill }))
      const victim = victims[kill % victims.length] ?? 'child'
      const wanted = senders.length + 1 + Math.floor(Math.random() * 8)
      // What is killed over and over waits longer each time, unless a person asks for it.
      await until(async () => {
        await makeDue(store)
        return senders.length >= wanted
      })
      await sleep(Math.random() * 60)
      if (victim === 'service') {
        const index = kill % 2
        const service = services[index] ?? services[0]
        service.process.kill('SIGKILL')
        await service.ended
        services[index] = await begin()
      } else if (victim === 'child') {
        const pid = senders.at(-1) ?? 0
        if (pid > 0) tryKill(pid)
      } else if (victim === 'source') {
        isAway = true
        await sleep(Math.random() * 3000)
        isAway = false
      } else await crashDatabase()
      killed[victim] += 1
    }
    await makeDue(store)
    const { now } = Date
    const since = now()
    await until(async () => {
      const rounds = await listRounds(store, 1).catch(() => [])
      // The first of them may have begun before the last change.
      if (rounds.filter(({ failure, ended_at }) => failure === null && ended_at > since).length > 1) return true
      await makeDue(store)
      return false
    })
  } finally {
    for (const { process: running } of services) running.kill('SIGKILL')
    await Promise.all(services.map(({ ended }) => ended))
  }

  // Of some requests the connection was gone before anybody could look.
  const known = senders.filter(pid => pid > 0)
  const pullers = known.filter((pid, index) => pid !== known[index - 1])
  context.diagnostic(`killed: ${JSON.stringify(killed)}; ${senders.length} requests by ${pullers.length} processes`)
  assert.equal(new Set(pullers).size, pullers.length, `one process after the other: ${pullers.join()}`)
  const connection = await readConnection(store, 1)
  const owner = { accountId: 1, origin: source.url }
  assert.equal(openKey(openSecret(config), owner, connection?.sealed_key ?? ''), SOURCE_TOKEN)
  source.fault = undefined
  const other = newSqlite()
  const copy = await open(other.url, { busyTimeoutMs: 5000 })
  await pull(copy, source.url, { clock: makeClock() })
  assert.deepEqual(await linesOf(store), await linesOf(copy))
  await copy.close()
  await other.remove()
  await store.close()
}

function sessions(first: number, count: number, fields = {}) {
  const at = (id: number) => new Date(NOW - id * 600_000).toISOString()
  return Array.from({ length: count }, (_, index) =>
    trainingSession(first + index, 1, { created_at: at(first + index), ...fields }),
  )
}

const NOW = Date.now()

/** Due now. */
async function makeDue(store: Store) {
  await until(async () => {
    try {
      const connection = await readConnection(store, 1)
      assert.notEqual(connection?.state, 'stopped', connection?.failure ?? '')
      return connection?.state === 'running' || (await pullNow(store, 1))
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error
      return false
    }
  })
}

/** The process that a connection from this port belongs to; 0 if it is gone already. */
function senderOf(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find(one => one.trim().split(/\s+/)[1]?.endsWith(local))
  const inode = line?.trim().split(/\s+/)[9]
  const processes = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  return Number(processes.find(pid => socketsOf(pid).includes(`socket:[${inode}]`)) ?? 0)
}

function socketsOf(pid: string): readonly string[] {
  try {
    if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--scheduled')) return []
    return readdirSync(`/proc/${pid}/fd`).map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`))
  } catch {
    return []
  }
}

function tryKill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function linesOf(store: Store): Promise<readonly string[]> {
  const lines = (await exportOf(store, 1)).split('\n')
  return lines.filter(line => /^\{"kind":"(training|lock)-/.test(line)).toSorted()
}
