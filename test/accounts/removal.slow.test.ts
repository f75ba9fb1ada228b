import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sql } from 'kysely'
import { isErasingDue, noteDeleted } from '../../src/accounts/removal.ts'
import type { Store } from '../../src/store/index.ts'
import { allowSignIn, visitor, signInAs } from '../support/dashboard.ts'
import { postgresUrl, testOn } from '../support/databases.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  partnership,
  trainingDevice,
  trainingSession,
  trainingTemplate,
  world,
} from '../support/records.ts'
import { archiveOf, startService, type TestService } from '../support/service.ts'
import { importArchive } from '../../src/archive/import.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

/** In every text of ann's records, and in no other. */
const MARKER = 'zanzibar'

const ownRecords = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => from + index).flatMap(id => [
    trainingSession(id, 1, { name: `${MARKER} ${id} `.repeat(3) }, { extra: { '/note': `${MARKER} ${id}` } }),
    lockSession(id, 1, { name: `${MARKER} ${id} `.repeat(20) }),
    trainingTemplate(id, 1, { name: `${MARKER} ${id}`, message: `${MARKER} `.repeat(500) }),
    lockTemplate(id, 1, { name: `${MARKER} ${id}` }),
  ])
const otherRecords = Array.from({ length: 40 }, (_, index) => trainingSession(1000 + index, 2))

/** Ann, whose records lie between those of Ben, and who has everything that an account can have. */
const everything: readonly object[] = [
  account(1, 'ann', { profileDescription: MARKER }),
  ...world.slice(1),
  partnership(2, 1),
  ...ownRecords(1, 20),
  ...otherRecords,
  ...ownRecords(21, 20),
  lockDevice(1, 1, { macAddress: MARKER }),
  trainingDevice(1, 1, { macAddress: MARKER }),
]

async function leaveTraces({ db }: Store) {
  const now = Date.now()
  for (const [owner, accountId] of [
    [1, null],
    [1, 2],
    [null, 1],
  ] as const) {
    await sql`insert into set_aside (source, row_key, kind, owner_id, account_id, reason, raw, encoding, first_seen_at, last_seen_at)
      values ('archive', ${`${owner}/${accountId}`}, 'lock-session', ${owner}, ${accountId}, 'odd', ${MARKER}, 'utf-8', ${now}, ${now})`.execute(
      db,
    )
  }
  for (const id of [1, 2]) {
    const source = await db
      .insertInto('pull_source')
      .values({
        account_id: id,
        origin: `https://${id === 1 ? MARKER : 'history'}.example`,
        username: null,
        knows_me: 1,
        capabilities: '{}',
        completed_at: 2,
        full_at: 1,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('pull_row')
      .values({
        source_id: source.id,
        kind: 'training-session',
        id: 1,
        owner_id: 1,
        form: MARKER,
        open_at: null,
        missing_at: null,
        gone_at: null,
      })
      .execute()
  }
}

/** What is left of account 1, by table. */
async function leftOf({ db }: Store): Promise<string[]> {
  const left: string[] = []
  for (const { name, columns } of await db.introspection.getTables()) {
    const naming = columns
      .map(column => column.name)
      .filter(column => ['owner_id', 'account_id', 'partner_id'].includes(column))
    for (const column of name === 'account' || name === 'removed_account' ? ['id'] : naming) {
      const { rows } = await sql`select 1 from ${sql.table(name)} where ${sql.ref(column)} = 1`.execute(db)
      if (rows.length > 0) left.push(name)
    }
    const { rows } = await sql<object>`select * from ${sql.table(name)}`.execute(db)
    assert.ok(!JSON.stringify(rows).includes(MARKER), name)
  }
  return left
}

/** Where the marker is found in the files of an SQLite database. */
function markersIn(path: string): string[] {
  return [path, `${path}-wal`].filter(file => existsSync(file) && readFileSync(file).includes(MARKER))
}

const pathOf = ({ databaseUrl }: TestService) => databaseUrl.replace('sqlite:', '')

async function signedIn() {
  const service = await startService(everything)
  await leaveTraces(service.store)
  const ann = await signInAs(service, 'ann')
  return { service, ann, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test("deleting one's account removes everything of it except the note that its id was removed", async () => {
  await using it = await signedIn()
  const { service, ann } = it
  await allowSignIn(service, 'ben')
  const own = await service.token('ann')
  assert.equal((await service.fetch('/api/v1/dtt/sessions/1', 'ben')).status, 200)
  assert.match((await ann.get('/settings')).text, /href="\/settings\/delete"/)
  assert.match((await ann.get('/settings/delete')).text, /permanently deletes/)
  if (postgresUrl === undefined) assert.ok(markersIn(pathOf(service)).length > 0, 'the marker can be found')

  const done = await ann.post('/settings/delete', { username: 'ann' })
  assert.equal(done.to, '/signin?done=deleted')
  assert.equal(ann.cookies.has('session'), false)
  assert.match((await ann.get('/signin?done=deleted')).text, /The account was deleted/)
  assert.deepEqual(await leftOf(service.store), ['removed_account'])
  assert.equal((await visitor(service.url).signIn('ann')).status, 403)
  await until(async () => (await service.fetch('/api/v1/me', own)).status === 401)
  await until(async () => (await service.fetch('/api/v1/dtt/sessions/1', 'ben')).status === 404)
  assert.equal((await service.fetch('/api/v1/dtt/sessions/1000', 'ben')).status, 200)
  if (postgresUrl === undefined) await until(async () => markersIn(pathOf(service)).length === 0)
})

test('a service that stops waits until what an owner deleted is erased', async () => {
  await using it = await signedIn()
  const { service, ann } = it
  await ann.post('/settings/delete', { username: 'ann' })
  await service.service.close()
  assert.equal(await isErasingDue(service.store), false)
  if (postgresUrl === undefined) assert.deepEqual(markersIn(pathOf(service)), [])
})

async function makeEverything(): Promise<Folder> {
  const folder = await makeFolder()
  await folder.run(['migrate'])
  await using store = await folder.store()
  await importArchive(store, archiveOf(everything))
  await leaveTraces(store)
  return folder
}

const words = (text: string) => text.split(' ')

test('account remove leaves only the note that the id was removed, which every kind of import respects', async () => {
  await using folder = await makeEverything()
  const archive = (await folder.run(['export'])).stdout
  const removed = await folder.run(words('account remove --account ann --yes'))
  assert.equal(removed.code, 0, removed.stderr)
  assert.match(removed.stderr, /account add --id 1 does/)
  if (postgresUrl === undefined) assert.deepEqual(markersIn(folder.file('data/lockstep.db')), [])
  await using store = await folder.store()
  assert.deepEqual(await leftOf(store), ['removed_account'])

  const refused = await folder.run(['import', '-'], { input: archive })
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /line 1: is of an account that was removed here: account add --id allows it to come back/,
  )
  await folder.run(words('import - --on-error set-aside --on-conflict replace'), { input: archive })
  assert.deepEqual(await leftOf(store), ['removed_account'], 'nothing of it is rejected either')

  const next = await folder.run(words('account add --username dan --json'))
  assert.equal(JSON.parse(next.stdout)[0].id, 4)
  await folder.run(words('account remove --account dan --yes'))
  assert.equal(JSON.parse((await folder.run(words('account add --username eve --json'))).stdout)[0].id, 5, 'not its id')
  assert.equal((await folder.run(words('account add --username ann --id 1'))).code, 0)
  const again = await folder.run(words('import - --on-conflict replace'), { input: archive })
  assert.equal(again.code, 0, again.stderr)
  assert.equal(
    (await store.db.selectFrom('training_session').select('id').where('owner_id', '=', 1).execute()).length,
    40,
  )
})

testOn('sqlite', 'what is removed while the database is in use is also erased from its files', async () => {
  await using folder = await makeEverything()
  const env = { LOCKSTEP_PORT: '0' }
  await using running = folder.start(['serve'], { env })
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  await folder.run(words('account remove --account ann --yes'))
  assert.deepEqual(markersIn(folder.file('data/lockstep.db')), [])
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
})

testOn('sqlite', 'what a process deleted but could not erase is erased by the next service', async () => {
  await using folder = await makeEverything()
  {
    await using store = await folder.store()
    await store.db.deleteFrom('account').where('id', '=', 1).execute()
    await store.db.deleteFrom('set_aside').execute()
    await store.db.deleteFrom('pull_row').execute()
    await noteDeleted(store.db)
  }
  assert.equal(markersIn(folder.file('data/lockstep.db')).length, 1)
  await using running = folder.start(['serve'], { env: { LOCKSTEP_PORT: '0' } })
  await running.says(/Listening on (\S+)/)
  await until(async () => markersIn(folder.file('data/lockstep.db')).length === 0)
})

testOn('sqlite', 'what a prune removes is also erased from the file', async () => {
  await using folder = await makeEverything()
  {
    await using store = await folder.store()
    const { id } = await store.db
      .selectFrom('pull_source')
      .select('id')
      .where('account_id', '=', 1)
      .executeTakeFirstOrThrow()
    const gone = { source_id: id, owner_id: 1, form: '', open_at: null, missing_at: 1, gone_at: 1 }
    const kinds = ['training-session', 'lock-session', 'training-template', 'lock-template']
    await store.db.deleteFrom('pull_row').execute()
    for (const kind of kinds) {
      await store.db
        .insertInto('pull_row')
        .values(Array.from({ length: 40 }, (_, index) => ({ ...gone, kind, id: index + 1 })))
        .execute()
    }
    // Beside the records, the marker is in these.
    await store.db.deleteFrom('set_aside').execute()
    await store.db.updateTable('pull_source').set({ origin: 'https://history.example' }).where('id', '=', id).execute()
    for (const table of ['lock_device', 'training_device'] as const) await store.db.deleteFrom(table).execute()
    await store.db.updateTable('account').set({ document: '{}' }).where('id', '=', 1).execute()
  }
  const { code, stderr } = await folder.run(words('pull prune --yes --many'))
  assert.equal(code, 0, stderr)
  assert.match(stderr, /removed 160 records/)
  assert.deepEqual(markersIn(folder.file('data/lockstep.db')), [])
})

test('a pull for a removed account stores nothing, says so and ends with 4, and the pull of another account stores nothing of it', async () => {
  const source = new SourceWorld().add(
    account(1, 'ann'),
    account(2, 'ben'),
    trainingDevice(1, 1),
    trainingSession(1, 1),
    trainingDevice(2, 2),
    trainingSession(1000, 2, { trainer_id: 2 }),
  )
  await using folder = await makeEverything()
  await folder.run(words('account remove --account ann --yes'))
  await using store = await folder.store()
  const pullAs = async (me: number, args: readonly string[] = []) => {
    await using server = await startSource({ world: source, me, others: [1, 2], identity: '/users/me' })
    const env = { LOCKSTEP_SOURCE_URL: server.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
    return await folder.run(['pull', ...args], { env })
  }
  for (const args of [[], ['--full'], ['--account', '1'], ['--every', '1s']]) {
    const own = await pullAs(1, args)
    assert.equal(own.code, 4, own.stderr)
    assert.match(own.stderr, /account 1 was removed here: nothing was stored.* account add --id 1/)
  }
  assert.deepEqual(await leftOf(store), ['removed_account'])
  const other = await pullAs(2, ['--account', '2'])
  assert.equal(other.code, 0, other.stderr)
  assert.deepEqual(await leftOf(store), ['removed_account'])
})
