// engine: both
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import { readConfig } from '../../src/config.ts'
import { systemClock } from '../../src/pull/source.ts'
import {
  changeKey,
  connectSource,
  listRounds,
  progressOf,
  retryRejectedOf,
  pullNow,
  readConnection,
  resume,
  type RoundProgress,
  setKnownLocks,
  setMine,
  stop,
} from '../../src/pull/connections.ts'
import { checkJob, pullJob, renewJob } from '../../src/jobs/jobs.ts'
import { findGone, removeGone } from '../../src/pull/gone.ts'
import { isPullDue, takeDue, pullDue, type ScheduledOptions } from '../../src/pull/scheduled.ts'
import { openSecret } from '../../src/pull/stored-key.ts'
import { account, lockSession, lockTemplate, trainingSession } from '../support/records.ts'
import { makeFolder, run, start } from '../support/command.ts'
import { startService, type TestService } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { byOperator, makeClock } from '../support/sources/pulls.ts'
import {
  bareOptions,
  SOURCE_TOKEN,
  type SourceServer,
  SourceWorld,
  startSource,
} from '../support/sources/source-server.ts'
import { endLeases } from '../support/jobs.ts'
import { until } from '../support/waiting.ts'

const makeWorld = (owner = 1) =>
  new SourceWorld().add(
    account(owner, 'ann'),
    lockTemplate(1, owner),
    ...Array.from({ length: 120 }, (_, index) => trainingSession(index + 1, owner)),
  )

interface Setup extends AsyncDisposable {
  readonly service: TestService
  readonly source: SourceServer
  readonly config: ReturnType<typeof configOf>
  /** What a process does that `serve` starts; `before` runs before each request. */
  pull(
    before?: (url: string) => Promise<unknown>,
    more?: Partial<Pick<ScheduledOptions, 'clock' | 'rate' | 'stop'>>,
  ): Promise<readonly unknown[]>
}

function configOf(databaseUrl: string, secretFile: string) {
  return { ...readConfig({ LOCKSTEP_SECRET_FILE: secretFile }), databaseUrl }
}

async function setUp({
  me = 1,
  lines = [account(1, 'ann')],
  world = makeWorld(me),
}: { me?: number; lines?: object[]; world?: SourceWorld } = {}): Promise<Setup> {
  const folder = await makeFolder()
  const source = await startSource({ world, me, identity: '/users/me', maxLimit: 50 })
  const service = await startService(lines)
  const config = configOf(service.databaseUrl, folder.file('secret'))
  return {
    service,
    source,
    config,
    async pull(before = async () => {}, more = {}) {
      const problems: unknown[] = []
      await pullDue({
        holder: randomUUID(),
        store: service.store,
        secret: openSecret(config),
        send: async (url, init) => {
          await before(url)
          return fetch(url, init)
        },
        quota: config,
        rate: 0,
        clock: makeClock(),
        stop: new AbortController().signal,
        onProblem: problem => problems.push(problem),
        ...more,
      })
      return problems
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await source[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function connected(here: Setup, everyMinutes = 5, accountId = 1) {
  const { store } = here.service
  const connection = { origin: here.source.url, key: SOURCE_TOKEN, everyMinutes }
  await connectSource({ store, config: here.config }, accountId, connection, byOperator)
}

async function countSessions({ store }: TestService): Promise<number> {
  return (await store.db.selectFrom('training_session').select('id').execute()).length
}

test('a process that goes on after another one keeps to the rate of the source', async () => {
  await using here = await setUp()
  await connected(here)
  const { db } = here.service.store
  const clock = makeClock()
  const sentAt = Array.from({ length: 60 }, () => clock.time - 20_000)
  await db
    .updateTable('job')
    .set({ report: JSON.stringify({ read: [], sentAt } satisfies RoundProgress) })
    .execute()
  await here.pull(undefined, { clock, rate: 60 })
  assert.equal(
    clock.waits.find(ms => ms > 0),
    40_000,
  )
  const { sentAt: left = [] } = progressOf((await readConnection(here.service.store, 1)) ?? assert.fail())
  assert.ok(left.length > 0 && left.length <= 60)
})

test('a connected source is pulled when it is due, and again after its interval', async () => {
  await using here = await setUp()
  await connected(here)
  assert.deepEqual(await here.pull(), [])
  assert.equal(await countSessions(here.service), 120)
  const connection = await readConnection(here.service.store, 1)
  assert.equal(connection?.state, 'waiting')
  assert.equal(connection.failure, null)
  const [round] = await listRounds(here.service.store, 1)
  assert.equal(round?.added, 121)
  const wait = (connection.next_at ?? 0) - (round?.ended_at ?? 0)
  assert.ok(wait >= 299_000 && wait <= 331_000, `${wait}`)
  const asked = here.source.requests.length
  await here.pull()
  assert.equal(here.source.requests.length, asked, 'nothing is due')
  assert.ok(await pullNow(here.service.store, 1))
  await here.pull()
  assert.ok(here.source.requests.length - asked <= 12)
})

test('the key of a single pull is forgotten when that pull is complete', async () => {
  await using here = await setUp()
  await connected(here, 0)
  await here.pull()
  const connection = await readConnection(here.service.store, 1)
  assert.deepEqual([connection?.state, connection?.sealed_key, connection?.key_until], ['done', null, null])
  assert.equal(await pullNow(here.service.store, 1), false)
})

test('the key of a single pull is forgotten after a day, whatever happened', async () => {
  await using here = await setUp()
  await connected(here, 0)
  await here.service.store.db.updateTable('source_connection').set({ key_until: 1 }).execute()
  await here.pull()
  const connection = await readConnection(here.service.store, 1)
  assert.deepEqual([connection?.state, connection?.sealed_key, connection?.failure], ['stopped', null, 'key-expired'])
  assert.equal(here.source.requests.length, 0)
  assert.equal(await resume(here.service.store, 1), false)
})

test('an account without anything takes its id from the source, and its stored key still works', async () => {
  await using here = await setUp({ me: 4711 })
  await connected(here)
  assert.deepEqual(await here.pull(), [])
  const connection = await readConnection(here.service.store, 4711)
  assert.equal(connection?.state, 'waiting')
  await pullNow(here.service.store, 4711)
  assert.deepEqual(await here.pull(), [])
  assert.equal((await readConnection(here.service.store, 4711))?.failure, null)
  assert.equal(await countSessions(here.service), 120)
})

test('an account with records never gets those of another id, and nothing is asked for again', async () => {
  await using here = await setUp({ me: 4711, lines: [account(1, 'ann'), lockTemplate(9, 1)] })
  await connected(here)
  await here.pull()
  const connection = await readConnection(here.service.store, 1)
  assert.deepEqual([connection?.state, connection?.failure], ['stopped', 'account'])
  assert.equal(await countSessions(here.service), 0)
})

test('a source that refuses the key is asked again later and later, and it is known since when', async () => {
  await using here = await setUp()
  await connected(here)
  here.source.fault = () => ({ status: 401 })
  const waits: number[] = []
  let since: number | null = null
  for (let round = 0; round < 8; round += 1) {
    await here.pull()
    const connection = await readConnection(here.service.store, 1)
    assert.deepEqual([connection?.state, connection?.failure], ['waiting', 'refused'])
    since ??= connection?.refused_since ?? null
    assert.equal(connection?.refused_since, since)
    waits.push((connection?.next_at ?? 0) - Date.now())
    await pullNow(here.service.store, 1)
  }
  assert.ok((waits[0] ?? 0) <= 60_000 && (waits[7] ?? 0) > 50 * 60_000 && (waits[7] ?? 0) <= 60 * 60_000, waits.join())
  assert.equal((await listRounds(here.service.store, 1)).length, 1, 'failures that repeat are one entry')
  here.source.fault = undefined
  assert.ok(await changeKey({ store: here.service.store, config: here.config }, 1, SOURCE_TOKEN, byOperator))
  await here.pull()
  const connection = await readConnection(here.service.store, 1)
  assert.deepEqual([connection?.failure, connection?.refused_since, connection?.attempts], [null, null, 0])
})

test('a pull that is stopped stores no further page, and goes on where it was', async () => {
  await using here = await setUp()
  await connected(here)
  const { store } = here.service
  await here.pull(async url => url.includes('/dtt/sessions?') && stop(store, 1))
  assert.ok((await countSessions(here.service)) < 120)
  assert.equal((await readConnection(store, 1))?.state, 'stopped')
  await here.pull()
  assert.ok((await countSessions(here.service)) < 120)
  assert.ok(await resume(store, 1))
  await here.pull()
  assert.equal(await countSessions(here.service), 120)
})

test('one process pulls at a time, and another one takes over when its lease has ended', async () => {
  await using here = await setUp({ lines: [account(1, 'ann'), account(2, 'ben')] })
  const { store } = here.service
  await connected(here)
  await connected(here, 5, 2)
  const secretId = openSecret(here.config).id
  const [first, second] = [randomUUID(), randomUUID()]
  const take = (holder: string) => takeDue(store, { holder, secretId, running: [] })
  assert.equal((await take(first))?.account_id, 1)
  assert.equal(await take(second), undefined)
  const lease = { holder: first, name: pullJob(1) }
  assert.ok(await renewJob(store, lease))
  assert.equal(await isPullDue(store, () => secretId), false, 'another service need not start a process')
  await endLeases(store)
  assert.equal(await isPullDue(store, () => secretId), true)
  assert.equal(await isPullDue(store, () => 'another'), false, 'without the secret nothing is due')
  const taken = [await take(second), await take(second)].map(connection => connection?.account_id)
  assert.deepEqual(new Set(taken), new Set([1, 2]))
  assert.equal(await renewJob(store, lease), false)
  await assert.rejects(
    store.db.transaction().execute(db => checkJob(store.engine, db, lease)),
    /another process has taken over/,
  )
})

test('a pull whose process always dies waits longer each time', async () => {
  await using here = await setUp()
  const { store } = here.service
  await connected(here)
  const secretId = openSecret(here.config).id
  for (let death = 0; death < 3; death += 1) {
    assert.ok((await takeDue(store, { holder: randomUUID(), secretId, running: [] })) !== undefined)
    await endLeases(store)
  }
  assert.equal(await takeDue(store, { holder: randomUUID(), secretId, running: [] }), undefined)
  const connection = await readConnection(store, 1)
  assert.deepEqual([connection?.state, connection?.failure], ['waiting', 'interrupted'])
})

/** A source that is only the specification: it has lock session 12 in no list, and four sessions whose owner nothing tells. */
async function setUpBare(): Promise<Setup> {
  const world = new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    lockTemplate(1, 1),
    lockTemplate(2, 2),
    lockSession(12, 1),
    ...[1, 2, 3, 4].map(id => trainingSession(id, 1, { settings_id: null })),
  )
  const here = await setUp()
  const source = await startSource({ ...bareOptions(world), identity: '/users/me', others: [2] })
  return {
    ...here,
    source,
    async [Symbol.asyncDispose]() {
      await source[Symbol.asyncDispose]()
      await here[Symbol.asyncDispose]()
    },
  }
}

test('what was said of one source does not hold for another', async () => {
  await using here = await setUpBare()
  const { store } = here.service
  await connected(here)
  await setMine(store, 1, true)
  await setKnownLocks(store, 1, '12')
  const other = { origin: 'https://other.example', key: 'key', everyMinutes: 5 }
  await connectSource({ store, config: here.config }, 1, other, byOperator)
  const connection = await readConnection(store, 1)
  assert.deepEqual([connection?.mine, connection?.known_locks], [0, ''])
})

test('rejected rows are tried again for one account, as records of nobody else', async () => {
  await using here = await setUpBare()
  const { store } = here.service
  await connected(here)
  await here.pull()
  assert.deepEqual(await retryRejectedOf(store, 1), { tried: 0, stored: 0 }, 'nothing tells whose they are')
  await setMine(store, 1, true)
  // One of them says now that it is somebody else's.
  const first = await store.db.selectFrom('set_aside').select(['id', 'raw']).orderBy('id').executeTakeFirstOrThrow()
  await store.db
    .updateTable('set_aside')
    .set({ raw: JSON.stringify({ ...JSON.parse(first.raw), ownerId: 2 }), reason: 'made by the test' })
    .where('id', '=', first.id)
    .execute()
  assert.deepEqual(await retryRejectedOf(store, 1), { tried: 4, stored: 3 })
  assert.deepEqual(
    (await store.db.selectFrom('training_session').select('owner_id').execute()).map(row => row.owner_id),
    [1, 1, 1],
  )
  assert.equal(await retryRejectedOf(store, 2), undefined)
})

test('a person removes what is gone at their own source, and nothing of others', async () => {
  await using here = await setUp({ lines: [account(1, 'ann'), account(2, 'ben'), trainingSession(500, 2)] })
  const { store } = here.service
  await connected(here)
  await here.pull()
  const { id } = await store.db.selectFrom('pull_source').select('id').executeTakeFirstOrThrow()
  const gone = { gone_at: 1, missing_at: 1 }
  await store.db.updateTable('pull_row').set(gone).where('id', '<=', 3).where('kind', '=', 'training-session').execute()
  // Another account pulled this one's records, and its source no longer lists them.
  const other = { account_id: 2, origin: 'https://other.example', username: 'ben', knows_me: 1, capabilities: '{}' }
  await store.db
    .insertInto('pull_source')
    .values({ ...other, completed_at: 5 })
    .execute()
  await sql`insert into pull_row (source_id, kind, id, owner_id, form, gone_at)
    select id, 'training-session', 9, 1, '', 1 from pull_source where id <> ${id}`.execute(store.db)
  await sql`insert into pull_row (source_id, kind, id, owner_id, form, gone_at)
    values (${id}, 'training-session', 500, 2, '', 1)`.execute(store.db)
  const found = await findGone(store, 1)
  assert.deepEqual(
    found.map(({ accountId, kind, count, total }) => ({ accountId, kind, count, total })),
    [{ accountId: 1, kind: 'training-session', count: 3, total: 120 }],
  )
  await assert.rejects(removeGone(store, [], byOperator, 1), /nothing was removed/)
  assert.equal(await removeGone(store, found, byOperator, 1), 3)
  assert.equal(await countSessions(here.service), 118)
  assert.deepEqual(await findGone(store, 1), [])
  assert.equal((await findGone(store)).length, 2)
})

test('a pull that was stopped meanwhile marks no more records as gone', async () => {
  const world = makeWorld()
  await using here = await setUp({ world })
  const { store } = here.service
  await connected(here)
  await here.pull()
  world.remove('training-session', 5)
  const row = (db: typeof store.db) => db.selectFrom('pull_row').selectAll().where('kind', '=', 'training-session')
  const markedAt = async () => (await row(store.db).where('id', '=', 5).executeTakeFirst())?.gone_at
  await store.db.updateTable('pull_row').set({ missing_at: 1 }).where('id', '=', 5).execute()
  const pullAll = async (before?: (url: string) => Promise<unknown>) => {
    await store.db.updateTable('pull_source').set({ full_at: 1 }).execute()
    await resume(store, 1)
    await pullNow(store, 1)
    return here.pull(before)
  }
  await pullAll(async url => url.includes('/dtt/sessions/5') && stop(store, 1))
  assert.equal(await markedAt(), null)
  await pullAll()
  assert.ok(Number(await markedAt()) > 0)
  assert.equal((await listRounds(store, 1))[0]?.gone, 1)
})

test('the command and the service never pull into an account at once, and the second says who does and since when', async () => {
  await using here = await setUp()
  const { store } = here.service
  const { source } = here
  const settings = {
    LOCKSTEP_DATABASE_URL: here.service.databaseUrl,
    LOCKSTEP_SECRET_FILE: here.config.secretFile,
    LOCKSTEP_SOURCE_ORIGINS: source.url,
    LOCKSTEP_SOURCE_URL: source.url,
    LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN,
    LOCKSTEP_PULL_RATE: '0',
  }
  source.fault = path => (path.startsWith('/dtt') ? { status: 429, headers: { 'Retry-After': '300' } } : undefined)
  const waits = () => until(async () => source.requests.some(path => path.startsWith('/dtt')))
  await connected(here)
  {
    await using _served = await serve(here.service.databaseUrl, { settings })
    await waits()
    const { code, stderr } = await run(['pull'], { env: settings })
    assert.equal(code, 3)
    assert.match(
      stderr,
      /another pull for account 1 is running since \d{4}-\S+Z by the service \(process \d+ on \S+\)\n$/,
    )
  }
  await endLeases(store)
  source.requests.length = 0
  await using _command = start(['pull'], { env: settings })
  await waits()
  await pullNow(store, 1)
  const before = source.requests.length
  await here.pull()
  assert.match((await readConnection(store, 1))?.holder ?? '', /by the command/)
  assert.equal(source.requests.length, before)
})

test('the command shows the connections of all accounts: their state, their next round and since when they fail', async () => {
  await using here = await setUp({ lines: [account(1, 'ann'), account(2, 'ben'), lockTemplate(9, 2)] })
  await connected(here)
  await here.pull()
  await connected(here, 0, 2)
  const env = { LOCKSTEP_SECRET_FILE: here.config.secretFile }
  const status = (...args: string[]) =>
    run(['pull', 'status', '--database', here.service.databaseUrl, ...args], { env })
  const { stdout } = await status()
  assert.match(
    stdout,
    /^account 1 \(ann\) .+\nconnected: waiting; every 5 minutes; next round \d{4}-\S+Z\nlast complete/,
  )
  assert.match(stdout, /\naccount 2 \(ben\) .+\nconnected: due; once; next round \S+Z\nlast complete pull: none yet/)
  await here.pull()
  const [ann, ben] = JSON.parse((await status('--json')).stdout)
  assert.equal(ann.connection.failingSince, null)
  assert.deepEqual([ben.connection.state, ben.connection.failure, ben.connection.nextAt], ['stopped', 'account', null])
  assert.match((await status()).stdout, /connected: stopped; once; failing since \S+Z; last failure: account\n/)
})

test('the service pulls by itself what a person connects, with workers too', async () => {
  await using here = await setUp()
  const { store } = here.service
  for (const args of [[], ['--workers', '2']]) {
    const rounds = (await listRounds(store, 1)).length
    await connected(here)
    await using served = await serve(here.service.databaseUrl, {
      args,
      settings: {
        LOCKSTEP_SECRET_FILE: here.config.secretFile,
        LOCKSTEP_SOURCE_ORIGINS: here.source.url,
        LOCKSTEP_PULL_RATE: '0',
      },
    })
    await until(async () => (await listRounds(store, 1)).length > rounds)
    assert.equal((await readConnection(store, 1))?.failure, null)
    assert.equal(await countSessions(here.service), 120)
    served.process.kill('SIGTERM')
    assert.equal((await served.ended).code, 0, served.said.stderr)
    assert.ok(!served.said.stderr.includes(SOURCE_TOKEN))
  }
})

for (const [reason, fault] of [
  ['limit', { status: 429, headers: { 'Retry-After': '60' } }],
  ['away', { status: 503 }],
] as const) {
  test(`while nothing arrives, the connection says why and until when: ${reason}`, async () => {
    await using here = await setUp()
    here.source.fault = path => (path === '/dtt/sessions' ? fault : undefined)
    await connected(here)
    const stopping = new AbortController()
    const begun = Date.now()
    const pulling = here.pull(undefined, { clock: systemClock, stop: stopping.signal })
    let pause: RoundProgress['pause']
    await until(async () => {
      const connection = await readConnection(here.service.store, 1)
      pause = connection === undefined ? undefined : progressOf(connection).pause
      return pause !== undefined
    })
    stopping.abort()
    await pulling
    assert.equal(pause?.reason, reason)
    assert.ok(pause.until >= begun + (reason === 'limit' ? 60_000 : 0))
  })
}
