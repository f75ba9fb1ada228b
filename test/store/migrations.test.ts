import assert from 'node:assert/strict'
import { mkdirSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { type Kysely, sql } from 'kysely'
import { openMigrated } from '../../src/archive/migrate.ts'
import { importArchive } from '../../src/archive/import.ts'
import { beginSession, confirmSession, endSessions, findSession } from '../../src/accounts/browser-sessions.ts'
import { lockFile, open, type OpenOptions, type Store } from '../../src/store/index.ts'
import { saveBeforeRewrite } from '../../src/store/save-before.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { currentVersion, SchemaError, schemaVersion } from '../../src/store/migrations.ts'
import { acceptInvitation, createInvitation } from '../../src/accounts/invitations.ts'
import { endGiven, giveByName, listGiven, narrowGiven } from '../../src/accounts/given-access.ts'
import { makeEventCounter } from '../../src/accounts/event-counter.ts'
import { listEvents } from '../../src/accounts/events.ts'
import { makeReadLog } from '../../src/accounts/read-log.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { linkIdentity, useIdentity } from '../../src/accounts/identities.ts'
import { markBrowser } from '../../src/accounts/known-browsers.ts'
import { useChallenge } from '../../src/accounts/passkey-challenges.ts'
import { addPasskey } from '../../src/accounts/passkeys.ts'
import { removeIdentity, removePasskey, removePassword } from '../../src/accounts/sign-in-methods.ts'
import { setPassword, verifyPassword } from '../../src/accounts/passwords.ts'
import { recordTables, type Tables } from '../../src/store/tables.ts'
import { setPreferences } from '../../src/accounts/preferences.ts'
import { listReads } from '../../src/accounts/read-log-queries.ts'
import { writeUsage } from '../../src/accounts/key-usage.ts'
import { createKey, replaceKey, revokeKey } from '../../src/accounts/api-keys.ts'
import { makeFolder, run } from '../support/command.ts'
import { newSqlite } from '../support/databases.ts'
import { testOnBoth, testOnEmptyPostgres } from '../support/engines.ts'
import { makeOld } from '../support/old-databases.ts'
import { everyAnswer, records } from '../support/all-responses.ts'
import { documentedSql } from '../support/documented-sql.ts'
import { runSql, sharedServer, testOnPostgres } from '../support/postgres.ts'
import { lockSession, lockTemplate, trainerSegment, trainingSession, world } from '../support/records.ts'
import { archiveOf, inBrowser } from '../support/service.ts'
import { ask as askService, serve } from '../support/serving.ts'

// engine: any

testOnBoth('concurrent migrations wait for each other, and one of them does the work', async ({ url }) => {
  const ended = await Promise.all(Array.from({ length: 3 }, () => run(['migrate', '--database', url])))
  for (const { code, stderr } of ended) assert.equal(code, 0, stderr)
  const said = ended.map(({ stdout }) => stdout).toSorted()
  const before = `the schema has version ${currentVersion}, as before\n`
  assert.deepEqual(said.slice(1), [before, before])
  assert.match(
    said[0] ?? '',
    new RegExp(`^(applied: .+\n){${currentVersion}}the schema has version ${currentVersion}\n$`),
  )
})

/** The checksum of every step. Add that of a new step; never change one, because databases have it. */
const CHECKSUMS: readonly string[] = [
  '696719e67254fcf354741251294b538da91e71d22e698ed70bb3014de43a8d54',
  '42cb5fdddad7071f69b9c8085aa58d6b6badbdd12feb4463227989cfa2c73996',
  'd0599253d13ae6a00540a16add56fe2a806469d43258d479bc63210c49f7ef83',
  '5ef73eeda759b5f8572f79a4b8181cb16030c61906498a4614100fb6eda26c9e',
  '63cc313170bdb5a5c7c4f408a25e2505b970fac305744d822393c30006f7584d',
  'f27a40bfbd64c773fcd7b5a7a5e60b212dde8ad53b20dd6f4c47533d27327721',
  '9d99d62930b749bc4a586ff27c8995774dcb09992ac56d1e3bbe2ca8d635399e',
  'fa9cb55ec2bd923135d9d45de909f605e49ca23953296d64d9f1cb76fdfdf63f',
  '95dfd744a259dc0d2c2388902a04ad9c65ad5484918505218dec21669768ca65',
  '389359f88c22272889d204f39a8565934a66a42d4078a2189a01ddae6ca61710',
  '77b2ffd47fa36a056ec88474df13aa1641b654b582252dd7f7d7ad92722bd521',
  'edb380300937f62ac489e3765b8827915535982940b90d7483b1253197a30b6b',
  'e6c352aeaa0eee541256d86bfc649a90b7421852865236051367e0073c22c8f5',
  'c5d63fb192c1bf93725215d9fee065c667d0ead9829e8f3b91fa6448f1e9f700',
  '4fe00babbba9b7ebd69388588be79e5bf364da00ebdec5249aaf3823bcd411a2',
  'cfcdc8bb12522bec356968f05e6a7e559b616be4709bb70d3091f3f728ed7939',
  'a1addc9ea4aa90571d28b337ec698402ee10f4a14a3ae0b902c57c4a4bb98fca',
  'd510bd528e691fcf56de8ac2e0f50b70e26689c724782aa5da358cc95c900af9',
  '92a471a037f7fd11edd686a5e88155ef8238817b6a431e8e88927ccd3a769833',
  'befe254a910f8d30bdbcae39bc31b3fa377a7aea96b89dea57b5ff0be2615558',
  '83a55a0a524faa210338ebb5eebe70024e2fb47ae9b12c44205ac88eead8630d',
]

testOnBoth('steps of the schema are never edited', async ({ url }) => {
  const store = await opened(url)
  try {
    const steps = await store.db.selectFrom('migration').select('checksum').orderBy('version').execute()
    assert.deepEqual(
      steps.map(({ checksum }) => checksum),
      CHECKSUMS,
    )
  } finally {
    await store.close()
  }
})

testOnBoth('several services that start at once on an empty database all find it ready', async ({ url }) => {
  const stores = await Promise.all(Array.from({ length: 5 }, () => opened(url)))
  for (const store of stores) {
    assert.equal(await schemaVersion(store), currentVersion)
    await store.close()
  }
})

const unfit: readonly { title: string; spoil: string; says: RegExp }[] = [
  {
    title: 'a schema newer than the program is refused',
    spoil: `insert into migration (version, name, checksum, applied_at) values (${currentVersion + 1}, 'later', 'x', 0)`,
    says: new RegExp(
      `newer version .*\\(schema ${currentVersion + 1}, this version supports ${currentVersion}\\): upgrade`,
    ),
  },
  {
    title: 'a step that was edited after it was released is refused',
    spoil: "update migration set checksum = 'edited' where version = 1",
    says: /schema version 1 of the database is not the one that this version of Lockstep knows/,
  },
  {
    title: 'a step that is missing between others is refused',
    spoil: 'delete from migration where version = 1',
    says: /schema version 2 of the database is not the one that this version of Lockstep knows/,
  },
]

for (const { title, spoil, says } of unfit) {
  testOnBoth(title, async ({ url }) => {
    await change(url, spoil)
    for (const schema of [undefined, 'current'] as const) {
      await assert.rejects(opened(url, schema), error => error instanceof SchemaError && says.test(error.message))
    }
  })
}

testOnBoth('a first step that fails changes nothing, and works once its cause is removed', async ({ url }) => {
  await change(url, 'create table lock_session (id integer)', 'any')
  await assert.rejects(opened(url), /already exists/)
  assert.deepEqual(await tables(url), ['lock_session'])
  await change(url, 'drop table lock_session', 'any')
  await (await opened(url)).close()
})

test('a database in which an earlier version left half an import is refused, until that version has undone it', async () => {
  await using folder = await makeFolder()
  mkdirSync(folder.file('data'))
  const url = `sqlite:${folder.file('data/lockstep.db')}`
  await makeOld(url, IMPORTS_IN_PARTS)
  await change(url, "insert into note (name, value) values ('import to be undone', '')", 'any')
  const refused = await folder.run(['migrate'])
  assert.equal(refused.code, 3)
  assert.match(refused.stderr, /import by an earlier version was killed and is half stored: run .+ of that version/)
  // As that version leaves it.
  await change(url, "delete from note where name = 'import to be undone'", 'any')
  assert.equal((await folder.run(['migrate'])).code, 0)
  assert.ok(!(await tables(url)).includes('import_part'))
})

testOnBoth('a later step that fails leaves the schema at the version before it', async ({ url }) => {
  await makeOld(url, 1)
  // Its last statement is in the way, so all others have been run when it fails.
  await change(url, 'create table preference (id integer)', 'any')
  const before = await tables(url)
  const { code } = await run(['migrate', '--database', url])
  assert.notEqual(code, 0)
  assert.deepEqual(await tables(url), before)
  const store = await opened(url, 'any')
  assert.equal(await schemaVersion(store), 1)
  await store.close()
  await change(url, 'drop table preference', 'any')
  await (await opened(url)).close()
  assert.ok((await tables(url)).includes('browser_session'))
})

testOnBoth(
  'distances that are not known are taken out of stored records, and accounts get their newest instant',
  async ({ url }) => {
    const store = await opened(newSqlite().url)
    const segments = [
      trainerSegment(1, { percentGrade: 90 }),
      trainerSegment(2, { percentGrade: 70, distanceTravelled: 1.5 }),
      trainerSegment(3, { type: 'warmup', passed: false }),
    ]
    const sessions = Array.from({ length: 120 }, (_, index) =>
      trainingSession(index + 1, 1, {
        name: 'Of ,"distanceTravelled":null',
        created_at: `2026-02-${10 + (index % 10)}T18:00:00Z`,
        TrainerSegment: index % 2 === 0 ? segments : [trainerSegment(1)],
      }),
    )
    const archive = [
      ...world,
      ...sessions,
      lockSession(7, 1),
      lockSession(8, 2, { isActive: true, endDate: '2026-02-05T00:00:00Z' }),
    ]
    await importArchive(store, archiveOf(archive))
    const accounts = async ({ db }: Store) =>
      copies(await db.selectFrom('account').select(['id', 'as_of']).orderBy('id').execute())
    const [rows, known] = [await sessionsOf(store), await accounts(store)]
    // As the program once wrote them.
    for (const { id, document } of rows) {
      const old = document
        .replaceAll(/("repsTarget":\d+)}/g, '$1,"distanceTravelled":null}')
        .replace(/("repsMeasured":\d+)}$/, '$1,"distanceTravelled":null}')
      assert.notEqual(old, document)
      await store.db.updateTable('training_session').set({ document: old, etag: 'old' }).where('id', '=', id).execute()
    }
    await store.db.updateTable('account').set({ as_of: null }).execute()
    await makeOld(url, 5, store)

    const upgraded = await opened(url)
    assert.deepEqual(await sessionsOf(upgraded), rows)
    assert.deepEqual(await accounts(upgraded), known)
    assert.deepEqual(
      known.map(({ as_of }) => as_of),
      [Date.parse('2026-02-19T18:00:00Z'), Date.parse('2026-02-01T00:00:00Z'), null],
    )
    const before = await revisionsOf(upgraded)
    await upgraded.close()
    // As if a backup of the earlier version were restored, and upgraded again.
    const { url: restored } = newSqlite()
    await makeOld(restored, 5, store)
    await store.close()
    const again = await opened(restored)
    const both = [...before, ...(await revisionsOf(again))]
    assert.ok(!both.includes(0))
    assert.equal(new Set(both).size, 2, 'no page that clients have is taken for one of another upgrade')
    await again.close()
  },
)

test('before records of SQLite are rewritten, the database is copied next to it, and the copy is named', async () => {
  for (const command of [['migrate'], ['account', 'add', '--username', 'zoe']]) {
    await using folder = await makeFolder()
    const url = `sqlite:${folder.file('old.db')}`
    await makeOldWorld(url, 5)
    const { code, stderr } = await folder.run([...command, '--database', url])
    assert.equal(code, 0, stderr)
    const copy = `${folder.file('old.db')}.schema-5`
    assert.ok(stderr.includes(`is in ${copy}: `), stderr)
    assert.equal(statSync(copy).mode & 0o777, 0o600)
    const saved = await open(`sqlite:${copy}`, { busyTimeoutMs: 0, schema: 'any', inspect: true })
    assert.equal(await schemaVersion(saved), 5)
    assert.equal((await saved.reads.selectFrom('account').select('id').execute()).length, 3)
    await saved.close()
    // Once is enough.
    assert.doesNotMatch((await folder.run(['migrate', '--database', url])).stderr, /rewritten/)
  }
})

test('an upgrade that waits too long for another process to copy the database says so', async () => {
  await using folder = await makeFolder()
  const url = `sqlite:${folder.file('old.db')}`
  await makeOld(url, 5)
  const release = lockFile(`${folder.file('old.db')}.schema.lock`)
  await assert.rejects(saveBeforeRewrite(url, 100), /another process has been copying .*: try again when it has ended/)
  await release?.()
  assert.equal(await saveBeforeRewrite(url, 100), `${folder.file('old.db')}.schema-5`)
})

testOnBoth('serve --no-migrate refuses an old schema and leaves it as it is', async ({ url }) => {
  await makeOld(url, 1)
  const before = await tables(url)
  const { code, stdout, stderr } = await run(['serve', '--no-migrate', '--port', '0', '--database', url])
  assert.match(stderr, /out of date: make a backup with the version that wrote it, then run `lockstep migrate`/)
  assert.equal(code, 3)
  assert.equal(stdout, '')
  assert.deepEqual(await tables(url), before)
})

testOnPostgres('a database of another encoding than UTF8 is refused, and stays empty', async () => {
  const { url } = await sharedServer()
  await runSql(url, "create database latin encoding 'LATIN1' template template0")
  const latin = url.replace(/postgres$/, 'latin')
  await assert.rejects(opened(latin), /has the encoding LATIN1: create one with UTF8/)
  assert.deepEqual(await tables(latin), [])
})

testOnPostgres('the documented role serves, writes what people do by signing in, and can do nothing else', async () => {
  const [server = [], database = []] = documentedSql('Least privilege')
  const { url: superuser } = await sharedServer()
  for (const statement of server) await runSql(superuser, statement)
  const as = (role: string) => superuser.replace('postgres@', `${role}@`).replace(/postgres$/, 'lockstep')
  const [owner, service] = [as('lockstep_owner'), as('lockstep_service')]

  const { code, stderr } = await run(['migrate', '--database', owner])
  assert.equal(code, 0, stderr)
  for (const statement of database) await runSql(owner, statement)
  const owned = await opened(owner)
  const now = Date.now()
  await importArchive(owned, archiveOf([...world, trainingSession(1, 1)]))
  const invitation = await createInvitation(owned, 2, now)
  for (const days of [364, 366]) await createInvitation(owned, 1, now - days * DAY_MS)
  await owned.close()

  const store = await opened(service, 'current')
  await setPassword(store, 1, 'correct horse battery')
  const proof = await verifyPassword(store, 'ann', 'correct horse battery')
  assert.ok(proof !== undefined)
  const browser = { browser: 'a browser', actor: inBrowser, now: now - 120_000, timeZone: 'Europe/Berlin' }
  const session = await findSession(store, (await beginSession(store, { proof, ...browser })) ?? '', now)
  assert.equal(session?.accountId, 1)
  assert.notEqual(await confirmSession(store, { proof, id: session.id, now }), undefined)
  for (const units of ['metric', 'imperial'])
    await setPreferences(store, 1, { displayName: '', timeZone: '', units, weeklyGoal: null })
  assert.equal(await endSessions(store.db, 1), 1)
  const chosen = { method: 'password', password: 'correct horse battery' } as const
  assert.ok(await acceptInvitation(store, { secret: invitation, chosen, browser: '', actor: inBrowser, now }))
  await useEveryWay(store, now)
  const request = { accountId: 1, name: 'test', scopes: ['dtt:read'], expiresAt: null }
  await createKey(store, request, now)
  const token = await createKey(store, request, now)
  await writeUsage(store, new Map([[1, now]]))
  await revokeKey(store, 1, now)
  await replaceKey(store, { accountId: 1, id: 2 }, now, inBrowser)
  const terms = { areas: ['dtt'], recordsFrom: 0, until: now + 60_000 } as const
  for (const username of ['cas', 'nobody']) await giveByName(store, { ownerId: 1, username }, terms, now, inBrowser)
  for (const access of await listGiven(store, 1, now)) {
    await narrowGiven(store, 1, access, { ...terms, recordsFrom: DAY_MS }, now, inBrowser)
    await endGiven(store, 1, access, now, inBrowser)
  }
  const log = makeReadLog(store, { days: 1, onFailure: error => assert.fail(String(error)) })
  for (const at of [now, now - 2 * DAY_MS]) {
    log.record({ accountId: 2, via: 'dashboard', keyName: '' }, 1, 'dtt', 'list', at)
  }
  await log.close()
  const made = (await listEvents(store, 1, { limit: 100 })).filter(({ kind }) => kind === 'invitation-made')
  assert.deepEqual(
    made.map(({ at }) => at),
    [now - 364 * DAY_MS],
    'events are removed after a year',
  )
  await countEvents(store, now)
  await removeAccount(store, 3, now)

  {
    await using served = await serve(service, { args: ['--no-migrate'] })
    assert.equal((await askService(`${served.url}/readyz`)).status, 200)
    assert.equal((await askService(`${served.url}/api/v1/dtt/sessions/1`, token)).status, 200)
    assert.equal((await askService(`${served.url}/api/v1/me`, token)).status, 200)
    served.process.kill('SIGTERM')
    assert.equal((await served.ended).code, 0)
    assert.equal(served.said.stderr, '')
  }
  assert.ok((await listReads(store, 1, { limit: 10 })).some(({ via }) => via === 'token'))

  const written = [...database.join(';\n').matchAll(/\bon ([a-z_, ]+) to lockstep_service/g)].flatMap(
    ([, names = '']) => names.split(', '),
  )
  assert.deepEqual(
    (await tables(owner)).filter(table => !written.includes(table)),
    [...recordTables, 'migration', 'pull_access', 'pull_source'].toSorted(),
    'all other tables are written by the service',
  )

  for (const statement of FORBIDDEN) {
    await assert.rejects(sql.raw(statement).execute(store.db), /lacks a privilege: permission denied/, statement)
  }
  const added = await run(['account', 'add', '--username', 'dan', '--database', service])
  assert.equal(
    added.stderr,
    'lockstep: the database role lacks a privilege: permission denied for table account (postgresql.md lists what to grant)\n',
  )
  assert.equal(added.code, 3)
  await store.close()

  // Tables that a later step adds can be read without further grants.
  await runSql(owner, 'create table later (id bigint)')
  await runSql(service, 'select * from later')
})

testOnBoth('columns that a step adds are filled from stored records', async ({ url }) => {
  const store = await opened(newSqlite().url)
  const practice = lockTemplate(11, 1, { isTestLock: true, isTimeDisplayed: false })
  const sessions = Array.from({ length: 450 }, (_, index) => trainingSession(100 + index, 1 + (index % 3)))
  await importArchive(store, archiveOf([...records, practice, ...sessions]))
  const before = await everyRow(store)
  assert.deepEqual(
    before.templates.filter(({ id }) => id === 11),
    [{ id: 11, is_test_lock: 1, is_time_displayed: 0 }],
  )
  await makeOld(url, 4, store)
  await store.close()
  await change(url, "update training_session set grade = null, kinds = '[]'", 'any')
  const upgraded = await opened(url)
  assert.deepEqual(await everyRow(upgraded), before)
  await upgraded.close()
})

async function everyRow({ db }: Store) {
  const templates = db.selectFrom('lock_template').select(['id', 'is_test_lock', 'is_time_displayed']).orderBy('id')
  return { templates: copies(await templates.execute()), sessions: await sessionsOf({ db }) }
}

async function sessionsOf({ db }: Pick<Store, 'db'>) {
  return copies(await db.selectFrom('training_session').selectAll().orderBy('id').execute())
}

/** Rows of SQLite have no prototype, those of PostgreSQL do. */
function copies<Row extends object>(rows: readonly Row[]): Row[] {
  return rows.map(row => ({ ...row }))
}

testOnBoth('sign-ins of an earlier version are in the log of events', async ({ url }) => {
  await makeOldWorld(url, IMPORTS_IN_PARTS)
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  const rows = [
    ['invitation-made', ''],
    ['invitation-used', agent],
    ['password', 'something else'],
    ['passkey', agent],
  ]
  for (const [index, [way, browser]] of rows.entries()) {
    await change(
      url,
      `insert into sign_in (account_id, at, way, browser) values (1, ${index}, '${way}', '${browser}')`,
      'any',
    )
  }
  const upgraded = await opened(url)
  const events = await listEvents(upgraded, 1, { limit: 10 })
  assert.deepEqual(
    events.map(({ at, kind, actor, browser }) => [at, kind, actor, browser]),
    [
      [3, 'signed-in-passkey', 'self', 'Firefox on Linux'],
      [2, 'signed-in-password', 'self', 'Unknown browser'],
      [1, 'invitation-password', 'self', 'Firefox on Linux'],
      [0, 'invitation-made', 'operator', ''],
    ],
  )
  await upgraded.close()
})

/** The last version before imports were one transaction, and before there were events. */
const IMPORTS_IN_PARTS = 17

/** Makes a database of a version with three accounts. */
async function makeOldWorld(url: string, version: number) {
  const store = await opened(newSqlite().url)
  await importArchive(store, archiveOf(world))
  await makeOld(url, version, store)
  await store.close()
}

testOnEmptyPostgres('adding the owner to the keys changes no response and no export', async ({ url }) => {
  const store = await opened(newSqlite().url)
  const known = new Set(['account', 'partnership', ...RECORDS])
  const lines = records.filter(line => 'kind' in line && known.has(String(line.kind).replace('-', '_')))
  await importArchive(store, archiveOf(lines))
  await makeOld(url, 2, store)
  const before = await everyAnswer(store)
  await store.close()
  // As the docs once said.
  await change(url, 'create unique index lock_template_by_id on lock_template (id)', 'any')
  const upgraded = await opened(url)
  assert.equal(await schemaVersion(upgraded), currentVersion)
  assert.deepEqual(await everyAnswer(upgraded), before)
  for (const table of RECORDS) {
    const { rows } = await sql<{ columns: string }>`
      select pg_get_constraintdef(oid) as columns from pg_constraint
      where conrelid = ${table}::regclass and contype = 'p'`.execute(upgraded.db)
    assert.deepEqual(rows, [{ columns: 'PRIMARY KEY (owner_id, id)' }], table)
  }
  await upgraded.close()
})

/** The tables of records at the first version. */
const RECORDS = [
  'lock_template',
  'lock_device',
  'lock_session',
  'training_template',
  'training_device',
  'training_session',
]

const FORBIDDEN = [
  ...recordTables.flatMap(table => [
    `insert into ${table} select * from ${table}`,
    `update ${table} set owner_id = 2`,
    `delete from ${table}`,
  ]),
  'update partnership set owner_id = 2',
  'delete from partnership',
  'insert into account select * from account',
  "update account set username = 'other'",
  "update account set subscription_tier = 'ultra'",
  'delete from token',
  'update token set account_id = 2',
  'update token set expires_at = null',
  'update browser_session set account_id = 2',
  'delete from account_event',
  'update account_event set at = 0',
  "update account_event set kind = 'exported'",
  'delete from preference',
  'delete from migration',
  "update note set value = 'x'",
  'create table more (id bigint)',
  'create temporary table more (id bigint)',
  'truncate token',
]

function opened(url: string, schema?: OpenOptions['schema']): Promise<Store> {
  if (schema === undefined) return openMigrated(url, { busyTimeoutMs: 10_000 })
  return open(url, { busyTimeoutMs: 10_000, schema })
}

/** Runs a statement on a database, brought up to date before if not said otherwise. */
async function change(url: string, statement: string, schema?: OpenOptions['schema']) {
  const store = await opened(url, schema)
  await sql.raw(statement).execute(store.db)
  await store.close()
}

async function countEvents(store: Store, now: number) {
  const event = { kind: 'sign-in-failed', account: { username: 'ann' }, now, network: '', browser: '' } as const
  for (let times = 0; times < 2; times += 1) {
    const counter = makeEventCounter(store, error => assert.fail(String(error)))
    counter.count(event)
    await counter.close()
  }
  const [counted] = (await listEvents(store, 1, { limit: 100 })).filter(({ kind }) => kind === 'sign-in-failed')
  assert.equal(counted?.times, 2)
}

/** Adds, uses and removes passkeys and linked identities. */
async function useEveryWay(store: Store, now: number) {
  assert.ok(await markBrowser(store, 1))
  const identity = { issuer: 'https://id.example', subject: 'ann' }
  const address = { rpId: 'history.example', issuer: identity.issuer }
  const passkey = { public_key: '', counter: 0, transports: '', rp_id: address.rpId, user_handle: '', name: 'a key' }
  await store.db.transaction().execute(async db => {
    for (const credential_id of ['first', 'second']) {
      await addPasskey(db, store, { accountId: 1, passkey: { ...passkey, credential_id }, now })
    }
    await linkIdentity(db, store, { accountId: 1, identity, now })
    for (const time of [now, now + DAY_MS]) assert.equal(await useChallenge(db, 'a challenge', time), true)
    await db.updateTable('passkey').set({ counter: 1, last_used_at: now }).execute()
  })
  assert.equal((await useIdentity(store, identity, now))?.accountId, 1)
  const own = { accountId: 1, address, keepSession: 0, now, actor: inBrowser }
  await removePassword(store, own)
  await removePasskey(store, 1, own)
  await removeIdentity(store, own)
}

async function tables(url: string): Promise<string[]> {
  const store = await opened(url, 'any')
  const found = await namesOf(store.db)
  await store.close()
  return found
}

async function namesOf(db: Kysely<Tables>): Promise<string[]> {
  const tables = await db.introspection.getTables()
  return tables.map(({ name }) => name).toSorted()
}

async function revisionsOf({ db }: Store): Promise<number[]> {
  const columns = recordTables.map(table => `${table}_revision` as const)
  return (await db.selectFrom('account').select(columns).execute()).flatMap(row => Object.values(row))
}
