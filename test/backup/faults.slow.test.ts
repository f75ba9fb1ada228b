import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { testOn } from '../support/databases.ts'
import { account, trainingSession } from '../support/records.ts'

// Commands that are killed or run out of disk: what was there is there, or what should come, and never a part.

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
  test(`${operation.title}, killed at any moment, has changed everything or nothing`, async () => {
    await using folder = await prepared()
    const before = await exported(folder, operation)
    await reset(folder)
    const started = performance.now()
    const whole = await folder.launch(operation.args)
    assert.equal(whole.code, 0, whole.stderr)
    const took = performance.now() - started
    const after = await exported(folder, operation)
    for (const part of [0.2, 0.45, 0.7, 0.9]) {
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

test('a backup that is killed at any moment leaves only whole ones, and the next one cleans up', async () => {
  await using folder = await prepared()
  mkdirSync(folder.file('backups'))
  const started = performance.now()
  assert.equal((await folder.launch(['backup', '--to', 'backups'])).code, 0)
  const took = performance.now() - started
  for (const part of [0.3, 0.6, 0.9]) {
    await kill(folder, ['backup', '--to', 'backups'], took * part)
    for (const name of readdirSync(folder.file('backups')).filter(one => one.endsWith('.db'))) {
      const { code, stderr } = await folder.run(['backup', 'check', `backups/${name}`])
      assert.equal(code, 0, stderr)
    }
  }
  assert.equal((await folder.run(['backup', '--to', 'backups'])).code, 0)
  assert.deepEqual(
    readdirSync(folder.file('backups')).filter(name => !/\.db(\.sha256)?$/.test(name)),
    [],
  )
})

testOn('sqlite', 'migrate, killed at any moment, is applied whole or not at all', async () => {
  await using folder = await makeFolder()
  for (const ms of [150, 250, 400]) {
    await kill(folder, ['migrate'], ms)
    const { code, stdout, stderr } = await folder.run(['migrate'])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /the schema has version/)
    rmSync(folder.file('data'), { recursive: true, force: true })
  }
})

const canMount =
  spawnSync('sh', [
    '-c',
    'd=$(mktemp -d) && mount -t tmpfs -o size=64k tmpfs "$d" && umount "$d"; s=$?; rmdir "$d"; exit $s',
  ]).status === 0

test(
  'on a full disk backup, restore, move and import say so and change nothing',
  { skip: !canMount && 'this machine cannot mount a file system of fixed size' },
  async () => {
    await using folder = await prepared()
    const small = folder.file('small')
    mkdirSync(small)
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small]).status, 0)
    try {
      writeFileSync(join(small, 'ballast'), Buffer.alloc(1_700_000))
      const cases: readonly (readonly string[])[] = [
        ['backup', '--to', 'small'],
        ['backup', 'small/copy.db'],
        ['restore', 'whole.db', '--database', 'sqlite:small/new.db'],
        ['move', '--to', 'sqlite:small/new.db'],
      ]
      for (const args of cases) {
        const { code, stderr } = await folder.run(args)
        assert.equal(code, 3, `${args.join(' ')}: ${stderr}`)
        assert.match(stderr, /full|ENOSPC|no space/i)
        assert.doesNotMatch(stderr, /\n {4}at /)
        assert.deepEqual(readdirSync(small), ['ballast'], args.join(' '))
      }
      rmSync(join(small, 'ballast'))
      const url = 'sqlite:small/own.db'
      assert.equal((await folder.run(['account', 'add', '--username', 'ann', '--id', '1', '--database', url])).code, 0)
      const before = await folder.run(['export', '--database', url])
      const { bavail, bsize } = statfsSync(small)
      writeFileSync(join(small, 'ballast'), Buffer.alloc(bavail * bsize - 300_000))
      for (const args of [
        ['import', 'more.ndjson'],
        ['restore', 'whole.db', '--force'],
      ]) {
        const { code, stderr } = await folder.run([...args, '--database', url])
        assert.equal(code, 3, stderr)
        assert.match(stderr, /full|no space/i)
        assert.equal((await folder.run(['export', '--database', url])).stdout, before.stdout)
      }
      assert.equal(spawnSync('mount', ['-o', 'remount,ro', small]).status, 0)
      const readOnly = await folder.run(['account', 'add', '--username', 'ben', '--database', url])
      assert.equal(readOnly.code, 3)
      assert.match(readOnly.stderr, /the file system is read-only/)
    } finally {
      spawnSync('umount', ['--lazy', small])
    }
  },
)

function sessions(from: number, count: number) {
  return Array.from({ length: count }, (_, index) => trainingSession(from + index, 1))
}

/** A folder with a database of `base`, an archive of `more`, and a backup of both. */
async function prepared(): Promise<Folder> {
  const folder = await makeFolder()
  const archive = (lines: readonly object[]) => `${lines.map(line => JSON.stringify(line)).join('\n')}\n`
  writeFileSync(folder.file('base.ndjson'), archive(base))
  writeFileSync(folder.file('more.ndjson'), archive(more))
  const all = ['--database', 'sqlite:all.db']
  for (const args of [
    ['import', 'base.ndjson', 'more.ndjson', ...all],
    ['backup', 'whole.db', ...all],
    ['import', 'base.ndjson'],
    ['backup', 'base.db'],
  ]) {
    const { code, stderr } = await folder.run(args)
    assert.equal(code, 0, stderr)
  }
  return folder
}

/** Brings the database back to `base`, and takes away what an operation made. */
async function reset(folder: Folder) {
  const { code, stderr } = await folder.run(['restore', 'base.db', '--force'])
  assert.equal(code, 0, stderr)
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
  const opened = await folder.run(['migrate', '--database', 'sqlite:new.db'])
  assert.equal(opened.code, 0, opened.stderr)
  return (await folder.run(['export', '--database', 'sqlite:new.db'])).stdout
}

/** Files that no command should leave. */
function leftovers(folder: Folder): string[] {
  const names = readdirSync(folder.path, { recursive: true, encoding: 'utf8' })
  return names.filter(name => /unfinished|\.lock|\.lockstep-|-journal/.test(name))
}
