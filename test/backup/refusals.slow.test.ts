// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { etagOf } from '../../src/archive/kind.ts'
import { sha256Of, writeDigest } from '../../src/backup/files.ts'
import { writeFileDigest } from '../../src/backup/manifest.ts'
import { restoreBackup } from '../../src/backup/restore.ts'
import { openVerified } from '../../src/backup/verify.ts'
import { open } from '../../src/store/index.ts'
import { currentVersion } from '../../src/store/migrations.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { flip } from '../support/flips.ts'
import { everything, fillFolder } from '../support/every-table.ts'
import { testOn } from '../support/databases.ts'
import { connect } from '../support/postgres.ts'
import { needs } from '../support/programs.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// What a restore refuses, before it touches anything.

/** Backups of the same database; the tests change copies of them. */
let made: { folder: Folder; plain: string; encrypted: string }

before(async () => {
  const folder = await makeFolder()
  await fillFolder(folder)
  const identity = await generateIdentity()
  const second = await generateIdentity()
  const recipients = [await identityToRecipient(identity), await identityToRecipient(second)]
  writeFileSync(folder.file('key.txt'), `# the identity of the test\n${identity}\n`)
  writeFileSync(folder.file('second.txt'), second)
  for (const args of [['plain.db'], ['encrypted.db.age', ...recipients.flatMap(one => ['--recipient', one])]]) {
    const { stderr } = await folder.succeeds(['backup', ...args])
    assert.doesNotMatch(stderr, /warning/)
  }
  made = { folder, plain: folder.file('plain.db'), encrypted: folder.file('encrypted.db.age') }
})
after(() => made.folder[Symbol.asyncDispose]())

testOn('sqlite', 'a file that is damaged, cut, of a newer program or no backup is refused with code 1', async () => {
  await using folder = await makeFolder()
  const bad = folder.file('bad.db')
  const cases: readonly { spoil: () => void; says: RegExp }[] = [
    { spoil: () => flip(bad, 5000), says: /was changed or is damaged|is damaged/ },
    { spoil: () => truncateSync(bad, 8192 * 4), says: /was changed or is damaged|is damaged/ },
    { spoil: () => truncateSync(bad, 100), says: /damaged/ },
    { spoil: () => writeFileSync(bad, 'no database at all'), says: /is not a backup/ },
    { spoil: () => truncateSync(bad, 0), says: /is not a backup/ },
    { spoil: () => change(bad, "update account set username = 'eve' where id = 1"), says: /was changed or is damaged/ },
    {
      spoil: () => writeFileSync(`${bad}.sha256`, `${'0'.repeat(64)}  bad.db\n`),
      says: /does not match bad\.db\.sha256/,
    },
  ]
  for (const { spoil, says } of cases) {
    rmSync(`${bad}.sha256`, { force: true })
    copyFileSync(made.plain, bad)
    spoil()
    for (const command of [['restore'], ['backup', 'check'], ['backup', 'check', '--full']]) {
      const { stdout, stderr } = await folder.refuses([...command, 'bad.db'], 1, says)
      assert.equal(stdout, '')
      assert.doesNotMatch(stderr, /\n {4}at /)
    }
  }
})

test('a damaged backup leaves the database as it was, also with --force, and creates none', async () => {
  await using folder = await makeFolder()
  copyFileSync(made.plain, folder.file('bad.db'))
  flip(folder.file('bad.db'), 5000)
  writeFileSync(folder.file('other.txt'), await generateIdentity())
  const refused = [['bad.db'], [made.encrypted, '--identity', 'other.txt']]
  for (const args of refused) {
    const { code } = await folder.run(['restore', ...args, '--database', 'sqlite:new/own.db'])
    assert.equal(code, 1)
    assert.deepEqual(existsSync(folder.file('new')) ? readdirSync(folder.file('new')) : [], [])
  }
  await folder.run(['account', 'add', '--username', 'zoe'])
  await using store = await folder.store()
  const before = await everything(store)
  for (const args of refused) {
    const { code } = await folder.run(['restore', ...args, '--force'])
    assert.equal(code, 1)
    assert.deepEqual(await everything(store), before)
  }
})

testOn('sqlite', 'a backup whose digest is right is still refused if its content is not that of a backup', async () => {
  await using folder = await makeFolder()
  const bad = folder.file('bad.db')
  const cases: readonly { change: string; says: RegExp; isFull?: boolean }[] = [
    { change: 'delete from passkey; delete from note', says: /does not have the \d+ rows of/ },
    { change: "delete from backup where name = 'rows'", says: /the manifest of the backup cannot be read/ },
    {
      change: `update backup set value = '${'0'.repeat(64)}' where name = 'exportSha256'`,
      says: /an export of the restored backup differs/,
      isFull: true,
    },
    { change: "update account set document = replace(document, 'ann', 'eve')", says: /does not match its hash/ },
    {
      change: `update lock_device set document = replace(document, '"locked":', '"lock":');
        update lock_device set etag = etag_of(document)`,
      says: /lock-device \d+ of the backup is damaged/,
    },
    { change: 'update training_session set at = at + 1', says: /column at does not follow from its content/ },
  ]
  for (const { change: statement, says, isFull = false } of cases) {
    copyFileSync(made.plain, bad)
    await changeAndSeal(bad, statement)
    if (isFull) await folder.succeeds(['backup', 'check', 'bad.db'])
    for (const command of isFull ? [['backup', 'check', '--full']] : [['backup', 'check'], ['restore']]) {
      await folder.refuses([...command, 'bad.db'], 1, says)
    }
  }
})

testOn('sqlite', 'without an identity, an encrypted backup is compared with its digest alone', async () => {
  await using folder = await makeFolder()
  const file = folder.file('copy.db.age')
  copyFileSync(made.encrypted, file)
  writeDigest(file, await sha256Of(file))
  const good = await folder.succeeds(['backup', 'check', 'copy.db.age'])
  assert.match(
    good.stdout,
    /matches its digest\. It is encrypted, so nothing more was checked: for that, run `\S+ backup check --full --identity FILE` where/,
  )
  assert.equal((await folder.run(['backup', 'check', '--full', 'copy.db.age'])).code, 2)
  flip(file, 5000)
  await folder.refuses(['backup', 'check', 'copy.db.age'], 1, /does not match/)
})

testOn('sqlite', 'a backup that was made by a newer program is refused with code 1', async () => {
  await using folder = await makeFolder()
  const newer = folder.file('newer.db')
  change(made.plain, `vacuum into '${newer}'`)
  change(newer, 'drop table backup')
  change(newer, `insert into migration values (${currentVersion + 1}, 'later', 'x', 0)`)
  await folder.refuses(['restore', newer, '--plain-copy'], 1, /a newer version of Lockstep wrote this database/)
})

testOn('sqlite', 'an encrypted backup needs an identity of a recipient: else code 2, or 1', async () => {
  await using folder = await makeFolder()
  await folder.refuses(['restore', made.encrypted], 2, /is encrypted: name a file with --identity/)
  await folder.refuses(
    ['restore', made.encrypted, '--identity', 'nowhere.txt'],
    2,
    /is not a file with age identities that can be read \(ENOENT\)/,
  )
  writeFileSync(folder.file('other.txt'), await generateIdentity())
  await folder.refuses(
    ['restore', made.encrypted, '--identity', 'other.txt'],
    1,
    /none of the identities opens the file/,
  )
  const noDigest = await folder.run(['backup', 'check', made.encrypted])
  assert.equal(noDigest.code, 2)
  const identity = ['--identity', made.folder.file('key.txt')]
  for (const key of ['key.txt', 'second.txt']) {
    await folder.succeeds(['backup', 'check', '--full', '--identity', made.folder.file(key), made.encrypted])
  }
  await folder.succeeds(['restore', made.encrypted, ...identity])
})

test('a database that is not empty is refused with code 3, and replaced with --force', async () => {
  await using folder = await makeFolder()
  await folder.run(['account', 'add', '--username', 'zoe'])
  const refused = await folder.run(['restore', made.plain])
  assert.equal(refused.code, 3)
  assert.match(
    refused.stderr,
    /the database is not empty: name another one, or replace everything in it with --force$/m,
  )
  assert.match((await folder.run(['account', 'list'])).stdout, /zoe/)
  await folder.succeeds(['restore', made.plain, '--force'])
  assert.doesNotMatch((await folder.run(['account', 'list'])).stdout, /zoe/)
  assert.equal((await folder.run(['export'])).stdout, (await made.folder.run(['export'])).stdout)
})

test('a database that a service has open is neither restored into nor moved', async () => {
  await using folder = await makeFolder()
  await folder.succeeds(['account', 'add', '--username', 'ann'])
  const store = await folder.store()
  const { note: _before, ...before } = await everything(store)
  await store.close()
  const url = folder.databaseUrl
  await using _serving = await serve(url)
  await assertInUse(url)
  await using again = await folder.store()
  // The service itself writes notes, such as when it compared records last.
  const { note: _after, ...after } = await everything(again)
  assert.deepEqual(after, before)
})

// PostgreSQL shows who uses a database only by connections, and a service closes those that it has not used for a while.
testOn('postgres', 'a database that an idle service has open is neither restored into nor moved', async t => {
  // Nothing is written from time to time.
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  await using service = await startService(world)
  await using client = await connect(service.databaseUrl)
  const reads = Array.from({ length: 5 }, () => service.store.db.selectFrom('account').select('id').execute())
  await Promise.all([...reads, service.fetch('/readyz')])
  assert.ok((await connectionsOf(client)).length > 1)
  t.mock.timers.tick(IDLE_TIMEOUT_MS)
  t.mock.timers.reset()
  await until(async () => (await connectionsOf(client)).length <= 1)
  await assertInUse(service.databaseUrl)
})

testOn('postgres', 'a restore stores nothing if a service opens the database before it ends', async () => {
  await using folder = await makeFolder()
  const url = folder.databaseUrl
  await folder.succeeds(['migrate'])
  const target = await open(url, { busyTimeoutMs: 60_000, exclusive: true, schema: 'any' })
  const backup = await openVerified(made.plain, { workFolder: folder.path })
  await using service = await startService([], {}, { databaseUrl: url })
  const before = await everything(service.store)
  await assert.rejects(restoreBackup(backup, target), /another process has the database open/)
  assert.deepEqual(await everything(service.store), before)
  await backup.close()
  await target.close()
})

testOn(
  'sqlite',
  'the age tool opens backups and archives, and can encrypt them',
  async () => {
    await using folder = await makeFolder()
    const identity = ['-i', made.folder.file('key.txt')]
    execFileSync('age', ['--decrypt', ...identity, '-o', folder.file('opened.db'), made.encrypted])
    await folder.succeeds(['backup', 'check', 'opened.db', '--full'])
    const key = execFileSync('age-keygen', { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' })
    writeFileSync(folder.file('its.txt'), key)
    const recipient = /age1\w+/.exec(key)?.[0] ?? ''
    execFileSync('age', ['-r', recipient, '-o', folder.file('theirs.age'), folder.file('opened.db')])
    await folder.succeeds(['restore', 'theirs.age', '--identity', 'its.txt'])
    const plain = (await made.folder.run(['export'])).stdout
    assert.equal((await folder.run(['export'])).stdout, plain)
    await folder.shell(`"$0" export --recipient ${await madeRecipient()} > archive.age`)
    assert.equal(
      execFileSync('age', ['--decrypt', ...identity, folder.file('archive.age')], { encoding: 'utf8' }),
      plain,
    )
  },
  needs('age'),
)

/** For whom the backup is encrypted. */
async function madeRecipient(): Promise<string> {
  const [identity = ''] = /AGE-SECRET-KEY-\S+/.exec(readFileSync(made.folder.file('key.txt'), 'utf8')) ?? []
  return identityToRecipient(identity)
}

/** Commands that need a database for themselves refuse this one. */
async function assertInUse(url: string) {
  await using folder = await makeFolder()
  const commands = [
    ['restore', made.plain, '--force', '--database', url],
    ['move', '--database', url, '--to', 'sqlite:moved.db'],
    ['move', '--database', made.folder.databaseUrl, '--to', url],
  ]
  // On PostgreSQL each waits for two seconds, whether the other process ends.
  for (const { code, stderr } of await Promise.all(commands.map(args => folder.run(args)))) {
    assert.equal(code, 3, stderr)
    assert.match(stderr, /another process has the database.* open: stop it first/)
  }
}

const IDLE_TIMEOUT_MS = 30_000
const OF_SERVICE = "from pg_stat_activity where datname = current_database() and application_name = 'lockstep'"

async function connectionsOf(client: Awaited<ReturnType<typeof connect>>): Promise<number[]> {
  return (await client.query<{ pid: number }>(`select pid ${OF_SERVICE}`)).rows.map(({ pid }) => pid)
}

function change(path: string, statement: string) {
  using database = new DatabaseSync(path)
  database.exec(statement)
}

/** Changes a backup, and writes into it the digest that it has then. */
async function changeAndSeal(path: string, statement: string) {
  const placeholder = '5'.repeat(64)
  {
    using database = new DatabaseSync(path)
    database.function('etag_of', document => etagOf(String(document)))
    database.exec(statement)
    database.prepare("update backup set value = ? where name = 'fileSha256'").run(placeholder)
  }
  await writeFileDigest(path, placeholder)
}

testOn('sqlite', 'an encrypted archive is written and read by the command line', async () => {
  const { folder } = made
  const key = folder.file('key.txt')
  const { stderr } = await folder.shell(`"$0" export --recipient ${await madeRecipient()} > archive.age`)
  assert.match(stderr, /warning: with one recipient/)
  const plain = (await folder.run(['export'])).stdout
  await using other = await makeFolder()
  const archive = folder.file('archive.age')
  assert.equal((await other.run(['import', archive])).code, 2)
  const bytes = readFileSync(archive)
  writeFileSync(other.file('cut.age'), bytes.subarray(0, bytes.length - 10))
  await other.refuses(['import', 'cut.age', '--identity', key], 1, /damaged or incomplete/)
  assert.match((await other.run(['export'])).stdout, /^\{"kind":"end","data":\{"lines":0\}\}\n$/)
  await other.succeeds(['import', archive, '--identity', key])
  assert.equal((await other.run(['export'])).stdout, plain)
})
