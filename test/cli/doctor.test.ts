// engine: sqlite
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addAccount } from '../../src/accounts/accounts.ts'
import { recordBackup, recordCheck } from '../../src/backup/facts.ts'
import { checks, oldServer } from '../../src/cli/doctor-checks.ts'
import { type Diagnosis, diagnose } from '../../src/cli/doctor.ts'
import { type Machine, thisMachine } from '../../src/cli/doctor-machine.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { Store } from '../../src/store/index.ts'
import { ownCommand } from '../../src/version.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { startService } from '../support/service.ts'
import { addKnownSource } from '../support/sources/pulls.ts'

/** How to break what a check looks at: settings, the database, files, or what the machine says. */
interface Damage {
  readonly check: string
  readonly says: RegExp
  readonly settings?: (folder: Folder) => Readonly<Record<string, string>>
  readonly host?: Partial<Machine>
  readonly store?: (store: Store) => Promise<unknown>
  readonly files?: (folder: Folder) => void
}

const database = (folder: Folder) => folder.file('data/lockstep.db')

const damages: readonly Damage[] = [
  { check: 'settings', settings: () => ({ LOCKSTEP_PROT: '1' }), says: /LOCKSTEP_PROT is not a setting/ },
  {
    check: 'settings',
    settings: () => ({ LOCKSTEP_ALLOWED_HOSTS: 'a.example', LOCKSTEP_PUBLIC_URL: 'http://127.0.0.1:2' }),
    says: /LOCKSTEP_ALLOWED_HOSTS lacks the host of LOCKSTEP_PUBLIC_URL/,
  },
  { check: 'settings', settings: () => ({ LOCKSTEP_HOST: '0.0.0.0' }), says: /nobody can sign in from another/ },
  {
    check: 'database',
    settings: folder => ({ LOCKSTEP_DATABASE_URL: `sqlite:${folder.file('nowhere.db')}` }),
    says: /there is no database at/,
  },
  { check: 'database', files: folder => truncateSync(database(folder), 0), says: /is empty \(0 bytes\)/ },
  {
    check: 'database',
    settings: () => ({ LOCKSTEP_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/lockstep' }),
    says: /ECONNREFUSED|unavailable/,
  },
  {
    check: 'schema',
    async store({ db }) {
      await db.deleteFrom('migration').execute()
      await db.insertInto('migration').values({ version: 20, name: 'x', checksum: 'x', applied_at: 0 }).execute()
    },
    says: /the database has schema 20, .* start it once with the version of 2026-11-24/,
  },
  {
    check: 'schema',
    store: store =>
      store.db.insertInto('migration').values({ version: 999, name: 'x', checksum: 'x', applied_at: 0 }).execute(),
    says: /a newer version of Lockstep wrote this database/,
  },
  { check: 'files', files: folder => chmodSync(folder.file('data'), 0o777), says: /^others can write .*data$/ },
  { check: 'files', files: folder => chmodSync(database(folder), 0o644), says: /others can read .*lockstep\.db/ },
  ...(process.getuid?.() === 0 ? [4711] : []).map(uid => ({
    check: 'files',
    files: (folder: Folder) => chownSync(database(folder), uid, uid),
    says: /lockstep\.db belongs to another user \(4711\)/,
  })),
  {
    check: 'space',
    host: { fileSystem: async () => ({ type: 0, freeBytes: 1024 * 1024 }) },
    says: /1 MB are free, and \d+ MB are needed/,
  },
  {
    check: 'space',
    host: { fileSystem: async () => ({ type: 0x6969, freeBytes: 1e12 }) },
    says: /is on the file system of a network/,
  },
  { check: 'backup', store: store => store.db.deleteFrom('note').execute(), says: /^made: never; checked: never$/ },
  { check: 'backup', store: store => recordBackup(store, daysAgo(3)), says: /^made: last 3 days ago$/ },
  { check: 'backup', store: store => recordCheck(store, daysAgo(9).madeAt), says: /^checked: last 9 days ago$/ },
  {
    check: 'pull',
    store: store => addKnownSource(store, { completed_at: daysAgo(2).madeAt }),
    says: /history\.example for ann: last 2 days ago/,
  },
  {
    check: 'pull',
    store: store => addKnownSource(store, { completed_at: null }),
    says: /history\.example for ann: never/,
  },
  {
    check: 'clock',
    host: { now: () => Date.now() - 60_000 },
    says: /differs from that of the database by -60 seconds/,
  },
  {
    check: 'files',
    settings: folder => ({ LOCKSTEP_SOURCE_TOKEN_FILE: folder.file('key') }),
    files: folder => writeFileSync(folder.file('key'), 'lks_x', { mode: 0o644 }),
    says: /others can read .*key/,
  },
  { check: 'files', settings: () => ({ LOCKSTEP_SECRET_FILE: '/nowhere/secret' }), says: /secret cannot be read/ },
  { check: 'address', settings: () => ({ LOCKSTEP_PUBLIC_URL: 'http://127.0.0.1:2' }), says: /cannot be reached/ },
  { check: 'address', settings: () => ({ LOCKSTEP_PUBLIC_URL: 'http://h.invalid' }), says: /is http:\/\/h\.invalid/ },
  { check: 'proxy', settings: () => ({ LOCKSTEP_PUBLIC_URL: 'https://127.0.0.1:2' }), says: /no proxy is trusted/ },
  { check: 'proxy', settings: () => ({ LOCKSTEP_TRUSTED_PROXIES: '0.0.0.0/0' }), says: /every address is trusted/ },
  {
    check: 'limits',
    host: { openFiles: () => 256, memoryBytes: () => 100 * 1024 * 1024 },
    says: /256 files may be open; there are 100 MB of memory/,
  },
]

test('doctor finds nothing wrong with a sound installation, and each damage under the name of its check', async t => {
  {
    await using sound = await makeSound()
    const found = await diagnose({ LOCKSTEP_DATABASE_URL: sound.databaseUrl })
    assert.deepEqual(wrongOf(found), {})
    assert.deepEqual(
      found.map(({ check }) => check),
      checks.map(({ name }) => name),
    )
  }
  for (const damage of damages) {
    await t.test(`${damage.check}: ${damage.says.source}`, async () => {
      await using folder = await makeSound()
      if (damage.store !== undefined) {
        await using store = await folder.store()
        await damage.store(store)
      }
      damage.files?.(folder)
      const environment = { LOCKSTEP_DATABASE_URL: folder.databaseUrl, ...damage.settings?.(folder) }
      const wrong = wrongOf(await diagnose(environment, { ...thisMachine, ...damage.host }))
      assert.match(wrong[damage.check] ?? 'nothing is wrong', damage.says)
    })
  }
  const broken = new Set([...damages.map(({ check }) => check), 'version'])
  const unbroken = checks.map(({ name }) => name).filter(name => !broken.has(name))
  assert.deepEqual(unbroken, [])
})

test('doctor names PostgreSQL if it is too old', () => {
  assert.deepEqual(oldServer(14_00_00), [])
  assert.deepEqual(oldServer(13_00_11), ['it has version 13'])
})

test('doctor asks the address of the service, and is content if it answers', async () => {
  await using service = await startService()
  const found = await diagnose({ LOCKSTEP_DATABASE_URL: service.databaseUrl, LOCKSTEP_PUBLIC_URL: service.url })
  assert.equal(found.find(({ check }) => check === 'address')?.result, 'ok')
  const https = service.url.replace('http:', 'https:')
  const wrong = wrongOf(await diagnose({ LOCKSTEP_DATABASE_URL: service.databaseUrl, LOCKSTEP_PUBLIC_URL: https }))
  assert.equal(wrong['address'], `${https} cannot be reached: what listens there does not speak https`)
})

test('doctor says that its user may not enter the folder of the database', async t => {
  await using folder = await makeSound()
  chmodSync(folder.file('data'), 0)
  // Root may enter every folder.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const cli = fileURLToPath(import.meta.resolve('../../src/cli.ts'))
  const env = { LOCKSTEP_DATABASE_URL: `sqlite:${database(folder)}`, PATH: process.env['PATH'] }
  const { stdout, stderr, error } = spawnSync(process.execPath, [cli, 'doctor', '--json'], {
    ...user,
    env,
    cwd: '/',
    encoding: 'utf8',
  })
  chmodSync(folder.file('data'), 0o700)
  if (error !== undefined || /EACCES.*src|Cannot find module/.test(stderr))
    return t.skip('needs sources that all may read')
  const wrong = wrongOf(JSON.parse(stdout) as Diagnosis[])
  assert.match(wrong['database'] ?? '', /^this user may not enter the folder of the database at .*lockstep\.db$/)
  assert.deepEqual([wrong['files'], wrong['space']], [undefined, undefined])
})

test('doctor says that other programs of the host are trusted if the service is below a path', async () => {
  await using folder = await makeSound()
  const doctor = (publicUrl: string) => folder.run(['doctor'], { env: { LOCKSTEP_PUBLIC_URL: publicUrl } })
  const note = /\n {7}every program on 127\.0\.0\.1:2 is trusted: browsers do not separate the paths of a host\n/
  assert.match((await doctor('http://127.0.0.1:2/lockstep')).stdout, note)
  assert.doesNotMatch((await doctor('http://127.0.0.1:2')).stdout, note)
})

test('doctor exits with 1 and says what to do if something is wrong, as a table or as JSON, and changes nothing', async () => {
  await using folder = await makeSound()
  const state = () =>
    readdirSync(folder.file('data')).map(name => [
      name,
      createHash('sha256')
        .update(readFileSync(folder.file(`data/${name}`)))
        .digest('hex'),
    ])
  const before = state()
  const sound = await folder.run(['doctor'])
  assert.deepEqual([sound.code, sound.stderr], [0, ''])
  assert.match(sound.stdout, /^ok {5}settings\n/)
  assert.doesNotMatch(sound.stdout, /WRONG/)

  const env = { LOCKSTEP_PROT: '5625' }
  const wrong = await folder.run(['doctor'], { env })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stdout, /^WRONG {2}settings: LOCKSTEP_PROT is not a setting.*\n {7}Correct the settings/)
  const json = await folder.run(['doctor', '--json'], { env })
  assert.equal(json.code, 1)
  const [first] = JSON.parse(json.stdout) as Diagnosis[]
  assert.deepEqual([first?.check, first?.result, first?.problems.length], ['settings', 'wrong', 1])
  assert.match(json.stdout, new RegExp(`Run \`${ownCommand} backup --to FOLDER --check\``))
  assert.deepEqual(state(), before)
})

/** An installation with an account and a backup, of which nothing is wrong. */
async function makeSound(): Promise<Folder> {
  const folder = await makeFolder()
  await using store = await folder.store()
  await addAccount(store, { username: 'ann', tier: 'ultra' })
  await recordBackup(store, daysAgo(0))
  await recordCheck(store, Date.now())
  return folder
}

function daysAgo(days: number) {
  return { madeAt: Date.now() - days * DAY_MS - 60_000, bytes: 1 }
}

function wrongOf(found: readonly Diagnosis[]): Readonly<Record<string, string>> {
  const wrong = found.filter(({ result }) => result === 'wrong')
  return Object.fromEntries(wrong.map(({ check, problems }) => [check, problems.join('; ')]))
}
