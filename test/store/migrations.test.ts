import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { type Kysely, sql } from 'kysely'
import { openMigrated } from '../../src/archive/migrate.ts'
import { importArchive } from '../../src/archive/import.ts'
import { etagOf } from '../../src/archive/kind.ts'
import { beginSession, endSessions, findSession } from '../../src/accounts/browser-sessions.ts'
import { open, type OpenOptions, SchemaError, sqliteFile, type Store } from '../../src/store/index.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { currentVersion } from '../../src/store/migrations.ts'
import { acceptInvitation, createInvitation } from '../../src/accounts/invitations.ts'
import { endGiven, giveByName, listGiven, narrowGiven } from '../../src/accounts/given-access.ts'
import { makeEventCounter } from '../../src/accounts/event-counter.ts'
import { listEvents } from '../../src/accounts/events.ts'
import { makeReadLog } from '../../src/accounts/read-log.ts'
import { readConnection } from '../../src/pull/connections.ts'
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
import { makeKeyUsage } from '../../src/accounts/key-usage.ts'
import { createKey, replaceKey, revokeKey } from '../../src/accounts/api-keys.ts'
import { launch, makeFolder, run, runShared, start } from '../support/command.ts'
import { newSqlite, postgresUrl, testOn } from '../support/databases.ts'
import { emptyPostgres, testOnEmpty } from '../support/engines.ts'
import { makeReleased, nextVersion, RELEASED } from '../support/old-databases.ts'
import { documentedSql } from '../support/documented-sql.ts'
import { hasPrepared, startPgBouncer, testBehindPgBouncer } from '../support/pgbouncer.ts'
import { postgresPrograms, runSql, sharedServer } from '../support/postgres.ts'
import { trainingSession, world } from '../support/records.ts'
import { archiveOf, inBrowser } from '../support/service.ts'
import { ask as askService, serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: sqlite, slowly postgres

testOnEmpty('concurrent migrations wait for each other, and one of them does the work', async ({ url }) => {
  const ended = await Promise.all(Array.from({ length: 3 }, () => run(['migrate', '--database', url])))
  for (const { code, stderr } of ended) assert.equal(code, 0, stderr)
  const said = ended.map(({ stdout }) => stdout).toSorted()
  const before = `the schema has version ${currentVersion}, as before\n`
  assert.deepEqual(said, [
    `applied: baseline\napplied: jobs\napplied: deletions\napplied: made here\napplied: language\nthe schema has version ${currentVersion}\n`,
    before,
    before,
  ])
})

testOnEmpty('a new database has the schema of one of 2026-11-24 that was brought up to date', async ({ url }) => {
  await (await opened(url)).close()
  const { url: released, remove } = url.startsWith('sqlite:') ? newSqlite() : await emptyPostgres()
  await makeReleased(released)
  await (await opened(released)).close()
  assert.deepEqual(await schemaOf(url), await schemaOf(released))
  await remove()
})

testOnEmpty('a database of 2026-11-24 loses nothing, and what was paused stays so', async ({ url }) => {
  await makeReleased(url)
  const before = await contentOf(url)
  assert.equal(before['migration']?.length, 21)
  const empty = Object.keys(before).filter(table => before[table]?.length === 0)
  assert.deepEqual(empty, [])
  const { code, stdout, stderr } = await run(['migrate', '--database', url])
  assert.deepEqual(
    [code, stdout, stderr],
    [
      0,
      `applied: jobs\napplied: deletions\napplied: made here\napplied: language\nthe schema has version ${currentVersion}\n`,
      '',
    ],
  )
  const { migration: _, account: accounts, source_connection: __, note: ___, job = [], ...after } = await contentOf(url)
  for (const [table, rows] of Object.entries(after)) {
    const isSession = table.endsWith('_session') && table !== 'browser_session'
    const added = isSession ? { made_here: null } : table === 'preference' ? { language: '' } : {}
    const expected = before[table]?.map(row => ({ ...row, ...added }))
    assert.deepEqual(rows, expected ?? [], table)
  }
  assert.deepEqual(accounts?.map(withoutRevisions), before['account']?.map(withoutRevisions))

  const store = await opened(url)
  assert.ok(job.length > 0)
  for (const { account_id: id, ...row } of (before['source_connection'] ?? []) as Record<string, unknown>[]) {
    const { name, attempts, report, ...connection } = { ...(await readConnection(store, Number(id))) }
    assert.deepEqual(
      { name, row: { ...connection, failures: attempts, progress: report, revision: row['revision'] } },
      { name: `pull ${String(id)}`, row: { account_id: id, ...row } },
    )
  }
  assert.ok((await verifyPassword(store, 'ann', RELEASED.password)) !== undefined)
  await store.close()
  await using served = await serve(url)
  const answer = await askService(`${served.url}/api/v1/dtt/sessions/5?include=owner`, RELEASED.key)
  assert.equal(answer.status, 200)
  assert.match(answer.text, /"ownerId":1\}\}$/)
})

testOnEmpty('a database whose third step had its first form is taken as it is, too', async ({ url }) => {
  await makeReleased(url)
  const first = 'e9868a13627401436b69196c7f9713d8836d8dd067d295d0aa52d1151aa1a658'
  await change(url, `update migration set checksum = '${first}' where version = 3`, 'any')
  await (await opened(url)).close()
})

testOnEmpty('an older database is refused, says what to do, and stays as it is', async ({ url }) => {
  await makeReleased(url)
  await change(url, 'delete from migration where version > 20', 'any')
  const before = await contentOf(url)
  for (const command of [['migrate'], ['serve', '--port', '0'], ['account', 'list'], ['backup', 'copy.db']]) {
    const { code, stdout, stderr } = await run([...command, '--database', url])
    assert.match(stderr, /has schema 20, .* supports 21 and later: start it once with the version of 2026-11-24\n/)
    assert.deepEqual([code, stdout], [3, ''], command.join(' '))
  }
  assert.deepEqual(await contentOf(url), before)
})

testOnEmpty('the baseline is never edited', async ({ url }) => {
  const store = await opened(url)
  const steps = await store.db.selectFrom('migration').select(['version', 'checksum']).execute()
  assert.deepEqual(copies(steps).slice(0, 1), [{ version: 21, checksum: BASELINE }])
  await store.close()
})

/** In every database that was made since. */
const BASELINE = '174363c729cf63ccb47669ff75f2be8444c232aa98f96facafe727cbb5ce474c'

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
    spoil: "update migration set checksum = 'edited' where version = 21",
    says: /the schema of the database is not one that this version knows: use the one that made it/,
  },
]

for (const { title, spoil, says } of unfit) {
  testOnEmpty(title, async ({ url }) => {
    await change(url, spoil)
    for (const schema of [undefined, 'current'] as const) {
      await assert.rejects(opened(url, schema), error => error instanceof SchemaError && says.test(error.message))
    }
  })
}

/** That has four steps more. */
const NEXT_VERSION = currentVersion + 4

/** A database of 2026-11-24 that the next version has to rewrite, and what its records are afterwards. */
async function makeStale(url: string) {
  await makeReleased(url)
  const store = await opened(url)
  const fresh = await recordsOf(store)
  // As an earlier program wrote them.
  for (const { id, document } of fresh.sessions) {
    const old = document.replace(/}$/, ',"distanceTravelled":null}')
    const row = { document: old, etag: etagOf(old), kinds: '[]', grade: null }
    await store.db.updateTable('training_session').set(row).where('id', '=', id).execute()
  }
  await store.close()
  return { fresh, before: await contentOf(url) }
}

async function recordsOf({ db }: Pick<Store, 'db'>) {
  const sessions = await db.selectFrom('training_session').selectAll().orderBy('id').execute()
  const templates = await db.selectFrom('lock_template').selectAll().orderBy('id').execute()
  return { sessions: copies(sessions), templates: copies(templates) }
}

/** Throws unless the next version has brought a database up to date, and changed nothing but what its steps say. */
async function assertNext(url: string, { fresh, before }: Awaited<ReturnType<typeof makeStale>>) {
  const store = await opened(url, 'any')
  assert.deepEqual(await recordsOf(store), fresh)
  assert.ok(fresh.templates.some(({ is_time_displayed }) => is_time_displayed === 1))
  const revisions = await revisionsOf(store)
  assert.equal(new Set(revisions).size, 1)
  assert.ok(!revisions.includes(0) && !JSON.stringify(before['account']).includes(String(revisions[0])))
  await store.close()
  const {
    migration = [],
    account = [],
    // Those of a service about the store.
    note: ___,
    job: ____,
    visit,
    lock_template: _,
    training_session: __,
    ...others
  } = await contentOf(url)
  assert.deepEqual(visit, [])
  for (const [table, rows] of Object.entries(others)) assert.deepEqual(rows, before[table] ?? [], table)
  assert.equal(migration.length, NEXT_VERSION)
  assert.deepEqual(
    account.map(withoutRevisions),
    before['account']?.map(row => withoutRevisions({ ...row, motto: '' })),
  )
  const { code, stderr } = await run(['account', 'list', '--database', url])
  assert.equal(code, 3)
  assert.ok(
    stderr.includes(
      `a newer version of Lockstep wrote this database (schema ${NEXT_VERSION}, this version supports ${currentVersion})`,
    ),
    stderr,
  )
}

function withoutRevisions(row: object) {
  return Object.fromEntries(Object.entries(row).filter(([column]) => !column.endsWith('_revision')))
}

/** Runs a command of the next version. */
function runNext(args: readonly string[]) {
  return runShared(args, {}, nextVersion)
}

testOnEmpty('the next version adds a column, a table and a derived column, and rewrites records', async ({ url }) => {
  const stale = await makeStale(url)
  const refused = await launch(['serve', '--no-migrate', '--port', '0', '--database', url], { env: nextVersion })
  assert.equal(refused.code, 3)
  assert.match(refused.stderr, /out of date: make a backup with the version that wrote it, then run `lockstep migrate`/)
  assert.deepEqual(await contentOf(url), stale.before)
  const { code, stdout } = await runNext(['migrate', '--database', url])
  assert.equal(code, 0)
  assert.equal(
    stdout,
    `applied: a column\napplied: a table\napplied: rewritten records\napplied: a derived column\nthe schema has version ${NEXT_VERSION}\n`,
  )
  await assertNext(url, stale)
  assert.equal(
    (await runNext(['migrate', '--database', url])).stdout,
    `the schema has version ${NEXT_VERSION}, as before\n`,
  )
})

testOnEmpty('a migration that is killed in the middle has changed nothing', async ({ url }) => {
  const stale = await makeStale(url)
  const killed = start(['migrate', '--database', url], { env: { ...nextVersion, TEST_ENDLESS_STEP: 'yes' } })
  await until(() => isWriting(url))
  killed.process.kill('SIGKILL')
  await killed.ended
  await (await opened(url)).close()
  // The server ends a statement of a client that is gone only when it has a row for it.
  if (!url.startsWith('sqlite:')) await runSql(url, END_OTHERS)
  assert.deepEqual(await contentOf(url), stale.before)
  assert.equal((await runNext(['migrate', '--database', url])).code, 0)
  await assertNext(url, stale)
})

const OTHERS = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
const END_OTHERS = `select pg_terminate_backend(pid, 10000) ${OTHERS}`

/** Whether another process is in the transaction of a migration. */
async function isWriting(url: string): Promise<boolean> {
  const file = sqliteFile(url)
  if (file === undefined) return (await runSql(url, `select 1 ${OTHERS} and query like 'with recursive%'`)).length > 0
  using database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  }
}

if (postgresUrl !== undefined) {
  testBehindPgBouncer('migrations behind a pooler wait for each other', async () => {
    const { url, remove } = await emptyPostgres()
    const stale = await makeStale(url)
    {
      const mode = hasPrepared ? 'transaction' : 'session'
      await using pooler = await startPgBouncer(await sharedServer(), { mode, connections: 12 })
      const pooled = pooler.urlOf(url)
      const ended = await Promise.all([1, 2, 3].map(() => runNext(['migrate', '--database', pooled])))
      for (const { code, stderr } of ended) assert.equal(code, 0, stderr)
      assert.equal(ended.filter(({ stdout }) => stdout.includes('applied: ')).length, 1)
    }
    await assertNext(url, stale)
    await remove()
  })
}

testOnEmpty('a step that fails leaves the schema at the version before it', async ({ url }) => {
  const stale = await makeStale(url)
  await change(url, 'create table visit (id integer)')
  assert.notEqual((await runNext(['migrate', '--database', url])).code, 0)
  assert.deepEqual(await contentOf(url), { ...stale.before, visit: [] })
  await change(url, 'drop table visit')
  assert.equal((await runNext(['migrate', '--database', url])).code, 0)
  await assertNext(url, stale)
})

testOnEmpty('a record that the next version would not import stops its migration, and is named', async ({ url }) => {
  await makeReleased(url)
  const document = '{"id":5}'
  await change(url, `update training_session set document = '${document}', etag = '${etagOf(document)}' where id = 5`)
  const before = await contentOf(url)
  const { code, stderr } = await runNext(['migrate', '--database', url])
  assert.equal(code, 3)
  assert.match(stderr, /^lockstep: training-session 5 does not fit into the new schema: /m)
  assert.deepEqual(await contentOf(url), before)
})

testOn(
  'sqlite',
  'before records of SQLite are rewritten, the database is copied next to it, and the copy is named',
  async () => {
    for (const command of [['migrate'], ['account', 'add', '--username', 'zoe']]) {
      await using folder = await makeFolder()
      const url = `sqlite:${folder.file('old.db')}`
      await makeReleased(url)
      const before = await contentOf(url)
      // What a killed process left.
      writeFileSync(folder.file('old.db.schema-21.unfinished'), 'cut short')
      const { code, stderr } = await runNext([...command, '--database', url])
      assert.equal(code, 0, stderr)
      const copy = `${folder.file('old.db')}.schema-21`
      assert.ok(stderr.includes(`is in ${copy}: `), stderr)
      assert.equal(statSync(copy).mode & 0o777, 0o600)
      assert.deepEqual(await contentOf(`sqlite:${copy}`), before)
      // Once is enough.
      assert.doesNotMatch((await runNext(['migrate', '--database', url])).stderr, /rewritten/)
      assert.ok(!existsSync(`${copy}.unfinished`))
    }
  },
)

testOn('sqlite', 'a copy that cannot be made stops the migration, and nothing of it is left', async () => {
  await using folder = await makeFolder()
  const url = `sqlite:${folder.file('old.db')}`
  await makeReleased(url)
  const before = await contentOf(url)
  mkdirSync(folder.file('old.db.schema-21'))
  assert.notEqual((await runNext(['migrate', '--database', url])).code, 0)
  assert.ok(!existsSync(folder.file('old.db.schema-21.unfinished')))
  assert.deepEqual(await contentOf(url), before)
})

testOn('postgres', 'a database of another encoding than UTF8 is refused, and stays empty', async () => {
  const { url } = await sharedServer()
  await runSql(url, "create database latin encoding 'LATIN1' template template0")
  const latin = url.replace(/postgres$/, 'latin')
  await assert.rejects(opened(latin), /has the encoding LATIN1: create one with UTF8/)
  assert.deepEqual(await tables(latin), [])
})

testOn(
  'postgres',
  'the documented role serves, writes what people do by signing in, and can do nothing else',
  async () => {
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
    const invitation = await createInvitation(owned, { accountId: 2 }, now)
    for (const days of [364, 366]) await createInvitation(owned, { accountId: 1 }, now - days * DAY_MS)
    await owned.close()

    const store = await opened(service, 'current')
    await setPassword(store, { accountId: 1, password: 'correct horse battery' }, Date.now())
    const proof = await verifyPassword(store, 'ann', 'correct horse battery')
    assert.ok(proof !== undefined)
    const browser = { browser: 'a browser', actor: inBrowser, now: now - 120_000, timeZone: 'Europe/Berlin' }
    const session = await findSession(store, (await beginSession(store, { proof, ...browser })) ?? '', now)
    assert.equal(session?.accountId, 1)
    for (const units of ['metric', 'imperial'])
      await setPreferences(store, 1, { timeZone: '', units, weeklyGoal: null })
    await endSessions(store.db, 1)
    const chosen = { method: 'password', password: 'correct horse battery' } as const
    assert.ok(await acceptInvitation(store, { secret: invitation, chosen, browser: '', actor: inBrowser, now }))
    await useEveryWay(store, now)
    const request = { accountId: 1, name: 'test', scopes: ['dtt:read'], expiresAt: null }
    await createKey(store, request, now)
    const token = await createKey(store, request, now)
    const usage = makeKeyUsage(store, assert.ifError)
    usage.recordUse(1, now)
    await usage.close()
    await revokeKey(store, { id: 1 }, now)
    await replaceKey(store, { accountId: 1, id: 2 }, now, inBrowser)
    const terms = { areas: ['dtt'], recordsFrom: 0, until: now + 60_000 } as const
    for (const username of ['cas', 'nobody'])
      await giveByName(store, { accountId: 1, username, ...terms }, now, inBrowser)
    for (const { username } of await listGiven(store, 1, now)) {
      await narrowGiven(store, { accountId: 1, username, ...terms, recordsFrom: DAY_MS }, now, inBrowser)
      await endGiven(store, { accountId: 1, username }, now, inBrowser)
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
      [...recordTables, 'deleted_record', 'imported_file', 'imported_record', 'migration', 'pull_source'].toSorted(),
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
  },
)

/** Rows of SQLite have no prototype, those of PostgreSQL do. */
function copies<Row extends object>(rows: readonly Row[]): Row[] {
  return rows.map(row => ({ ...row }))
}

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
  const event = { type: 'sign-in-failed', username: 'ann', now, network: '', browser: '' } as const
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
  const identity = { issuer: 'https://id.example', subject: 'ann', authenticatedAt: undefined }
  const address = { rpId: 'history.example', issuer: identity.issuer }
  const passkey = { public_key: '', counter: 0, rp_id: address.rpId, user_handle: '', name: 'a key' }
  await store.db.transaction().execute(async db => {
    for (const credential_id of ['first', 'second']) {
      await addPasskey(db, store, { accountId: 1, passkey: { ...passkey, credential_id }, now })
    }
    await linkIdentity(db, store, { accountId: 1, identity, now })
    for (const time of [now, now + DAY_MS]) assert.equal(await useChallenge(db, 'a challenge', time), true)
    await db.updateTable('passkey').set({ counter: 1, last_used_at: now }).execute()
  })
  assert.equal((await useIdentity(store, identity, now))?.accountId, 1)
  const own = { accountId: 1, address, keepSession: 0 }
  await removePassword(store, own, now, inBrowser)
  await removePasskey(store, { id: 1, ...own }, now, inBrowser)
  await removeIdentity(store, own, now, inBrowser)
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

/** All rows by table, as JSON could have them. */
async function contentOf(url: string): Promise<Readonly<Record<string, readonly object[]>>> {
  const store = await opened(url, 'any')
  const found: Record<string, object[]> = {}
  for (const name of await namesOf(store.db)) {
    const { rows } = await sql<object>`select * from ${sql.table(name)}`.execute(store.db)
    found[name] = copies(rows).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  await store.close()
  return found
}

/** All that makes the schema, as text of the engine. */
async function schemaOf(url: string): Promise<string> {
  const file = sqliteFile(url)
  if (file !== undefined) {
    using database = new DatabaseSync(file)
    const rows = database.prepare('select sql from sqlite_schema where sql is not null order by name').all()
    return rows
      .map(row =>
        String(row['sql'])
          .replaceAll(/\s+/g, ' ')
          .replaceAll(/ (?=[,)])|(?<=\() /g, ''),
      )
      .join('\n')
  }
  const args = ['--schema-only', '--no-owner', '--no-comments', url]
  const { stdout } = await promisify(execFile)(join(postgresPrograms ?? '', 'pg_dump'), args)
  // Comments, and a random word that is in each dump.
  return stdout.replaceAll(/^(--|\\).*\n|^\n/gm, '')
}

async function revisionsOf({ db }: Store): Promise<number[]> {
  const columns = recordTables.map(table => `${table}_revision` as const)
  return (await db.selectFrom('account').select(columns).execute()).flatMap(row => Object.values(row))
}
