import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { type Folder, launcher, makeFolder } from '../support/command.ts'
import { PASSWORD, type Seen, type Visitor, visitor } from '../support/dashboard.ts'
import { testOn } from '../support/databases.ts'
import { makeReleasedFile, nextVersion } from '../support/old-databases.ts'
import { startPostgres } from '../support/postgres.ts'
import { account, trainingSession } from '../support/records.ts'
import { ask as askService } from '../support/serving.ts'
import { canMount, CANNOT_MOUNT, mountSmall, smallDatabase } from '../support/small-disk.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'
import { folderOf } from '../support/archives.ts'

// Commands that run out of disk leave the state before or after them, never a part.

const base = [account(1, 'ann'), ...sessions(1, 400)]
const more = sessions(401, 2000)

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
