import assert from 'node:assert/strict'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  existsSync,
  readFileSync,
} from 'node:fs'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { fillFolder } from '../support/every-table.ts'
import { serve } from '../support/serving.ts'
import { hash } from 'node:crypto'
import { sha256Of, sha256Without } from '../../src/backup/files.ts'
import { account } from '../support/records.ts'

// engine: sqlite

test('a backup next to the log of a crashed database is refused by name, not mixed with it', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const before = (await folder.run(['export'])).stdout
  await crash(folder)

  copyFileSync(folder.file('copy.db'), folder.file('data/lockstep.db'))
  for (const args of [
    ['account', 'list'],
    ['serve', '--port', '0'],
    ['restore', 'copy.db', '--force'],
    ['backup', 'b.db'],
  ]) {
    await folder.refuses(args, 3, /lockstep\.db-wal is the log of another database that was in this place before/)
  }
  for (const ending of ['wal', 'shm']) rmSync(folder.file(`data/lockstep.db-${ending}`))
  assert.equal((await folder.run(['export'])).stdout, before)
})

test('the log of a database that is gone is not mixed with what is restored in its place', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const before = (await folder.run(['export'])).stdout
  await crash(folder)
  rmSync(folder.file('data/lockstep.db'))
  await folder.succeeds(['restore', 'copy.db'])
  assert.deepEqual(readdirSync(folder.file('data')), ['lockstep.db'])
  assert.equal((await folder.run(['export'])).stdout, before)
})

test('old pages in the journal of a restore that was killed before it changed anything are removed by the next command', async () => {
  await using folder = await makeFolder()
  await fillFolder(folder)
  const before = (await folder.run(['export'])).stdout
  // Without a header: the engine neither applies such a journal nor removes it.
  writeFileSync(folder.file('data/lockstep.db-journal'), Buffer.alloc(8712))
  assert.equal((await folder.run(['export'])).stdout, before)
  assert.deepEqual(readdirSync(folder.file('data')), ['lockstep.db'])
})

test('a database file that was copied without its log is taken for a backup only with --plain-copy', async () => {
  await using folder = await makeFolder()
  await fillFolder(folder)
  const before = (await folder.run(['export'])).stdout
  await crash(folder)
  copyFileSync(folder.file('data/lockstep.db'), folder.file('copy.db'))
  const restored = ['--database', 'sqlite:restored.db']
  for (const args of [
    ['backup', 'check'],
    ['backup', 'check', '--full'],
    ['restore', ...restored],
  ]) {
    const { code, stdout, stderr } = await folder.run([...args, 'copy.db'])
    assert.equal(code, 1, stderr)
    assert.equal(stdout, '')
    assert.match(stderr, /copy\.db has no manifest .* add --plain-copy/)
    const accepted = await folder.succeeds([...args, 'copy.db', '--plain-copy'])
    assert.match(accepted.stderr, /copied without its -wal file lacks what was written last/)
  }
  const { stdout } = await folder.run(['export', ...restored])
  assert.equal(stdout, before, 'without what was only in the log')
})

test('a database file of 0 bytes is refused by name, not taken for a new one, and can be restored', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const before = (await folder.run(['export'])).stdout
  truncateSync(folder.file('data/lockstep.db'))
  for (const args of [
    ['serve', '--port', '0'],
    ['migrate'],
    ['import', '-'],
    ['export'],
    ['account', 'add', '--username', 'eve'],
    ['key', 'list'],
    ['backup', 'b.db'],
    ['pull', 'status'],
    ['move', '--to', 'sqlite:other.db'],
  ]) {
    await folder.refuses(args, 3, /lockstep\.db is empty \(0 bytes\): its content is lost/)
  }
  assert.deepEqual(readdirSync(folder.file('data')), ['lockstep.db'])
  assert.equal(statSync(folder.file('data/lockstep.db')).size, 0)
  await folder.succeeds(['restore', 'copy.db'])
  assert.equal((await folder.run(['export'])).stdout, before)
})

test('a database whose creation was cut short, or that several processes create, is a new one', async () => {
  await using folder = await makeFolder()
  mkdirSync(folder.file('data'))
  for (const name of ['lockstep.db', 'lockstep.db.new']) writeFileSync(folder.file(`data/${name}`), '')
  const names = ['ann', 'ben', 'cat', 'dan']
  const added = await Promise.all(names.map(name => folder.run(['account', 'add', '--username', name])))
  for (const { code, stderr } of added) assert.equal(code, 0, stderr)
  const { stdout } = await folder.run(['account', 'list', '--json'])
  const found = JSON.parse(stdout).map(({ username }: { username: string }) => username)
  assert.deepEqual(found.toSorted(), names)
  assert.deepEqual(readdirSync(folder.file('data')), ['lockstep.db'])
})

test('a restore that fails leaves no new database behind', async () => {
  await using folder = await makeFolder()
  await backUp(folder)
  const { code } = await folder.run(['restore', 'copy.db', '--database', 'sqlite:copy.db'])
  assert.equal(code, 2)
  const nowhere = await folder.run(['restore', 'copy.db', '--database', 'sqlite:copy.db/new.db'])
  assert.equal(nowhere.code, 3, nowhere.stderr)
  assert.deepEqual(readdirSync(folder.path).toSorted(), ['copy.db', 'data'])
})

async function backUp(folder: Folder) {
  await fillFolder(folder)
  await folder.succeeds(['backup', 'copy.db'])
}

/** Writes to the database and leaves its log as a crash does. */
async function crash(folder: Folder) {
  // The process that pulls would close the database in order.
  await using serving = await serve(folder.databaseUrl, { settings: { LOCKSTEP_PULL: 'off' } })
  await folder.succeeds(['account', 'add', '--username', 'zoe'])
  serving.process.kill('SIGKILL')
  await serving.ended
  assert.ok(statSync(folder.file('data/lockstep.db-wal')).size > 0)
}

const CHUNK_BYTES = 64 * 1024
const text = 'a'.repeat(64)

test('the digest of a file leaves out a text wherever it stands', async () => {
  await using folder = await makeFolder()
  const file = folder.file('file')
  for (const [before, after] of [
    [0, 0],
    [36, 10],
    [CHUNK_BYTES - 30, 100],
    [2 * CHUNK_BYTES - 64, 0],
    [3 * CHUNK_BYTES, CHUNK_BYTES],
  ] as const) {
    writeFileSync(file, `${'x'.repeat(before)}${text}${'y'.repeat(after)}`)
    assert.deepEqual(await sha256Without(file, text), {
      digest: hash('sha256', `${'x'.repeat(before)}${'0'.repeat(64)}${'y'.repeat(after)}`),
      position: before,
    })
    const digest = await sha256Of(file)
    assert.deepEqual(await sha256Without(file, 'b'.repeat(64)), { digest, position: -1 })
  }
})

test('an existing file is never overwritten', async () => {
  await using folder = await makeFolder()
  await folder.run(['import', '-'], { input: JSON.stringify(account(1, 'ann')) })
  writeFileSync(folder.file('precious.db'), 'precious')
  for (const file of ['precious.db', 'data/lockstep.db', '.']) {
    const { code, stdout, stderr } = await folder.run(['backup', file])
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /exists: name a new file/)
  }
  assert.equal(readFileSync(folder.file('precious.db'), 'utf8'), 'precious')
})

test('a backup that cannot be written, or of a missing database, ends with code 3 and leaves no file', async () => {
  await using folder = await makeFolder()
  await folder.refuses(['backup', 'copy.db'], 3, /there is no database at/)
  await folder.run(['migrate'])
  const tooLong = await folder.run(['backup', `${'x'.repeat(300)}.db`])
  assert.equal(tooLong.code, 3)
  assert.match(tooLong.stderr, /no backup was made, because x+\.db cannot be written: ENAMETOOLONG/)
  assert.doesNotMatch(tooLong.stderr, /\n {4}at /)
  assert.deepEqual(readdirSync(folder.path), ['data'])
  assert.ok(!existsSync(folder.file('copy.db')))
})
