import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { sql } from '../../src/vendor/kysely.js'
import { currentVersion } from '../../src/store/migrations.ts'
import { open } from '../../src/store/index.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { newPostgres, postgresUrl } from '../support/databases.ts'
import { everything, fillEveryTable } from '../support/every-table.ts'

test('a backup holds every row of every table, and restores into either engine', async () => {
  await using folder = await makeFolder()
  const file = await backUp(folder)
  await using source = await folder.store()
  const before = await everything(source)
  const empty = Object.keys(before).filter(table => before[table]?.length === 0)
  // It has rows only while an import is stored.
  assert.deepEqual(empty, ['import_part'])

  const copy = await open(`sqlite:${file}`, { busyTimeoutMs: 1000, schema: 'any' })
  const { backup, ...copied } = await everything(copy)
  await copy.close()
  assert.ok(backup !== undefined)
  assert.deepEqual(withoutFacts(copied), withoutFacts(before))

  const { code, stderr } = await folder.run(['backup', 'check', file, '--full'])
  assert.equal(code, 1, 'a file that was opened for writing is not the one that was written')
  assert.match(stderr, /does not match .*\.sha256/)
  const fresh = await backUpAgain(folder)
  const checked = await folder.run(['backup', 'check', fresh, '--full'])
  assert.equal(checked.code, 0, checked.stderr)

  const other = postgresUrl === undefined ? undefined : await newPostgres(postgresUrl)
  for (const url of ['sqlite:restored.db', ...(other === undefined ? [] : [other.url])]) {
    const restored = await folder.run(['restore', fresh, '--database', url])
    assert.equal(restored.code, 0, restored.stderr)
    const store = await open(url.replace('sqlite:', `sqlite:${folder.path}/`), { busyTimeoutMs: 1000 })
    const { browser_session: sessions = [], ...restoredRows } = withoutFacts(await everything(store))
    const { browser_session: _, ...expected } = withoutFacts(before)
    assert.deepEqual(sessions, [], 'everybody has to sign in again')
    assert.deepEqual(restoredRows, expected)
    assert.equal(await nextTokenId(store), 2, 'no number of a token is given twice')
    await store.close()
    assert.equal((await folder.run(['export', '--database', url])).stdout, (await folder.run(['export'])).stdout)
  }
  await other?.remove()
})

test('a backup is one private file with its digest next to it, which any SQLite tool opens', async () => {
  await using folder = await makeFolder()
  const file = await backUp(folder)
  assert.match(basename(file), /^lockstep-\d{8}T\d{6}Z\.db$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
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
    const moved = await folder.run(['move', '--to', to, ...from])
    assert.equal(moved.code, 0, moved.stderr)
    from = ['--database', to]
  }
  const last = await open(`sqlite:${folder.file('last.db')}`, { busyTimeoutMs: 1000 })
  assert.deepEqual(await everything(last), before)
  await last.close()
  await using again = await folder.store()
  assert.deepEqual(await everything(again), before)
  const onto = await folder.run(['move', '--to', 'sqlite:last.db'])
  assert.match(onto.stderr, /./)
  assert.equal(onto.code, 3)
  await other?.remove()
})

test('restored tokens are counted and can be revoked', async () => {
  await using folder = await makeFolder()
  const file = await backUp(folder)
  const store = await folder.store()
  await store.db.updateTable('token').set({ revoked_at: null, expires_at: null }).execute()
  await store.close()
  const live = await backUpAgain(folder)
  const kept = await folder.run(['restore', live, '--database', 'sqlite:kept.db'])
  assert.match(kept.stderr, /^1 API keys and \d+ links are valid again, as they were then/m)
  const revoked = await folder.run(['restore', live, '--database', 'sqlite:revoked.db', '--revoke-tokens'])
  assert.match(revoked.stderr, /^All API keys are revoked\. \d+ links are valid again/m)
  const listed = await folder.run(['token', 'list', '--json', '--database', 'sqlite:revoked.db'])
  assert.deepEqual(
    JSON.parse(listed.stdout).map(({ revokedAt }: { revokedAt: string | null }) => revokedAt === null),
    [false],
  )
  const ended = await folder.run(['restore', file, '--database', 'sqlite:ended.db'])
  assert.match(ended.stderr, /^0 API keys and/m)
})

test('a record whose bytes changed on the disk is named, and no backup of it is written', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const store = await folder.store()
  await sql`update lock_session set document = replace(document, '"id":', '"id": ') where id = (select min(id) from lock_session)`.execute(
    store.db,
  )
  await store.close()
  const { code, stderr } = await folder.run(['backup', 'copy.db'])
  assert.equal(code, 3)
  assert.match(stderr, /records in the database are damaged.*: lock session \d+ of account \d+\n/)
  assert.deepEqual(
    readdirSync(folder.path).filter(name => name.startsWith('copy')),
    [],
  )
})

test('what a killed backup left is removed by the next one', async () => {
  await using folder = await makeFolder()
  await folder.run(['migrate'])
  for (const name of ['copy.db.unfinished', 'copy.db.unfinished-journal', 'copy.db.lock']) {
    writeFileSync(folder.file(name), name.endsWith('lock') ? '' : 'half of it')
  }
  const { code, stderr } = await folder.run(['backup', 'copy.db'])
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    readdirSync(folder.path).filter(name => name.startsWith('copy')),
    ['copy.db'],
  )
})

/** Fills the database of a folder and backs it up; returns the path of the backup. */
async function backUp(folder: Folder): Promise<string> {
  const store = await folder.store()
  await fillEveryTable(store)
  await store.close()
  execFileSync('mkdir', [folder.file('backups')])
  return await backUpAgain(folder)
}

async function backUpAgain(folder: Folder): Promise<string> {
  const { code, stdout, stderr } = await folder.run(['backup', '--to', 'backups'])
  assert.equal(code, 0, stderr)
  return folder.file(stdout.trim())
}

/** A backup is noted in the database after it is written. */
function withoutFacts({ note = [], ...tables }: Record<string, readonly string[]>): Record<string, readonly string[]> {
  return { ...tables, note: note.filter(row => !row.includes('backup ')) }
}

async function nextTokenId(store: Awaited<ReturnType<typeof open>>): Promise<number> {
  const values = { account_id: 1, hash: 'next', name: 'next', last4: 'next', scopes: '', created_at: 0 }
  const { id } = await store.db.insertInto('token').values(values).returning('id').executeTakeFirstOrThrow()
  await store.db.deleteFrom('token').where('id', '=', id).execute()
  return id
}
