import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import {
  changeInterval,
  changeKey,
  connect,
  forgetConnection,
  listRounds,
  pullNow,
  readConnection,
  resume,
  stop,
  whyNotOffered,
} from '../../src/pull/connections.ts'
import { checkLease, LeaseLostError, nextRound, renewLease, takeDue } from '../../src/pull/leases.ts'
import { pullDue } from '../../src/pull/scheduled.ts'
import { openSecret } from '../../src/pull/stored-key.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { makeFolder } from '../support/command.ts'
import { startService, type TestService } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { makeClock } from '../support/sources/pulls.ts'
import { SOURCE_TOKEN, type SourceServer, SourceWorld, startSource } from '../support/sources/source-server.ts'
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
  /** What a process does that `serve` starts. */
  pull(signal?: AbortSignal): Promise<readonly unknown[]>
}

function configOf(databaseUrl: string, secretFile: string) {
  return { ...readConfig({ LOCKSTEP_SECRET_FILE: secretFile }), databaseUrl }
}

async function setUp({ me = 1, lines = [account(1, 'ann')] }: { me?: number; lines?: object[] } = {}): Promise<Setup> {
  const folder = await makeFolder()
  const source = await startSource({ world: makeWorld(me), me, identity: '/users/me', maxLimit: 50 })
  const service = await startService(lines)
  const config = configOf(service.databaseUrl, folder.file('secret'))
  return {
    service,
    source,
    config,
    async pull(signal = new AbortController().signal) {
      const problems: unknown[] = []
      await pullDue({
        store: service.store,
        secret: openSecret(config),
        send: fetch,
        quota: config,
        rate: 0,
        clock: makeClock(),
        stop: signal,
        onProblem: problem => problems.push(problem),
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
  await connect({ store, config: here.config }, accountId, { origin: here.source.url, key: SOURCE_TOKEN, everyMinutes })
}

async function countSessions({ store }: TestService): Promise<number> {
  return (await store.db.selectFrom('training_session').select('id').execute()).length
}

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
  assert.ok(await changeKey({ store: here.service.store, config: here.config }, 1, SOURCE_TOKEN))
  await here.pull()
  const connection = await readConnection(here.service.store, 1)
  assert.deepEqual([connection?.failure, connection?.refused_since, connection?.failures], [null, null, 0])
})

test('a pull that is stopped stores no further page, and goes on where it was', async () => {
  await using here = await setUp()
  await connected(here)
  const { store } = here.service
  const stopped = new Promise<void>(resolve => {
    here.source.before = path => {
      if (path === '/dtt/sessions') void stop(store, 1).then(() => resolve())
    }
  })
  const pulling = here.pull()
  await stopped
  here.source.before = undefined
  await pulling
  assert.ok((await countSessions(here.service)) < 120)
  assert.equal((await readConnection(store, 1))?.state, 'stopped')
  await here.pull()
  assert.ok((await countSessions(here.service)) < 120)
  assert.ok(await resume(store, 1))
  await here.pull()
  assert.equal(await countSessions(here.service), 120)
})

test('a key that is forgotten ends the pull, and leaves what was pulled', async () => {
  await using here = await setUp()
  await connected(here)
  await here.pull()
  await forgetConnection(here.service.store, 1)
  assert.equal(await readConnection(here.service.store, 1), undefined)
  assert.deepEqual(await listRounds(here.service.store, 1), [])
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
  const lease = { holder: first, accountId: 1 }
  assert.ok(await renewLease(store, lease, '[]'))
  assert.ok(((await nextRound(store, () => secretId))?.inMs ?? 0) > 0, 'another service need not look before')
  assert.equal(await nextRound(store, () => 'another'), undefined, 'without the secret nothing is due')
  await store.db.updateTable('source_connection').set({ lease_until: 1 }).where('holder', '=', first).execute()
  await assert.rejects(
    store.db.transaction().execute(db => checkLease(store, db, lease)),
    LeaseLostError,
  )
  const taken = [await take(second), await take(second)].map(connection => connection?.account_id)
  assert.deepEqual(new Set(taken), new Set([1, 2]))
  assert.equal(await renewLease(store, lease, undefined), false)
})

test('a pull whose process always dies waits longer each time', async () => {
  await using here = await setUp()
  const { store } = here.service
  await connected(here)
  const secretId = openSecret(here.config).id
  for (let death = 0; death < 3; death += 1) {
    assert.ok((await takeDue(store, { holder: randomUUID(), secretId, running: [] })) !== undefined)
    await store.db.updateTable('source_connection').set({ lease_until: 1 }).execute()
  }
  assert.equal(await takeDue(store, { holder: randomUUID(), secretId, running: [] }), undefined)
  const connection = await readConnection(store, 1)
  assert.deepEqual([connection?.state, connection?.failure], ['waiting', 'interrupted'])
})

test('a new interval applies to the round that is due next', async () => {
  await using here = await setUp()
  await connected(here, 1440)
  await here.pull()
  assert.ok(await changeInterval(here.service.store, 1, 5))
  const connection = await readConnection(here.service.store, 1)
  assert.ok((connection?.next_at ?? Infinity) <= Date.now() + 330_000)
  assert.equal(await whyNotOffered(here.service.store, here.config), undefined)
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
