import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { open } from '../../src/store/index.ts'
import { endLeasesOf } from './jobs.ts'
import { folderOf } from './archives.ts'
import { type Ended, type Folder, makeFolder, runShared } from './command.ts'
import { PASSWORD } from './dashboard.ts'
import { everything } from './every-table.ts'
import { makeReleasedFile, nextVersion } from './old-databases.ts'
import { type PostgresServer, runSql } from './postgres.ts'
import { account, lockSession, trainingSession } from './records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from './sources/source-server.ts'
import { within } from './waiting.ts'

/** Commands that something fails in, and what must be true afterwards: the change is whole or not there, and nothing is left over. */

export interface Command {
  readonly args: readonly string[]
  readonly input?: string
  /** The database that it writes, if not the usual one. */
  readonly target?: string
  /** What is different in the folder before. */
  readonly before?: (folder: Folder) => void
  /** It stores page by page. */
  readonly isInParts?: boolean
  /** Doing it again is refused, or does something else. */
  readonly isOnce?: boolean
  /** The file that it writes. */
  readonly makes?: RegExp
  /** What it leaves is noted outside of the folder. */
  readonly isNotedElsewhere?: boolean
  /** What its process and those after it are started with. */
  readonly env?: Readonly<Record<string, string>>
  /** It begins with a database without tables. */
  readonly isOnEmpty?: boolean
}

const base = [account(1, 'ann'), account(2, 'ben'), trainingSession(1, 1), lockSession(1, 1)]
const more = Array.from({ length: 30 }, (_, index) => trainingSession(index + 2, 1))
const identity = await generateIdentity()
const recipient = await identityToRecipient(identity)
const NEW = { target: 'sqlite:new/own.db' }

export const commands: readonly Command[] = [
  { args: ['import', 'more.ndjson'] },
  { args: ['import', 'whole.ndjson', '--database', 'sqlite:new/own.db'], ...NEW },
  { args: ['pull', '--account', '1'], isInParts: true },
  { args: ['pull', '--database', 'sqlite:new/own.db'], ...NEW, isInParts: true },
  { args: ['pull', '--out', 'backups/all.ndjson'], makes: /^all\.ndjson$/, isNotedElsewhere: true },
  { args: ['export', '--out', 'backups/all.ndjson'], makes: /^all\.ndjson$/ },
  { args: ['backup', 'backups/copy.db'], makes: /^copy\.db$/, isOnce: true },
  { args: ['backup', '--to', 'backups'], makes: /\.db$/ },
  { args: ['backup', '--to', 'backups', '--recipient', recipient], makes: /\.db\.age$/ },
  { args: ['restore', 'whole.db', '--force'] },
  { args: ['restore', 'whole.db', '--database', 'sqlite:new/own.db'], ...NEW, isOnce: true },
  { args: ['move', '--to', 'sqlite:new/own.db'], ...NEW, isOnce: true },
  {
    args: ['migrate', '--database', 'sqlite:old.db'],
    target: 'sqlite:old.db',
    // Without the note that something has to be erased, which any command does.
    before: folder => makeReleasedFile(folder.file('old.db'), 'delete from note'),
    env: nextVersion,
  },
  { args: ['record', 'remove', 'training-session', '1', '--account', 'ann', '--yes'], isOnce: true },
  { args: ['imports', 'undo', '1', '--account', 'ann', '--yes'], isOnce: true },
  { args: ['account', 'add', '--username', 'eve'], isOnce: true },
  { args: ['account', 'remove', '--account', 'ann', '--yes'], isOnce: true },
  { args: ['account', 'set-password', '--account', 'ann'], input: `${PASSWORD}\n`, isOnce: true },
  { args: ['key', 'create', '--account', 'ann', '--name', 'Script'], isOnce: true },
  { args: ['access', 'add', '--owner', 'ann', '--partner', 'ben', '--area', 'dtt'], isOnce: true },
]

/** Those for PostgreSQL: a database of an earlier version is an empty one here. */
export const postgresCommands: readonly Command[] = [
  ...commands.filter(({ target, args }) => target === undefined && !args.includes('--out')),
  { args: ['move', '--to', 'sqlite:new/own.db'], ...NEW, isOnce: true },
  { args: ['migrate'], isOnEmpty: true },
]

export function titleOf({ args }: Command): string {
  return args.join(' ').replace(recipient, 'age1…')
}

/** Where commands run: a folder that is brought back to the same state each time. */
export interface Scene extends AsyncDisposable {
  readonly folder: Folder
  readonly databaseUrl: string
  reset(command: Command): Promise<void>
  /** Runs the command in a process of its own, or in one that has run others, which is faster. */
  attempt(command: Command, env: Readonly<Record<string, string>>, isShared?: boolean): Promise<Ended>
  /** What undisturbed runs do. */
  undisturbed(command: Command, env?: Readonly<Record<string, string>>): Promise<Expected>
  /** Throws unless everything is as promised after an attempt. Returns whether the change is there. */
  check(command: Command, ended: Ended, expected: Expected): Promise<void>
}

interface Expected {
  readonly before: State
  readonly after: State
  /** Columns whose values differ in each run. */
  readonly random: ReadonlySet<string>
  /** All files before and after. */
  readonly files: ReadonlySet<string>
}

type State = Readonly<Record<string, readonly string[]>> | undefined

/** Without a server the database is SQLite. `through` is the address of a database on the server for the commands that fail. */
export async function makeScene(server?: PostgresServer, through = (url: string) => url): Promise<Scene> {
  await using template = await folderOf(base, more)
  for (const name of ['backups', 'tmp']) mkdirSync(template.file(name))
  const folder = await makeFolder()
  const kept = await makeFolder()
  cpSync(template.path, kept.path, { recursive: true })
  const databases = server === undefined ? undefined : await makeDatabases(server, kept)
  const own = databases?.own ?? 'sqlite:data/lockstep.db'
  const source = await startSource({ world: new SourceWorld().add(base[0] ?? {}, ...more), identity: '/users/me' })
  const settings = {
    LOCKSTEP_SOURCE_URL: source.url,
    LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN,
    LOCKSTEP_PULL_RATE: '0',
    LOCKSTEP_DATABASE_URL: own,
  }

  const urlOf = ({ target = own }: Command) => target
  const stateOf = (command: Command) => readState(urlOf(command).replace('sqlite:', `sqlite:${folder.path}/`))

  const self: Scene = {
    folder,
    databaseUrl: own,
    async reset({ before, isOnEmpty = false }) {
      await databases?.reset(isOnEmpty)
      for (const name of readdirSync(folder.path)) rmSync(folder.file(name), { recursive: true })
      cpSync(kept.path, folder.path, { recursive: true })
      before?.(folder)
    },
    attempt({ args, input = '', env: needed }, given, isShared = true) {
      const variables = { ...needed, ...given }
      const env = { ...settings, LOCKSTEP_DATABASE_URL: through(own) }
      return isShared
        ? runShared(args, { input, env, cwd: folder.path }, variables)
        : folder.launch(args, { input, env: { ...env, ...variables } })
    },
    async undisturbed(command, env = {}) {
      const states: State[] = []
      const files = new Set<string>()
      for (const _ of [1, 2]) {
        await self.reset(command)
        states.push(await stateOf(command))
        for (const name of filesIn(folder)) files.add(name)
        const { code, stderr } = await self.attempt(command, env)
        assert.equal(code, 0, stderr)
        states.push(await stateOf(command))
        for (const name of filesIn(folder)) files.add(name)
      }
      const [before, after, , again] = states
      return { before, after, random: differingColumns(after, again), files }
    },
    async check(command, { code, stderr }, expected) {
      assert.doesNotMatch(stderr, /\n {4}at /, `an error that nobody expected: ${stderr}`)
      for (const url of new Set([own, urlOf(command)])) {
        await endLeasesOf(url.replace('sqlite:', `sqlite:${folder.path}/`))
        const next = await folder.run(['account', 'list', '--database', url], {
          env: { LOCKSTEP_DATABASE_URL: own, ...(url === own ? {} : command.env) },
        })
        if (next.code === 0) continue
        const isExpected =
          /there is no database|out of date|no tables of Lockstep/.test(next.stderr) &&
          (url !== own || command.isOnEmpty === true)
        assert.ok(isExpected, `the next command: ${next.stderr}`)
      }
      const copies = filesIn(folder).filter(name => COPIES.test(name))
      const known = new Set([...expected.files, ...locksIn(folder), ...copies])
      await assertNothingLeft(folder, known, `after the next command; the command itself said: ${stderr}`)
      const found = await stateOf(command)
      const isAfter = isSame(found, expected.after, expected.random)
      const isBefore = isSame(found, expected.before, new Set()) || (expected.before === undefined && isEmpty(found))
      if (command.isInParts === true) assertPart(found, expected)
      else
        assert.ok(
          isAfter || isBefore,
          `neither before (${differences(found, expected.before, new Set())}) nor after (${differences(found, expected.after, expected.random)}): ${stderr}`,
        )
      if (code === 0) assert.ok(isAfter || command.isInParts === true, 'it said that it was done')
      await checkBackups(folder)
      const made = command.makes
      const isMade = made !== undefined && readdirSync(folder.file('backups')).some(name => made.test(name))
      if (code === 0 && made !== undefined) assert.ok(isMade, 'it said that it had written a file')
      if (command.isOnce === true && (made === undefined ? isAfter && !isBefore : isMade)) return

      const again = await folder.run(command.args, { input: command.input ?? '', env: { ...settings, ...command.env } })
      assert.equal(again.code, 0, `once more: ${again.stderr}`)
      const last = await stateOf(command)
      if (command.isInParts === true) {
        assertPart(last, expected)
        assertPart(expected.after, { ...expected, after: last })
      } else assert.equal(differences(last, expected.after, expected.random), '', 'once more')
      await assertNothingLeft(folder, new Set([...expected.files, ...locksIn(folder)]), 'after it was done once more')
      await checkBackups(folder)
    },
    async [Symbol.asyncDispose]() {
      await source[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
      await kept[Symbol.asyncDispose]()
    },
  }
  return self
}

/** Two databases on a server: one is made from the other, which holds what the folder has in SQLite. */
async function makeDatabases(server: PostgresServer, kept: Folder) {
  const urlOf = (name: string) => server.url.replace(/postgres$/, name)
  await runSql(server.url, 'create database faults_template')
  const moved = await kept.run(['move', '--database', 'sqlite:data/lockstep.db', '--to', urlOf('faults_template')])
  assert.equal(moved.code, 0, moved.stderr)
  return {
    own: urlOf('faults'),
    async reset(isOnEmpty: boolean) {
      await runSql(server.url, 'drop database if exists faults with (force)')
      await runSql(server.url, `create database faults template ${isOnEmpty ? 'template0' : 'faults_template'}`)
    },
  }
}

/** What a database holds; undefined if there is none. */
async function readState(url: string): Promise<State> {
  if (url.startsWith('sqlite:') && !existsSync(url.slice('sqlite:'.length))) return undefined
  const store = await open(url, { busyTimeoutMs: 0, create: false, schema: 'any' })
  try {
    return await everything(store)
  } finally {
    await store.close()
  }
}

function rowsWithout(table: string, rows: readonly string[], random: ReadonlySet<string>): string[] {
  return rows.map(row => JSON.stringify(entriesOf(row).filter(([name]) => !random.has(`${table}.${name}`)))).toSorted()
}

function entriesOf(row: string): [string, unknown][] {
  return JSON.parse(row) as [string, unknown][]
}

function isSame(a: State, b: State, random: ReadonlySet<string>): boolean {
  return (a === undefined) === (b === undefined) && differences(a, b, random) === ''
}

/** The tables that differ, but for these columns. */
function differences(a: State, b: State, random: ReadonlySet<string>): string {
  const tables = new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})])
  const text = (state: State, table: string) => rowsWithout(table, state?.[table] ?? [], random).join()
  return [...tables].filter(table => text(a, table) !== text(b, table)).join(' ')
}

/** No records and no accounts: a database is created before anything is written into it. */
function isEmpty(state: State): boolean {
  return Object.entries(state ?? {}).every(([table, rows]) => rows.length === 0 || table === 'note')
}

function differingColumns(a: State, b: State): Set<string> {
  // A sequence of PostgreSQL goes on after a transaction that failed.
  const random = new Set(['account_event.id', 'account_event.subject_id', 'token.id'])
  for (const [table, rows] of Object.entries(a ?? {})) {
    const others = b?.[table] ?? []
    assert.equal(rows.length, others.length, table)
    const columns = (all: readonly string[]) => {
      const values = new Map<string, string[]>()
      for (const [name, value] of all.flatMap(entriesOf))
        values.set(name, [...(values.get(name) ?? []), JSON.stringify(value)])
      return values
    }
    const theirs = columns(others)
    for (const [name, values] of columns(rows)) {
      if (values.toSorted().join() !== theirs.get(name)?.toSorted().join()) random.add(`${table}.${name}`)
    }
  }
  return random
}

/** The records of a state are among those that there are in the end. */
function assertPart(found: State, { after, random }: Expected) {
  for (const table of ['account', 'training_session', 'lock_session']) {
    const all = rowsWithout(table, after?.[table] ?? [], random)
    for (const row of rowsWithout(table, found?.[table] ?? [], random)) assert.ok(all.includes(row), `${table}: ${row}`)
  }
}

/** Every file, with the time in the names of backups left out, and but for the log of an open database. */
function filesIn(folder: Folder): string[] {
  return namesIn(folder).map(withoutTime)
}

function namesIn(folder: Folder): string[] {
  return readdirSync(folder.path, { recursive: true, encoding: 'utf8' }).filter(name => !/\.db-(wal|shm)$/.test(name))
}

function withoutTime(name: string): string {
  return name.replace(/\d{8}T\d{6}Z(-\d+)?/, 'TIME')
}

/** Locks hold nothing. One that could not be removed stays until a command needs it again. */
function locksIn(folder: Folder): string[] {
  return namesIn(folder)
    .filter(name => LOCKS.test(name) && statSync(folder.file(name)).size === 0)
    .map(withoutTime)
}

/** What a killed migration leaves beside the database: the next one removes it, and other commands refuse the database. */
const COPIES = /\.schema-\d+\.unfinished(-journal)?$/

const LOCKS = /\.(lock|new)$/

/** A command of another test may be removing at this moment what the one that failed left. */
async function assertNothingLeft(folder: Folder, known: ReadonlySet<string>, when: string) {
  let left: string[] = []
  const isClean = async () => {
    left = filesIn(folder).filter(name => !known.has(name))
    return left.length === 0
  }
  await within(10_000, isClean).catch(() => assert.deepEqual(left, [], when))
}

/** Every backup and every archive is whole. */
async function checkBackups(folder: Folder) {
  writeFileSync(`${folder.path}.key`, identity)
  for (const name of readdirSync(folder.file('backups'))) {
    const path = folder.file(`backups/${name}`)
    assert.equal(statSync(path).mode & 0o077, 0, `others can read ${name}`)
    if (name.endsWith('.ndjson')) assert.match(readFileSync(path, 'utf8'), /"kind":"end".*\n$/)
    else if (LOCKS.test(name)) assert.equal(statSync(path).size, 0, name)
    else if (name.endsWith('.sha256')) assert.ok(existsSync(path.slice(0, -'.sha256'.length)), `${name} is alone`)
    else {
      const check = ['backup', 'check', path, '--identity', `${folder.path}.key`]
      // A check of a backup is noted in the database.
      const { code, stderr } = await folder.run(check, { env: { LOCKSTEP_DATABASE_URL: 'sqlite:none/none.db' } })
      assert.equal(code, 0, stderr)
    }
  }
  rmSync(`${folder.path}.key`)
}
