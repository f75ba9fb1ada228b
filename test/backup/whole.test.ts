import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { importArchive } from '../../src/archive/import.ts'
import { writeBackup } from '../../src/backup/create.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { currentVersion } from '../../src/store/migrations.ts'
import { open } from '../../src/store/index.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { newPostgres, postgresUrl } from '../support/databases.ts'
import { everything, fillEveryTable, fillFolder } from '../support/every-table.ts'
import { postgresPrograms } from '../support/postgres.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { endSessions } from '../../src/accounts/browser-sessions.ts'
import { knownBrowser, markBrowser } from '../../src/accounts/known-browsers.ts'

test('a backup holds every row of every table, and restores into either engine', async () => {
  await using folder = await makeFolder()
  const file = await backUp(folder)
  await using source = await folder.store()
  const before = await everything(source)
  const empty = Object.keys(before).filter(table => before[table]?.length === 0)
  assert.deepEqual(empty, [])

  const copy = await open(`sqlite:${file}`, { busyTimeoutMs: 1000, schema: 'any' })
  const { backup, ...copied } = await everything(copy)
  await copy.close()
  assert.ok(backup !== undefined)
  assert.deepEqual(withoutFacts(copied), withoutFacts(before))

  await folder.refuses(['backup', 'check', file, '--full'], 1, /does not match .*\.sha256/)
  const fresh = await backUpAgain(folder)
  await folder.succeeds(['backup', 'check', fresh, '--full'])

  const other = postgresUrl === undefined ? undefined : await newPostgres(postgresUrl)
  for (const url of ['sqlite:restored.db', ...(other === undefined ? [] : [other.url])]) {
    await folder.succeeds(['restore', fresh, '--database', url])
    const store = await open(url.replace('sqlite:', `sqlite:${folder.path}/`), { busyTimeoutMs: 1000 })
    const restoredRows = withoutFacts(await everything(store))
    assert.deepEqual(restoredRows['browser_session'], [], 'everybody has to sign in again')
    assert.deepEqual(withoutSignIns(restoredRows), withoutSignIns(withoutFacts(before)))
    assert.equal(await nextTokenId(store), 2, 'no number of a token is given twice')
    await store.close()
    assert.equal((await folder.run(['export', '--database', url])).stdout, (await folder.run(['export'])).stdout)
  }
  await other?.remove()
})

test('a backup is one private file with its digest next to it, in a folder that is created if it is missing, which any SQLite tool opens', async () => {
  await using folder = await makeFolder()
  const file = await backUp(folder)
  assert.match(basename(file), /^lockstep-\d{8}T\d{6}Z\.db$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(statSync(folder.file('backups')).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(folder.file('backups')).toSorted(), [basename(file), `${basename(file)}.sha256`])
  execFileSync('sha256sum', ['--check', '--status', `${basename(file)}.sha256`], { cwd: folder.file('backups') })
  using opened = new DatabaseSync(file, { readOnly: true })
  const said = Object.fromEntries(
    opened
      .prepare('select name, value from backup')
      .all()
      .map(({ name, value }) => [name, value]),
  )
  assert.equal(said['schema'], String(currentVersion))
  assert.equal(said['engine'], postgresUrl === undefined ? 'sqlite' : 'postgres')
  assert.equal(opened.prepare('select username from account where id = 1').get()?.['username'], 'ann')
})

test('a backup is of one moment, and writers do not wait for it', async () => {
  await using folder = await makeFolder()
  await using store = await folder.store()
  await fillEveryTable(store)
  const before = await everything(store)
  const write = writerBeside(folder)
  let writes = 0
  await writeBackup(store, folder.file('copy.db'), {
    databaseUrl: folder.databaseUrl,
    // Between any two tables.
    progress: () =>
      write(
        `update account set username = 'name ${(writes += 1)}' where id = 1; insert into note values ('${writes}', 'x')`,
      ),
  })
  assert.ok(writes > Object.keys(before).length / 2)
  assert.equal((await everything(store))['note']?.length, (before['note']?.length ?? 0) + writes)
  const copy = await open(`sqlite:${folder.file('copy.db')}`, { busyTimeoutMs: 1000, schema: 'any' })
  const { backup, ...copied } = await everything(copy)
  await copy.close()
  assert.ok(backup !== undefined)
  assert.deepEqual(copied, before)
})

test('moving a database brings everything to another one, sign-ins too, and changes nothing in the first', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const other = postgresUrl === undefined ? undefined : await newPostgres(postgresUrl)
  const chain = ['sqlite:second.db', ...(other === undefined ? [] : [other.url]), 'sqlite:last.db']
  const source = await folder.store()
  const before = await everything(source)
  await source.close()
  let from: readonly string[] = []
  for (const to of chain) {
    await folder.succeeds(['move', '--to', to, ...from])
    from = ['--database', to]
  }
  const last = await open(`sqlite:${folder.file('last.db')}`, { busyTimeoutMs: 1000 })
  assert.deepEqual(await everything(last), before)
  await last.close()
  const again = await folder.store()
  assert.deepEqual(await everything(again), before)
  await again.close()
  await folder.refuses(
    ['move', '--to', 'sqlite:last.db'],
    3,
    /^lockstep: the database is not empty: name another one$/m,
  )
  await other?.remove()
})

test('restored API keys are counted and can be revoked', async () => {
  await using folder = await makeFolder()
  const file = await backUp(folder)
  const store = await folder.store()
  await store.db.updateTable('token').set({ revoked_at: null, expires_at: null, replaced_at: null }).execute()
  await store.close()
  const live = await backUpAgain(folder)
  const kept = await folder.run(['restore', live, '--database', 'sqlite:kept.db'])
  assert.match(kept.stderr, /^Valid again, as they were then: 1 API key and \d+ grants? of access \(--revoke-keys/m)
  const replaced = await folder.store()
  await replaced.db
    .updateTable('token')
    .set({ replaced_at: Date.now() - DAY_MS + 60_000 })
    .execute()
  const stillValid = await backUpAgain(folder)
  await replaced.db
    .updateTable('token')
    .set({ replaced_at: Date.now() - DAY_MS })
    .execute()
  await replaced.close()
  const over = await backUpAgain(folder)
  for (const [backup, count] of [
    [stillValid, 1],
    [over, 0],
  ] as const) {
    const { stderr } = await folder.run(['restore', backup, '--database', 'sqlite:kept.db', '--force'])
    assert.match(stderr, new RegExp(`: ${count} API keys? and `), 'a key that was replaced works for a day')
  }
  const revoked = await folder.run(['restore', live, '--database', 'sqlite:revoked.db', '--revoke-tokens'])
  assert.match(revoked.stderr, /^All API keys are revoked\. Valid again, as they were then: \d+ grants? of access\.$/m)
  const listed = await folder.run(['key', 'list', '--json', '--database', 'sqlite:revoked.db'])
  const areValid = JSON.parse(listed.stdout).map(({ revokedAt }: { revokedAt: string | null }) => revokedAt === null)
  assert.deepEqual(areValid, [false])
  const ended = await folder.run(['restore', file, '--database', 'sqlite:ended.db'])
  assert.match(ended.stderr, /then: 0 API keys and \d+ grants? of access\.$/m)
})

test('a record whose bytes changed on the disk is named, and no backup of it is written', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const store = await folder.store()
  await sql`update lock_session set document = replace(document, '"id":', '"id": ') where id = (select min(id) from lock_session)`.execute(
    store.db,
  )
  await store.close()
  await folder.refuses(
    ['backup', 'copy.db'],
    3,
    /records in the database are damaged.*: lock session \d+ of account \d+\n/,
  )
  const copies = readdirSync(folder.path).filter(name => name.startsWith('copy'))
  assert.deepEqual(copies, [])
})

test('records whose bytes changed on the disk are repaired by importing them again', async () => {
  await using folder = await makeFolder()
  const store = await folder.store()
  await importArchive(store, archiveOf([account(1, 'ann'), lockTemplate(2, 1), trainingSession(3, 1)]))
  await folder.run(['export', '--out', 'whole.ndjson'])
  const archive = readFileSync(folder.file('whole.ndjson'), 'utf8')
  for (const table of ['account', 'lock_template', 'training_session'])
    await sql`update ${sql.table(table)} set document = replace(document, '{', '{ ')`.execute(store.db)
  await store.close()
  assert.equal((await folder.run(['backup', 'copy.db'])).code, 3)
  const refused = await folder.run(['import', 'whole.ndjson'])
  assert.match(refused.stderr, /is a record that the store has with other content/)
  await folder.succeeds(['import', 'whole.ndjson', '--on-conflict', 'replace'])
  assert.equal((await folder.run(['export'])).stdout, archive)
  await folder.succeeds(['backup', 'copy.db'])
})

/** Fills the database of a folder and backs it up; returns the path of the backup. */
async function backUp(folder: Folder): Promise<string> {
  await fillFolder(folder)
  return await backUpAgain(folder)
}

async function backUpAgain(folder: Folder): Promise<string> {
  const { stdout } = await folder.succeeds(['backup', '--to', 'backups'])
  return folder.file(stdout.trim())
}

/** Commits changes of a database at once, from outside; throws if it would have to wait. */
function writerBeside(folder: Folder): (statements: string) => void {
  if (postgresUrl === undefined) {
    const path = folder.databaseUrl.slice('sqlite:'.length)
    return statements => {
      using database = new DatabaseSync(path, { timeout: 0 })
      database.exec(`begin; ${statements}; commit`)
    }
  }
  return statements =>
    void execFileSync(
      join(postgresPrograms ?? '', 'psql'),
      ['-q', '-v', 'ON_ERROR_STOP=1', '-d', folder.databaseUrl, '-c', statements],
      {
        env: { ...process.env, PGOPTIONS: '-c lock_timeout=1' },
      },
    )
}

/** A backup is noted in the database after it is written. */
function withoutFacts({ note = [], ...tables }: Record<string, readonly string[]>): Record<string, readonly string[]> {
  return { ...tables, note: note.filter(row => !row.includes('backup ')) }
}

/** Restoring ends all sign-ins, also those that browsers are known by. */
function withoutSignIns({ account = [], ...tables }: Record<string, readonly string[]>) {
  const rows = account.map(row => row.replace(/\["sign_outs",\d+\]/, ''))
  return { ...tables, browser_session: [], account: rows }
}

async function nextTokenId(store: Awaited<ReturnType<typeof open>>): Promise<number> {
  const values = { account_id: 1, hash: 'next', name: 'next', last4: 'next', scopes: '', created_at: 0 }
  const { id } = await store.db.insertInto('token').values(values).returning('id').executeTakeFirstOrThrow()
  await store.db.deleteFrom('token').where('id', '=', id).execute()
  return id
}

test('a restore forgets all known browsers, and no later sign-out makes one of them known again', async () => {
  await using folder = await makeFolder()
  await folder.succeeds(['account', 'add', '--username', 'ann'])
  const before = await inStore(folder, store => markBrowser(store, 1))
  await folder.succeeds(['backup', 'backup.db'])
  const after = await inStore(folder, async store => {
    await endSessions(store.db, 1)
    const mark = await markBrowser(store, 1)
    assert.equal((await knownBrowser(store, mark))?.username, 'ann')
    assert.equal(await knownBrowser(store, before), undefined)
    return mark
  })

  await folder.succeeds(['restore', 'backup.db', '--force'])
  await inStore(folder, async store => {
    const marks = [before, after]
    for (const mark of marks) assert.equal(await knownBrowser(store, mark), undefined)
    await endSessions(store.db, 1)
    for (const mark of marks) assert.equal(await knownBrowser(store, mark), undefined)
  })
})

async function inStore<Result>(folder: Folder, work: (store: Awaited<ReturnType<Folder['store']>>) => Promise<Result>) {
  await using store = await folder.store()
  return await work(store)
}
