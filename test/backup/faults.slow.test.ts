import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { type Folder, launcher, makeFolder } from '../support/command.ts'
import { PASSWORD, type Seen, type Visitor, visitor } from '../support/dashboard.ts'
import { newPostgres, postgresUrl, testOn } from '../support/databases.ts'
import { makeReleasedFile, nextVersion } from '../support/old-databases.ts'
import { connect, startPostgres } from '../support/postgres.ts'
import { account, trainingSession } from '../support/records.ts'
import { ask as askService } from '../support/serving.ts'
import { canMount, CANNOT_MOUNT, mountSmall, smallDatabase } from '../support/small-disk.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { isWhole } from '../support/sweeps.ts'
import { until } from '../support/waiting.ts'
import { folderOf } from '../support/archives.ts'

// Commands that are killed or run out of disk leave the state before or after them, never a part.

const base = [account(1, 'ann'), ...sessions(1, 400)]
const more = sessions(401, 2000)

interface Operation {
  readonly title: string
  /** The command, in a folder with a database of `base`, an archive of `more` and a backup of both. */
  readonly args: readonly string[]
  /** Which database it writes to, if not the one of the folder. */
  readonly target?: 'new'
}

const operations: readonly Operation[] = [
  { title: 'import', args: ['import', 'more.ndjson'] },
  { title: 'restore --force', args: ['restore', 'whole.db', '--force'] },
  { title: 'restore into a new file', args: ['restore', 'whole.db', '--database', 'sqlite:new.db'], target: 'new' },
  { title: 'move', args: ['move', '--to', 'sqlite:new.db'], target: 'new' },
]

for (const operation of operations) {
  // A new file is the same, whichever engine the other tests use.
  if (postgresUrl !== undefined && operation.title === 'restore into a new file') continue
  test(`${operation.title}, killed at any moment, has changed everything or nothing`, async () => {
    await using folder = await folderOf(base, more)
    const before = await exported(folder, operation)
    await reset(folder)
    const started = performance.now()
    const whole = await folder.launch(operation.args)
    assert.equal(whole.code, 0, whole.stderr)
    const took = performance.now() - started
    const after = await exported(folder, operation)
    for (const part of isWhole ? [0.2, 0.45, 0.7, 0.9] : [0.45, 0.9]) {
      await reset(folder)
      await kill(folder, operation.args, took * part)
      const found = await exported(folder, operation)
      assert.ok(found === before || found === after, `killed after ${part} of the time`)
    }
    await reset(folder)
    await folder.run(operation.args)
    assert.equal(await exported(folder, operation), after, 'the next one succeeds')
    assert.deepEqual(leftovers(folder), [])
  })
}

for (const kind of ['plain', 'encrypted']) {
  testOn('sqlite', `a backup (${kind}) that is killed leaves only whole ones, and the next cleans up`, async () => {
    await using folder = await folderOf(base, more)
    mkdirSync(folder.file('backups'))
    const identity = await generateIdentity()
    writeFileSync(folder.file('key.txt'), identity)
    const isPlain = kind === 'plain'
    const args = ['backup', '--to', 'backups', ...(isPlain ? [] : ['--recipient', await identityToRecipient(identity)])]
    const started = performance.now()
    assert.equal((await folder.launch(args)).code, 0)
    const took = performance.now() - started
    const names = () => readdirSync(folder.file('backups'))
    const whole = () => names().filter(name => /\.db(\.age)?$/.test(name))
    for (const part of isWhole ? [0.3, 0.5, 0.6, 0.7, 0.8, 0.9] : [0.5, 0.8]) {
      await kill(folder, args, took * part)
      for (const name of whole()) {
        await folder.succeeds(['backup', 'check', `backups/${name}`, '--identity', 'key.txt'])
      }
    }
    await folder.succeeds(args)
    assert.deepEqual(
      names().toSorted(),
      whole()
        .flatMap(name => [name, `${name}.sha256`])
        .toSorted(),
    )
    assert.deepEqual(leftovers(folder), [])
  })
}

testOn('sqlite', 'migrate, killed at any moment, is applied whole or not at all', async () => {
  await using folder = await makeFolder()
  for (const ms of [150, 250, 400]) {
    await kill(folder, ['migrate'], ms)
    const { stdout } = await folder.succeeds(['migrate'])
    assert.match(stdout, /the schema has version/)
    rmSync(folder.file('data'), { recursive: true, force: true })
  }
})

testOn('postgres', 'migrate, killed between any statements, is applied whole or not at all', async () => {
  await using folder = await makeFolder()
  const whole = await newPostgres(postgresUrl ?? '')
  await folder.succeeds(['migrate', '--database', whole.url])
  const expected = await schemaOf(whole.url)
  await whole.remove()
  for (const command of [1, 10, 30, 60]) {
    const database = await newPostgres(postgresUrl ?? '')
    await using client = await connect(database.url)
    // The server stops at this command that changes the schema, until the test releases the lock.
    await client.query(`select pg_advisory_lock(1);
      create sequence commands;
      create function stop() returns event_trigger language plpgsql as $$
        begin if nextval('commands') = ${command} then perform pg_advisory_xact_lock(1); end if; end $$;
      create event trigger stop on ddl_command_end execute function stop()`)
    await using running = folder.start(['migrate', '--database', database.url])
    const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'"
    await until(async () => (await client.query(waiting)).rows.length > 0)
    running.process.kill('SIGKILL')
    await running.ended
    await client.query('select pg_advisory_unlock(1)')
    const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    await until(async () => (await client.query(others)).rows.length === 0)
    await client.query('drop event trigger stop; drop function stop(); drop sequence commands')
    await folder.succeeds(['migrate', '--database', database.url])
    assert.deepEqual(await schemaOf(database.url), expected, `killed at command ${command}`)
    await client.end()
    await database.remove()
  }
})

/** Columns, indexes and steps of a database. */
async function schemaOf(url: string) {
  await using client = await connect(url)
  const columns = await client.query(
    "select table_name, column_name, data_type from information_schema.columns where table_schema = 'public' order by 1, 2",
  )
  const indexes = await client.query("select indexdef from pg_indexes where schemaname = 'public' order by 1")
  const steps = await client.query('select version, name, checksum from migration order by 1')
  return [columns.rows, indexes.rows, steps.rows]
}

testOn('sqlite', 'on a full disk commands that write say so, and leave nothing in part', async t => {
  if (!canMount) return t.skip(CANNOT_MOUNT)
  await using folder = await folderOf(base, more)
  await using source = await sourceOfMore()
  const small = folder.file('small')
  mkdirSync(small)
  assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small]).status, 0)
  try {
    writeFileSync(join(small, 'ballast'), Buffer.alloc(1_700_000))
    const recipient = await identityToRecipient(await generateIdentity())
    const cases: readonly (readonly string[])[] = [
      ['backup', '--to', 'small'],
      ['backup', 'small/copy.db'],
      ['backup', '--to', 'small', '--recipient', recipient],
      ['restore', 'whole.db', '--database', 'sqlite:small/new.db'],
      ['move', '--to', 'sqlite:small/new.db'],
    ]
    for (const args of cases) {
      const { stderr } = await folder.refuses(args, 3, /full|ENOSPC|no space/i)
      assert.doesNotMatch(stderr, /\n {4}at /)
      assert.deepEqual(readdirSync(small), ['ballast'], args.join(' '))
    }
    rmSync(join(small, 'ballast'))
    const url = 'sqlite:small/own.db'
    await folder.succeeds(['account', 'add', '--username', 'ann', '--id', '1', '--database', url])
    const before = await folder.run(['export', '--database', url])
    const { bavail, bsize } = statfsSync(small)
    writeFileSync(join(small, 'ballast'), Buffer.alloc(bavail * bsize - 300_000))
    for (const args of [
      ['import', 'more.ndjson'],
      ['restore', 'whole.db', '--force'],
    ]) {
      await folder.refuses([...args, '--database', url], 3, /full|no space/i)
      assert.deepEqual(await folder.run(['export', '--database', url]), before, args.join(' '))
    }
    const addOnReadOnly = async () => {
      assert.equal(spawnSync('mount', ['-o', 'remount,ro', small]).status, 0)
      const { code, stderr } = await folder.run(['account', 'add', '--username', 'ben', '--database', url])
      assert.equal(spawnSync('mount', ['-o', 'remount,rw', small]).status, 0)
      assert.equal(code, 3)
      return stderr
    }
    assert.match(await addOnReadOnly(), /cannot be opened: EROFS: read-only file system/)
    // The log that it leaves lets the file be opened.
    await using killed = folder.start(['serve', '--port', '0', '--database', url])
    await killed.says(/Listening/)
    killed.process.kill('SIGKILL')
    await killed.ended
    assert.match(await addOnReadOnly(), /its file or its file system is read-only/)
    // A pull stores record by record.
    await folder.refuses(['pull', '--database', url], 3, /full/, { env: source.env })
    const whole = (await folder.run(['export', '--database', 'sqlite:all.db'])).stdout.split('\n')
    const found = await folder.succeeds(['export', '--database', url])
    for (const line of found.stdout.split('\n').filter(one => one.includes('training-session'))) {
      assert.ok(whole.includes(line), line)
    }
    await migrateOnFullDisk(folder)
  } finally {
    spawnSync('umount', ['--lazy', small])
  }
})

/** Another server, which has what the archive of `more` has. */
async function sourceOfMore() {
  const source = await startSource({ world: new SourceWorld().add(account(1, 'ann'), ...more), identity: '/users/me' })
  return Object.assign(source, {
    env: { LOCKSTEP_SOURCE_URL: source.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' },
  })
}

/** Leaves so little room in `small` that a database of an earlier version cannot be brought up to date. */
async function migrateOnFullDisk(folder: Folder) {
  const path = folder.file('small/old.db')
  rmSync(folder.file('small/ballast'))
  makeReleasedFile(path)
  const { bavail, bsize } = statfsSync(folder.file('small'))
  writeFileSync(folder.file('small/ballast'), Buffer.alloc((bavail - 12) * bsize))
  const migrate = ['migrate', '--database', 'sqlite:small/old.db']
  await folder.refuses(
    migrate,
    3,
    /no room to copy small.old\.db before its records are rewritten: make room for twice its size/,
    { env: nextVersion },
  )
  {
    using database = new DatabaseSync(path, { readOnly: true })
    assert.equal(database.prepare('select max(version) as version from migration').get()?.['version'], 21)
  }
  rmSync(folder.file('small/ballast'))
  assert.equal(spawnSync('mount', ['-o', 'remount,size=16m', folder.file('small')]).status, 0)
  await folder.succeeds(migrate, { env: nextVersion })
}

testOn('sqlite', 'on a full disk a service goes on reading, refuses writes with 503, and says why', async t => {
  if (!canMount) return t.skip(CANNOT_MOUNT)
  await using folder = await makeFolder()
  await using disk = mountSmall(folder, '4m')
  const url = `sqlite:${disk.path}/own.db`
  const { tokens } = await serviceDatabase(folder, url)
  await using running = folder.start(['serve', '--port', '0', '--database', url])
  const [, address = ''] = await running.says(/Listening on (\S+)/)
  // Its access log is on the same disk.
  await using logging = folder.spawn('/bin/sh', [
    '-c',
    'exec "$0" serve --port 0 --database "$1" 2>small/log',
    launcher,
    url,
  ])
  const [, other = ''] = await logging.says(/Listening on (\S+)/)
  const ann = visitor(address)
  assert.equal((await ann.signIn('ann')).status, 303)
  disk.fill()

  await assertReads([address, other], tokens, ann)
  const refused = await Promise.all(writes(ann).map(([, write]) => write()))
  assert.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 503),
  )
  await until(async () => running.said.stderr.includes('database or disk is full'))
  assert.doesNotMatch(running.said.stderr, /cannot rollback/)
  for (const args of [
    ['account', 'add', '--username', 'zed'],
    ['import', 'more.ndjson'],
  ]) {
    await folder.refuses([...args, '--database', url], 3, /database or disk is full/)
  }
  const exported = await folder.shell(`"$0" export --database ${url} >small/out.ndjson`)
  assert.equal(exported.code, 3)
  assert.match(exported.stderr, /^lockstep: the output cannot be written: ENOSPC/m)

  disk.empty()
  for (const [name, write] of writes(ann)) assert.ok((await write()).status < 400, `${name}, with room again`)
  await assertReads([address, other], tokens, ann)
  for (const one of [running, logging]) {
    one.process.kill('SIGTERM')
    assert.equal((await one.ended).code, 0)
  }
  assert.match((await folder.run(['access', 'reads', '--owner', 'ann', '--database', url])).stdout, /ben/)
})

testOn('postgres', 'on a server whose disk is full reads go on, and no response is 500', async t => {
  if (!canMount) return t.skip(CANNOT_MOUNT)
  await using folder = await makeFolder()
  await using disk = mountSmall(folder, '24m')
  const server = await startPostgres()
  try {
    const url = await smallDatabase(server, folder, disk)
    const { tokens } = await serviceDatabase(folder, url)
    await using running = folder.start(['serve', '--port', '0', '--database', url])
    const [, address = ''] = await running.says(/Listening on (\S+)/)
    const ann = visitor(address)
    assert.equal((await ann.signIn('ann')).status, 303)
    disk.fill()
    const before = (await folder.run(['export', '--database', url])).stdout
    await folder.refuses(['import', 'more.ndjson', '--database', url], 3, /No space left on device/)
    assert.equal((await folder.run(['export', '--database', url])).stdout, before)
    await assertReads([address], tokens, ann)
    // What still fits into pages that the server has is written.
    for (const [name, write] of writes(ann)) {
      const { status } = await write()
      assert.ok(status < 400 || status === 503, `${name}: ${status}`)
    }
  } finally {
    server.remove()
  }
})

/** Fills a database that a service can be started on: ann can sign in, and ben may read her records. */
async function serviceDatabase(folder: Folder, url: string) {
  const archive = [account(1, 'ann'), account(2, 'ben'), ...sessions(1, 3)].map(line => JSON.stringify(line)).join('\n')
  writeFileSync(
    folder.file('more.ndjson'),
    sessions(10, 2000)
      .map(line => JSON.stringify(line))
      .join('\n'),
  )
  const run = async (args: readonly string[], input = '') => {
    const { stdout } = await folder.succeeds([...args, '--database', url], { input })
    return stdout.trim()
  }
  await run(['migrate'])
  await run(['import', '-'], archive)
  await run(['account', 'set-password', '--account', 'ann'], `${PASSWORD}\n`)
  await run(['access', 'add', '--owner', 'ann', '--partner', 'ben'])
  const create = (username: string) => run(['key', 'create', '--account', username, '--name', 'Script'])
  const tokens = [await create('ann'), await create('ben')]
  // To be revoked.
  await create('ann')
  return { tokens }
}

async function assertReads(urls: readonly string[], tokens: readonly string[], ann: Visitor) {
  for (const url of urls) {
    for (const token of tokens)
      assert.equal((await askService(`${url}/api/v1/dtt/sessions?ownerId=1`, token)).status, 200)
  }
  for (const path of ['/', '/training', '/keys', '/people', '/settings', '/readyz']) {
    assert.equal((await ann.get(path)).status, 200, path)
  }
}

/** What somebody who has signed in writes. */
function writes(ann: Visitor): readonly (readonly [name: string, () => Promise<Seen>])[] {
  const NEXT = 'another long password'
  return [
    ['a sign-in', () => ann.signIn('ann')],
    ['a key', () => ann.post('/keys', { name: 'Another', scope: 'dtt:read', expires: '30d' })],
    ['a revocation', () => ann.post('/keys/3/revoke')],
    ['a password', () => ann.post('/settings/password', { current: PASSWORD, next: NEXT, again: NEXT })],
  ]
}

function sessions(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => trainingSession(from + index, 1))
}

/** Brings the database back to `base`, and takes away what an operation made. */
async function reset(folder: Folder) {
  await folder.succeeds(['restore', 'base.db', '--force'])
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(folder.file(`new.db${ending}`), { force: true })
}

async function kill(folder: Folder, args: readonly string[], afterMs: number) {
  await using running = folder.start(args)
  await Promise.race([sleep(afterMs), running.ended])
  running.process.kill('SIGKILL')
  await running.ended
}

/** What the target of an operation holds. A target that does not exist counts as an empty database: it is created before its rows are written. */
async function exported(folder: Folder, { target }: Operation): Promise<string> {
  if (target === undefined) return (await folder.run(['export'])).stdout
  await folder.succeeds(['migrate', '--database', 'sqlite:new.db'])
  return (await folder.run(['export', '--database', 'sqlite:new.db'])).stdout
}

/** Files that commands must not leave. */
function leftovers(folder: Folder): string[] {
  const names = readdirSync(folder.path, { recursive: true, encoding: 'utf8' })
  return names.filter(name => /unfinished|\.lock|\.lockstep-|-journal/.test(name))
}
