import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  copyFileSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { open } from '../../src/store/index.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { PASSWORD, type Visitor, visitor } from '../support/dashboard.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { folderOf, exportOf, withoutAsOf } from '../support/archives.ts'
import { tmpdir } from 'node:os'
import { compileLibrary } from '../support/preloaded.ts'

// engine: sqlite

// The power is cut after each sync of the disk: what was acknowledged is stored, and nothing is stored in part.

const base = [account(1, 'ann'), trainingSession(1, 1)]
const more = [trainingSession(2, 1), trainingSession(3, 1)]

interface Operation {
  readonly title: string
  readonly args: readonly string[]
  /** The database that it writes to, if not the one of the folder. */
  readonly target?: string
}

const operations: readonly Operation[] = [
  { title: 'import', args: ['import', 'more.ndjson'] },
  {
    title: 'import into a new database',
    args: ['import', 'whole.ndjson', '--database', 'sqlite:new/own.db'],
    target: 'new/own.db',
  },
  { title: 'restore --force', args: ['restore', 'whole.db', '--force'] },
  {
    title: 'restore into a new database',
    args: ['restore', 'whole.db', '--database', 'sqlite:new/own.db'],
    target: 'new/own.db',
  },
  { title: 'move', args: ['move', '--to', 'sqlite:new/own.db', '--database', 'sqlite:all.db'], target: 'new/own.db' },
]

for (const { title, args, target = 'data/lockstep.db' } of operations) {
  test(`${title}: a power cut leaves everything or nothing, and nothing less once it is done`, async t => {
    await using folder = await folderOf(base, more)
    const before = existsSync(folder.file(target)) ? await exported(folder.file(target)) : undefined
    using power = powerCutIn(folder, t)
    if (power === undefined) return
    const { code, stderr } = await folder.launch(args, { env: power.env })
    assert.equal(code, 0, stderr)
    const after = await exported(folder.file(target))
    assert.notEqual(after, before)
    await eachCut(power, async ({ path, syncs, isDone, names }) => {
      const file = join(path, target)
      const found = existsSync(file) ? await exported(file) : undefined
      const isOld = found === before || (before === undefined && found === EMPTY)
      assert.ok(found === after || (isOld && !isDone), `${syncs} syncs, ${names} names: ${found}`)
    })
  })
}

test('a backup is whole or not there after a power cut, and there once it is done', async t => {
  await using folder = await folderOf(base, more)
  mkdirSync(folder.file('backups'))
  const recipient = await identityToRecipient(await generateIdentity())
  for (const more of [[], ['--recipient', recipient]]) {
    using power = powerCutIn(folder, t)
    if (power === undefined) return
    const { code, stdout, stderr } = await folder.launch(['backup', '--to', 'backups', ...more], { env: power.env })
    assert.equal(code, 0, stderr)
    const made = basename(stdout.trim())
    await eachCut(power, async ({ path, syncs, isDone, names }) => {
      const found = readdirSync(join(path, 'backups'))
      if (!found.includes(made)) assert.ok(!isDone, `${syncs} syncs, ${names} names: ${found.join()}`)
      else await checkBackup(folder, join(path, 'backups', made))
      assert.equal(await exported(join(path, 'data/lockstep.db')), await exported(folder.file('data/lockstep.db')))
    })
  }
})

test('the next command removes what a power cut left of a backup, encrypted or not, and of an export', async t => {
  await using folder = await folderOf(base, more)
  mkdirSync(folder.file('backups'))
  const recipient = await identityToRecipient(await generateIdentity())
  for (const args of [
    ['backup', '--to', 'backups'],
    ['backup', '--to', 'backups', '--recipient', recipient],
    ['export', '--out', 'backups/all.ndjson'],
  ]) {
    using power = powerCutIn(folder, t)
    if (power === undefined) return
    const { code, stderr } = await folder.launch(args, { env: power.env })
    assert.equal(code, 0, stderr)
    let leftovers = 0
    await eachCut(power, async ({ path, syncs, names }) => {
      const whole = `${path}.whole`
      // The note of an unfinished file has its whole path.
      renameSync(folder.path, whole)
      renameSync(path, folder.path)
      try {
        leftovers += leftIn(folder).length
        await folder.succeeds(['account', 'list'])
        assert.deepEqual(leftIn(folder), [], `${args.join(' ')}: ${syncs} syncs, ${names} names`)
      } finally {
        renameSync(folder.path, path)
        renameSync(whole, folder.path)
      }
    })
    assert.ok(leftovers > 0, args.join(' '))
  }
})

test('a pull that ended is there after a power cut, and one that was cut is brought to its end by the next', async t => {
  await using source = await startSource({ world: new SourceWorld().add(...base, ...more), identity: '/users/me' })
  await using folder = await makeFolder()
  using power = powerCutIn(folder, t)
  if (power === undefined) return
  const env = { LOCKSTEP_SOURCE_URL: source.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  const { code, stderr } = await folder.launch(['pull'], { env: { ...env, ...power.env } })
  assert.equal(code, 0, stderr)
  const after = await exported(folder.file('data/lockstep.db'))
  await eachCut(power, async ({ path, isDone }) => {
    const database = join(path, 'data/lockstep.db')
    if (!isDone) {
      await folder.succeeds(['pull', '--database', `sqlite:${database}`], { env })
    }
    assert.equal(await exported(database), after)
  })
})

test('what a page confirmed is still there after a power cut', async t => {
  await using folder = await folderOf(base, more)
  await folder.succeeds(['account', 'set-password', '--account', 'ann'], { input: `${PASSWORD}\n` })
  using power = powerCutIn(folder, t)
  if (power === undefined) return
  await using running = folder.start(['serve', '--port', '0'], { env: power.env })
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  const ann = visitor(url)
  const other = visitor(url)
  const NEXT = 'another long password'
  await using scratch = await makeFolder()
  /** Looks at a service on what is left now. */
  const afterCut = async (look: (service: TestService, it: Visitor) => Promise<void>) => {
    for (const names of ['synced', 'current'] as const) {
      const path = scratch.file('disk')
      power.restoreTo(path, power.syncs(), names)
      await using service = await startService([], {}, { databaseUrl: `sqlite:${join(path, 'data/lockstep.db')}` })
      await look(service, visitor(service.url))
    }
  }

  for (const one of [ann, other]) assert.equal((await one.signIn('ann')).status, 303)
  await afterCut(async (_, it) => {
    for (const [name, value] of ann.cookies) it.cookies.set(name, value)
    assert.equal((await it.get('/keys')).status, 200, 'a sign-in')
  })
  const created = await ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })
  const key = /lks_[0-9A-Za-z]{36}/.exec(created.text)?.[0] ?? ''
  await afterCut(async service => assert.equal((await service.fetch('/api/v1/me', key)).status, 200, 'a key'))
  assert.equal((await ann.post('/keys/1/revoke')).to, '/keys?done=revoked')
  await afterCut(async service => assert.equal((await service.fetch('/api/v1/me', key)).body.code, 'token_revoked'))
  const changed = await ann.post('/settings/password', { current: PASSWORD, next: NEXT, again: NEXT })
  assert.equal(changed.to, '/settings?saved=password')
  await afterCut(async (_, it) => {
    assert.equal((await it.signIn('ann', PASSWORD)).status, 403, 'the old password')
    assert.equal((await it.signIn('ann', NEXT)).status, 303, 'the new password')
    it.cookies.clear()
    for (const [name, value] of other.cookies) it.cookies.set(name, value)
    assert.equal((await it.get('/keys')).status, 303, 'another session')
  })
})

const EMPTY = '{"kind":"end","data":{"lines":0}}\n'

interface Cut {
  readonly path: string
  readonly syncs: number
  readonly names: Names
  /** Whether the command had ended. */
  readonly isDone: boolean
}

async function eachCut(power: PowerCut, look: (cut: Cut) => Promise<void>) {
  const total = power.syncs()
  assert.ok(total > 0)
  await using scratch = await makeFolder()
  const path = scratch.file('disk')
  for (const names of ['synced', 'current'] as const) {
    for (let syncs = 0; syncs <= total; syncs += 1) {
      power.restoreTo(path, syncs, names)
      await look({ path, syncs, names, isDone: syncs === total })
    }
  }
}

function powerCutIn(folder: Folder, t: TestContext): PowerCut | undefined {
  const power = makePowerCut(folder.path)
  if (power === undefined) t.skip('gcc is not installed')
  return power
}

/** What a database holds, brought up to date as the next start does. */
async function exported(path: string): Promise<string> {
  const store = await open(`sqlite:${path}`, { busyTimeoutMs: 0, create: false })
  try {
    const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(store.db)
    assert.equal(rows[0]?.integrity_check, 'ok')
    return withoutAsOf(await exportOf(store))
  } finally {
    await store.close()
  }
}

/** What a backup works with until it is done. */
function leftIn({ path }: Folder): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).filter(name => /unfinished|\.lockstep-/.test(name))
}

async function checkBackup(folder: Folder, path: string) {
  const { stdout } = await folder.succeeds(['backup', 'check', path])
  assert.match(stdout, /is intact|matches its digest/)
}

/**
 * What a disk holds after a power cut: the bytes that processes have synced, under the names of folders that they have synced.
 * Everything else is lost.
 */
interface PowerCut extends Disposable {
  /** The settings of the processes. */
  readonly env: Readonly<Record<string, string>>
  /** How often something was synced since this was made. */
  syncs(): number
  /** Makes a folder that holds what is left if the power is cut right after so many syncs. */
  restoreTo(path: string, syncs: number, names: Names): void
}

/**
 * Which names the disk may have: those from when their folder was last synced, or the present ones, because a rename or a removal may
 * reach the disk before the folder is synced.
 */
type Names = 'synced' | 'current'

interface Found {
  /** The same for a file or folder whatever its name. */
  readonly id: string
  readonly isFolder: boolean
  /** Empty for the root. */
  readonly path: string
  /** Where a symbolic link leads. The disk has that with its name. */
  readonly target?: string | undefined
}

interface Entry extends Found {
  readonly name: string
  /** The folder it is in; empty for the root. */
  readonly parent: string
}

/** Keeps what is synced below a folder from now on; needs a C compiler, undefined where there is none. */
function makePowerCut(root: string): PowerCut | undefined {
  const kept = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  const library = compileLibrary('power-cut', kept)
  if (library === undefined) return undefined
  const atStart = treeOf(root)
  for (const { id, isFolder, path } of atStart) if (!isFolder) copyFileSync(join(root, path), join(kept, id))
  const log = join(kept, 'log')
  mkdirSync(log)

  return {
    env: { LD_PRELOAD: library, POWER_CUT_ROOT: root, POWER_CUT_LOG: log },
    syncs: () => numbersIn(log).length,
    restoreTo(path, syncs, names) {
      const contents = new Map(atStart.map(({ id }) => [id, join(kept, id)]))
      const folders = new Map(atStart.filter(({ isFolder }) => isFolder).map(({ id }) => [id, atStart]))
      const numbers = numbersIn(log)
      let current = atStart
      for (const number of numbers.slice(0, syncs)) {
        const { synced, entries } = readListing(join(log, `${number}.names`))
        current = entries
        if (synced.isFolder) folders.set(synced.id, entries)
        else contents.set(synced.id, join(log, `${number}.content`))
      }
      if (syncs >= numbers.length) current = treeOf(root)
      const build = ({ id }: Entry, to: string) => {
        mkdirSync(to)
        const known = names === 'synced' ? (folders.get(id) ?? []) : current
        for (const entry of known.filter(({ parent }) => parent === id)) {
          const content = contents.get(entry.id)
          if (entry.isFolder) build(entry, join(to, entry.name))
          else if (entry.target !== undefined) symlinkSync(entry.target, join(to, entry.name))
          // A file that was never synced has a name and no content.
          else if (content === undefined) writeFileSync(join(to, entry.name), '')
          else copyFileSync(content, join(to, entry.name))
        }
      }
      rmSync(path, { recursive: true, force: true })
      build(rootOf(atStart), path)
    },
    [Symbol.dispose]: () => rmSync(kept, { recursive: true, force: true }),
  }
}

function numbersIn(log: string): readonly string[] {
  const listings = readdirSync(log).filter(name => name.endsWith('.names') && !name.includes('unfinished'))
  return listings.map(name => basename(name, '.names')).toSorted()
}

function readListing(path: string): { synced: Entry; entries: readonly Entry[] } {
  const found = readFileSync(path, 'utf8').trimEnd().split('\n')
  const [synced, ...entries] = found.map(line => {
    const [kind, id = '', name = '', target] = line.split(' ')
    return { id, isFolder: kind === 'd', path: name, target: kind === 'l' ? target : undefined }
  })
  if (synced === undefined) throw new Error(`${path} is empty`)
  return { synced: { ...synced, name: '', parent: '' }, entries: withParents(entries) }
}

/** The root and everything below it. */
function treeOf(root: string): readonly Entry[] {
  const paths = ['', ...readdirSync(root, { recursive: true, encoding: 'utf8' })]
  const found = paths.map(path => {
    const file = lstatSync(join(root, path), { bigint: true })
    const target = file.isSymbolicLink() ? readlinkSync(join(root, path)) : undefined
    return { id: `${file.ino}.${file.birthtimeNs}`, isFolder: file.isDirectory(), path, target }
  })
  return withParents(found)
}

function withParents(found: readonly Found[]): readonly Entry[] {
  const ids = new Map(found.map(({ path, id }) => [path, id]))
  return found.map(one => {
    const slash = one.path.lastIndexOf('/')
    const parent = one.path === '' ? '' : (ids.get(one.path.slice(0, Math.max(0, slash))) ?? '')
    return { ...one, name: one.path.slice(slash + 1), parent }
  })
}

function rootOf(entries: readonly Entry[]): Entry {
  const [root] = entries
  if (root === undefined) throw new Error('there is no root')
  return root
}
