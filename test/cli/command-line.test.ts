// engine: sqlite
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  statSync,
  writeFileSync,
  cpSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { settings } from '../../src/config.ts'
import { launcher, makeFolder, launch, run, shell } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'

const invalid: Readonly<Record<string, string>> = {
  LOCKSTEP_DATABASE_URL: 'lockstep.db',
  LOCKSTEP_PORT: '65536',
  LOCKSTEP_KEEP_ALIVE: '5s',
  LOCKSTEP_: '1',
  LOCKSTEP_PROT: '80',
}

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
  await folder.succeeds(['account', 'add', '--username', 'ann'])
  const env = { LOCKSTEP_REQUEST_TIMEOUT: '0', LOCKSTEP_PORT: 'x', LOCKSTEP_PULL_RATE: 'x' }
  for (const args of [['account', 'list'], ['token', 'list'], ['export'], ['backup', 'copy.db'], ['migrate']]) {
    await folder.succeeds(args, { env })
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

/** What a platform tells of the service itself. */
const INJECTED = {
  LOCKSTEP_SERVICE_HOST: '10.43.0.9',
  LOCKSTEP_SERVICE_PORT: '5625',
  LOCKSTEP_SERVICE_PORT_HTTP: '5625',
  LOCKSTEP_PORT_5625_TCP: 'tcp://10.43.0.9:5625',
  LOCKSTEP_PORT_5625_TCP_PROTO: 'tcp',
  LOCKSTEP_PORT_5625_TCP_ADDR: '10.43.0.9',
}

test('what Kubernetes or Docker tell of services whose names begin as ours is ignored, and said once; a port of the deployment is used', async () => {
  const port = String(await freePort())
  const others = {
    LOCKSTEP_ENV_HOME: '/root',
    LOCKSTEP_DB_SERVICE_HOST: '10.0.0.8',
    LOCKSTEP_DB_PORT: 'tcp://10.0.0.8:5432',
    LOCKSTEP_DB_PORT_5432_TCP_PROTO: 'tcp',
  }
  for (const [env, args, listening] of [
    [{ ...INJECTED, ...others, LOCKSTEP_PORT: 'tcp://10.43.0.9:5625' }, ['--port', '0'], /Listening on/],
    [{ ...INJECTED, LOCKSTEP_PORT: port }, [], new RegExp(`Listening on http://127\\.0\\.0\\.1:${port}`)],
  ] as const) {
    await using folder = await makeFolder()
    await using served = folder.start(['serve', ...args], { env })
    await served.says(listening)
    const warnings = served.said.stderr.split('\n').filter(line => line.startsWith('Ignored, because the platform'))
    assert.equal(warnings.length, 1)
    const ignored = Object.entries(env).flatMap(([name, value]) => (value === port ? [] : [name]))
    for (const name of ignored) assert.ok(warnings[0]?.includes(name), name)
    // No other name is ignored.
    for (const typed of ['LOCKSTEP_SERVICE_HOSTS', 'LOCKSTEP_PORTS', 'LOCKSTEP_SERVICE']) {
      const { code, stderr } = await run(['account', 'list'], { env: { ...env, [typed]: 'a' } })
      assert.deepEqual([code, stderr], [2, `lockstep: ${typed} is not a setting: see settings.md\n`])
    }
  }
  // Without an address of the platform the same names are mistakes.
  const { code, stderr } = await launch(['serve'], { env: { LOCKSTEP_SERVICE_HOST: '10.0.0.7' } })
  assert.deepEqual([code, stderr], [2, 'lockstep: LOCKSTEP_SERVICE_HOST is not a setting: see settings.md\n'])
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
  await folder.succeeds(['migrate', '--database', 'sqlite:deep/er/lockstep.db'])
  assert.equal(modeOf(folder.file('deep')), '700')
  assert.equal(modeOf(folder.file('deep/er')), '700')
  assert.equal(modeOf(folder.file('deep/er/lockstep.db')), '600')
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

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

const read = (name: string) => readFileSync(join(dirname(launcher), name), 'utf8')
const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }

test('where npm has not linked the Node.js that it installed, the launcher does', async () => {
  await using folder = await makeFolder()
  const program = folder.file('program')
  mkdirSync(join(program, 'node_modules/.bin'), { recursive: true })
  mkdirSync(join(program, 'node_modules/node-here/bin'), { recursive: true })
  mkdirSync(join(program, 'src'))
  cpSync(launcher, join(program, 'lockstep'))
  writeFileSync(join(program, 'src/cli.ts'), 'console.log(process.argv[2] satisfies unknown)')
  symlinkSync(process.execPath, join(program, 'node_modules/node-here/bin/node'))
  assert.equal(execFileSync(join(program, 'lockstep'), ['started'], { encoding: 'utf8' }), 'started\n')
  assert.equal(realpathSync(join(program, 'node_modules/.bin/node')), realpathSync(process.execPath))
})

test('README and the lock file name the lowest Node.js on which npm may run', () => {
  const [, lowest] = /Node\.js (\d+) or later/.exec(read('README.md')) ?? []
  assert.equal(engines.node, `>=${lowest}`)
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, object> }
  assert.deepEqual(packages[''], { ...packages[''], engines })
})
