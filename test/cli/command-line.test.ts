// engine: sqlite
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { settings } from '../../src/config.ts'
import { launcher, makeFolder, launch, shell } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'

const mistakes: readonly { readonly args: string; readonly says: RegExp }[] = [
  { args: '', says: /Commands:/ },
  { args: 'acount', says: /unknown command.*\n\(Did you mean account\?\)\n\(add --help/ },
  { args: 'account ad', says: /unknown command.*\n\(Did you mean add\?\)/ },
  { args: 'account add', says: /--username <name>' not specified\n\(add --help/ },
  { args: 'account list --jsn', says: /unknown option '--jsn'\n\(Did you mean --json\?\)/ },
  { args: 'account add --username x --id 1e1', says: /--id.*must be an integer of 1 or more/ },
  { args: 'account add --username x --tier gold', says: /choices are ultra, pioneer, founder, employee, none/ },
  { args: 'account set-tier --account x --tier ultra --until 2026-02-30', says: /RFC 3339 date-time or YYYY-MM-DD/ },
  { args: 'import', says: /missing required argument 'file'/ },
  { args: 'import x.ndjson --on-conflict maybe', says: /choices are fail, skip, replace/ },
  { args: 'import nowhere.ndjson', says: /nowhere.ndjson cannot be read \(ENOENT\): nothing was stored/ },
  { args: 'import - -', says: /- is stdin: give it once/ },
  { args: 'import .', says: /\. is a folder: give the archives in it/ },
  { args: 'key create --account x --name x --expires soon', says: /30d.*never.*RFC 3339/ },
  { args: 'key create --account x --name x --scope all', says: /choices are lkbx:read, dtt:read, status:read/ },
  { args: 'key revoke first', says: /id of an API key, as key list shows it/ },
  { args: 'backup nowhere/x.db', says: /there is no folder \S+nowhere/ },
  { args: 'move --to mysql://localhost/x', says: /--to must be sqlite:<path> or postgres:/ },
  {
    args: 'account list --database mysql://localhost/x',
    says: /--database must be sqlite:<path> or postgres:/,
  },
  { args: 'doctor --database lockstep.db', says: /--database must be sqlite:<path> or postgres:/ },
  { args: 'serve --workers 0', says: /a number from 1 to 99/ },
  { args: 'serve --port 65536', says: /a port from 0 to 65535/ },
]

test('wrong usage ends with code 2 and a message on stderr that says what to do instead', async t => {
  await using folder = await makeFolder()
  for (const { args, says } of mistakes) {
    await t.test(`lockstep ${args}`, async () => {
      const { code, stdout, stderr } = await folder.run(args.split(' ').filter(word => word !== ''))
      assert.match(stderr, says)
      assert.equal(code, 2)
      assert.equal(stdout, '')
    })
  }
  assert.ok(!existsSync(folder.file('data')), 'none of them makes a database')
})

const invalid: Readonly<Record<string, string>> = {
  LOCKSTEP_DATABASE_URL: 'lockstep.db',
  LOCKSTEP_PULL_DATABASE_URL: 'mysql://localhost/x',
  LOCKSTEP_PORT: '65536',
  LOCKSTEP_PUBLIC_URL: 'history.example',
  LOCKSTEP_TRUSTED_PROXIES: '10.0.0.0/33',
  LOCKSTEP_CORS_ORIGINS: 'https://charts.example/',
  LOCKSTEP_RATE_LIMIT: '-1',
  LOCKSTEP_KEEP_ALIVE: '5s',
  LOCKSTEP_HEADERS_TIMEOUT: '0',
  LOCKSTEP_REQUEST_TIMEOUT: '0.000',
  LOCKSTEP_ACCESS_LOG: 'yes',
  LOCKSTEP_METRICS_PORT: 'x',
  LOCKSTEP_: '1',
  LOCKSTEP_PROT: '80',
}

test('an address of the service with a password is refused, and the password is not repeated', async () => {
  for (const [name, args] of [
    ['LOCKSTEP_PUBLIC_URL', ['serve', '--port', '0']],
    ['LOCKSTEP_URL', ['mcp']],
  ] as const) {
    const { code, stderr } = await launch([...args], { env: { [name]: 'https://ann:hunter2@history.example' } })
    assert.deepEqual([code, stderr], [2, `lockstep: ${name} must not contain a username or a password\n`])
  }
})

test('invalid settings are reported all at once, and only those', async () => {
  const { code, stdout, stderr } = await launch(['serve'], { env: { ...invalid, LOCKSTEP_HOST: '::1' } })
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.match(stderr, /LOCKSTEP_PORT must be a port from 0 to 65535/)
  const reported = Array.from(stderr.matchAll(/\b(LOCKSTEP_\w*) (?:must be|is not) /g), ([, name = '']) => name)
  assert.deepEqual(reported.toSorted(), Object.keys(invalid).toSorted())
})

test('a command is not stopped by invalid settings that it does not use, but by those that it does', async () => {
  await using folder = await makeFolder()
  assert.equal((await folder.run(['account', 'add', '--username', 'ann'])).code, 0)
  const env = { LOCKSTEP_REQUEST_TIMEOUT: '0', LOCKSTEP_PORT: 'x', LOCKSTEP_PULL_RATE: 'x' }
  for (const args of [['account', 'list'], ['token', 'list'], ['export'], ['backup', 'copy.db'], ['migrate']]) {
    const { code, stderr } = await folder.run(args, { env })
    assert.equal(code, 0, stderr)
  }
  const used: readonly (readonly [args: readonly string[], names: readonly string[]])[] = [
    [['account', 'invite', '--account', 'ann'], ['LOCKSTEP_PORT']],
    [['pull'], ['LOCKSTEP_PULL_RATE']],
    [['serve'], ['LOCKSTEP_PORT', 'LOCKSTEP_PULL_RATE', 'LOCKSTEP_REQUEST_TIMEOUT']],
  ]
  for (const [args, names] of used) {
    const { code, stderr } = await folder.run(args, { env })
    assert.equal(code, 2, stderr)
    const found = [...stderr.matchAll(/LOCKSTEP_[A-Z_]+(?= must be)/g)].map(([name]) => name)
    assert.deepEqual(found.toSorted(), names)
  }
})

test('what Kubernetes or Docker tell about services whose names begin as ours is ignored, and said once', async () => {
  const injected = {
    LOCKSTEP_PORT: 'tcp://10.0.0.7:5625',
    LOCKSTEP_SERVICE_HOST: '10.0.0.7',
    LOCKSTEP_SERVICE_PORT_HTTP: '5625',
    LOCKSTEP_PORT_5625_TCP: 'tcp://10.0.0.7:5625',
    LOCKSTEP_PORT_5625_TCP_ADDR: '10.0.0.7',
    LOCKSTEP_ENV_HOME: '/root',
    LOCKSTEP_DB_SERVICE_HOST: '10.0.0.8',
    LOCKSTEP_DB_PORT: 'tcp://10.0.0.8:5432',
    LOCKSTEP_DB_PORT_5432_TCP_PROTO: 'tcp',
  }
  await using folder = await makeFolder()
  await using served = folder.start(['serve', '--port', '0'], { env: injected })
  await served.says(/Listening on/)
  const warnings = served.said.stderr.split('\n').filter(line => line.startsWith('Ignored, because the platform'))
  assert.equal(warnings.length, 1)
  for (const name of Object.keys(injected)) assert.ok(warnings[0]?.includes(name), name)

  // Without such an address the same names are mistakes, and no other name is ignored.
  const mistakes: readonly Record<string, string>[] = [
    { LOCKSTEP_SERVICE_HOST: '10.0.0.7' },
    { ...injected, LOCKSTEP_HOSTS: 'a' },
  ]
  for (const env of mistakes) {
    const { code, stderr } = await launch(['serve'], { env })
    assert.equal(code, 2)
    assert.match(stderr, /^lockstep: LOCKSTEP_(SERVICE_HOST|HOSTS) is not a setting: see settings\.md\n$/)
  }
})

test('where the deployment sets the port itself, what Kubernetes tells of the service is ignored, and the port is used', async () => {
  const port = String(await freePort())
  const env = {
    LOCKSTEP_PORT: port,
    LOCKSTEP_SERVICE_HOST: '10.43.0.9',
    LOCKSTEP_SERVICE_PORT: '5625',
    LOCKSTEP_SERVICE_PORT_HTTP: '5625',
    LOCKSTEP_PORT_5625_TCP: 'tcp://10.43.0.9:5625',
    LOCKSTEP_PORT_5625_TCP_PROTO: 'tcp',
    LOCKSTEP_PORT_5625_TCP_PORT: '5625',
    LOCKSTEP_PORT_5625_TCP_ADDR: '10.43.0.9',
  }
  await using folder = await makeFolder()
  await using served = folder.start(['serve'], { env })
  await served.says(new RegExp(`Listening on http://127\\.0\\.0\\.1:${port}`))
  for (const typed of ['LOCKSTEP_SERVICE_HOSTS', 'LOCKSTEP_PORTS', 'LOCKSTEP_SERVICE']) {
    const { code, stderr } = await launch(['serve'], { env: { ...env, [typed]: 'a' } })
    assert.deepEqual([code, stderr], [2, `lockstep: ${typed} is not a setting: see settings.md\n`])
  }
})

test('a setting of an earlier version does not stop a command', async () => {
  const env = { LOCKSTEP_PAGE_CACHE: 'much' }
  const { stderr } = await launch(['account', 'list', '--database', 'sqlite:nowhere.db'], { env })
  assert.match(stderr, /no database at nowhere\.db/)
  assert.doesNotMatch(stderr, /PAGE_CACHE/)
})

const unusable: readonly { readonly what: string; readonly args: readonly string[]; readonly says: RegExp }[] = [
  {
    what: 'a database that is not there',
    args: ['account', 'list', '--database', 'sqlite:nowhere.db'],
    says: /no database at nowhere\.db\n.*--database.*LOCKSTEP_DATABASE_URL.*account add/,
  },
  {
    what: 'a service that may not make its database',
    args: ['serve', '--no-migrate', '--port', '0', '--database', 'sqlite:nowhere.db'],
    says: /no database at nowhere\.db/,
  },
  {
    what: 'a file that is no database',
    args: ['account', 'list', '--database', 'sqlite:words.txt'],
    says: /words\.txt cannot be opened: file is not a database/,
  },
  {
    what: 'a folder that cannot be made',
    args: ['account', 'add', '--username', 'ann', '--database', 'sqlite:words.txt/below/new.db'],
    says: /words\.txt\/below\/new\.db cannot be opened/,
  },
  {
    what: 'a folder in the place of the file',
    args: ['account', 'list', '--database', 'sqlite:folder'],
    says: /folder cannot be opened/,
  },
  {
    what: 'a database of a newer program',
    args: ['account', 'list', '--database', 'sqlite:newer.db'],
    says: /a newer version of Lockstep wrote this database \(schema 99/,
  },
  {
    what: 'a database of a newer program that would be migrated',
    args: ['serve', '--port', '0', '--database', 'sqlite:newer.db'],
    says: /a newer version of Lockstep wrote this database \(schema 99/,
  },
  {
    what: 'a database without the schema',
    args: ['account', 'list', '--database', 'sqlite:empty.db'],
    says: /the database has no tables of Lockstep: run `lockstep migrate`/,
  },
  {
    what: 'a backup of a database without the schema',
    args: ['backup', 'backup.db', '--database', 'sqlite:empty.db'],
    says: /the database has no tables of Lockstep: run `lockstep migrate`/,
  },
  {
    what: 'a service that may not bring the schema up to date',
    args: ['serve', '--no-migrate', '--port', '0', '--database', 'sqlite:empty.db'],
    says: /the database has no tables of Lockstep: run `lockstep migrate`/,
  },
]

test('a store that cannot be used ends with code 3 and a clear message on stderr', async t => {
  await using folder = await makeFolder()
  writeFileSync(folder.file('words.txt'), 'no database at all, only words\n'.repeat(100))
  makeEmpty(folder.file('empty.db'))
  mkdirSync(folder.file('folder'))
  await folder.run(['migrate', '--database', 'sqlite:newer.db'])
  makeNewer(folder.file('newer.db'))
  for (const { what, args, says } of unusable) {
    await t.test(what, async () => {
      const { code, stdout, stderr } = await folder.run(args)
      assert.match(stderr, says)
      assert.equal(code, 3)
      assert.equal(stdout, '')
      assert.doesNotMatch(stderr, /\n {4}at /, 'no stack trace')
    })
  }
  assert.ok(!existsSync(folder.file('nowhere.db')))
})

test('a process that may have too few files open says so, and how many it needs', async () => {
  await using folder = await makeFolder()
  for (const command of ['serve --port 0', 'account list', 'backup copy.db']) {
    const { code, stdout, stderr } = await folder.shell(`ulimit -n 20; "$0" ${command}`)
    assert.deepEqual([code, stdout], [3, ''])
    assert.match(stderr, /^lockstep: the process may have only 20 files open and needs 64: .*\n$/)
  }
})

test('--database overrides the environment, which overrides ./data/lockstep.db', async () => {
  await using folder = await makeFolder()
  const env = { [settings.databaseUrl.env]: 'sqlite:second.db' }
  await folder.run(['account', 'add', '--username', 'option', '--database', 'sqlite:first.db'], { env })
  await folder.run(['account', 'add', '--username', 'environment'], { env })
  await folder.run(['account', 'add', '--username', 'default'])
  for (const [file, username] of [
    ['first.db', 'option'],
    ['second.db', 'environment'],
    ['data/lockstep.db', 'default'],
  ] as const) {
    using database = new DatabaseSync(folder.file(file))
    assert.deepEqual({ ...database.prepare('select username from account').get() }, { username })
  }
})

test('a new database and its folder are accessible to their owner only', async () => {
  await using folder = await makeFolder()
  const { code } = await folder.run(['migrate', '--database', 'sqlite:deep/er/lockstep.db'])
  assert.equal(code, 0)
  assert.equal(modeOf(folder.file('deep')), '700')
  assert.equal(modeOf(folder.file('deep/er')), '700')
  assert.equal(modeOf(folder.file('deep/er/lockstep.db')), '600')
})

test('migrate prints what it did, and the second time that there was nothing to do', async () => {
  await using folder = await makeFolder()
  const first = await folder.launch(['migrate'])
  assert.match(first.stdout, /^(?:applied: .+\n)+the schema has version \d+\n$/)
  const second = await folder.run(['migrate'])
  assert.match(second.stdout, /^the schema has version \d+, as before\n$/)
  assert.deepEqual([first.code, second.code], [0, 0])
  assert.equal(first.stderr + second.stderr, '')
})

test('the launcher works from any folder, through a symlink, and with any node on the PATH', async () => {
  await using folder = await makeFolder()
  mkdirSync(folder.file('bin'))
  writeFileSync(folder.file('bin/node'), '#!/bin/sh\necho a node of 2019; exit 9\n', { mode: 0o755 })
  const line = `ln -s "$0" bin/link && ln -s link bin/lockstep && PATH="$PWD/bin:$PATH" lockstep migrate --database sqlite:here.db`
  const { code, stdout, stderr } = await shell(line, { cwd: folder.path })
  assert.equal(stderr, '')
  assert.equal(code, 0)
  assert.match(stdout, /the schema has version/)
  assert.ok(existsSync(folder.file('here.db')), 'relative paths are relative to the caller')
})

test('without its dependencies the launcher prints how to install them', async () => {
  await using folder = await makeFolder()
  const { code, stderr } = await shell(`cp "$0" . && ./lockstep serve`, { cwd: folder.path })
  assert.equal(code, 3)
  assert.match(stderr, /dependencies are not installed\. Run: cd '.*' && npm ci/)
  assert.ok(existsSync(launcher))
})

/** A database without tables. */
function makeEmpty(file: string) {
  using database = new DatabaseSync(file)
  database.exec('pragma user_version = 1')
}

function makeNewer(file: string) {
  using database = new DatabaseSync(file)
  const insert = database.prepare('insert into migration (version, name, checksum, applied_at) values (?, ?, ?, ?)')
  const { version } = database.prepare('select max(version) as version from migration').get() ?? {}
  for (let next = Number(version) + 1; next <= 99; next += 1) insert.run(next, 'later', 'x', 0)
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}
