// engine: sqlite
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Folder, launcher, makeFolder, start } from '../support/command.ts'
import { ADMIN, startHomeAssistant } from '../support/home-assistant.ts'
import { retained, startMosquitto } from '../support/mosquitto.ts'
import { needs } from '../support/programs.ts'
import { account, lockSession, oneOfEach, trainingSession, world } from '../support/records.ts'
import { serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { parseLines } from '../support/archives.ts'

const root = join(import.meta.dirname, '../..')

/** The files that run the commands of other sections; null where a section needs Docker, which no test has. */
const ELSEWHERE: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
  'README.md': {
    'Try it': 'docs.slow.test.ts',
    'Install it': null,
    'From an archive': 'docs.slow.test.ts',
    'First request': 'docs.slow.test.ts',
  },
  'docs/docker.md': { Upgrade: null, 'Roll back': null, 'Restore a backup': null },
  'docs/operating.md': {
    Install: 'operating.slow.test.ts',
    'First account': 'operating.slow.test.ts',
    Backup: 'operating.slow.test.ts',
    Upgrade: 'operating.slow.test.ts',
    'Roll back': 'operating.slow.test.ts',
    Uninstall: 'operating.slow.test.ts',
    'Remove a package': 'installed.slow.test.ts',
  },
  'docs/postgresql.md': {
    'Move from SQLite': 'recovery.slow.test.ts',
    'Dump and restore': 'recovery.slow.test.ts',
    'Point-in-time recovery': 'recovery.slow.test.ts',
  },
}

/** The sections whose commands this file runs. */
const HERE: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['Bring your history'],
  'SECURITY.md': ['If a key leaked'],
  'docs/api.md': ['API', 'Paging', 'Conditional requests'],
  'docs/archive.md': ['Archives', 'Lines with errors'],
  'docs/backups.md': ['Make one', 'Encrypt it', 'Test your backups', 'Check one', 'Restore it', 'Without Lockstep'],
  'docs/integrations.md': ['Integrations', 'Home Assistant', 'Examples', 'Shell and Python', 'TypeScript'],
  'docs/your-own-history.md': ['On the command line'],
}

test('every section of the documents with commands names the test that runs them', () => {
  const pages = ['README.md', 'SECURITY.md', ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`)]
  for (const page of pages.filter(name => name.endsWith('.md'))) {
    const found = sectionsOf(page).filter(({ commands }) => commands.length > 0)
    const known = [...Object.keys(ELSEWHERE[page] ?? {}), ...(HERE[page] ?? [])]
    assert.deepEqual(found.map(({ title }) => title).toSorted(), known.toSorted(), page)
  }
  const files = Object.values(ELSEWHERE).flatMap(sections => Object.values(sections))
  for (const file of files) assert.ok(file === null || existsSync(join(import.meta.dirname, file)), String(file))
})

const lines = [...world, ...oneOfEach(1, 1), trainingSession(7, 1), lockSession(8, 1)]

test('a backup is made, checked and restored as docs/backups.md prints it', needs('age', 'sqlite3'), async () => {
  await using machine = await makeMachine()
  await machine.import(lines)
  await machine.run('docs/backups.md', 'Make one')
  const key = await machine.shell('age-keygen -o backup-key.txt 2>/dev/null; age-keygen -y backup-key.txt')
  const [made = ''] = machine.backups()
  const changes = {
    'age1…': key.stdout.trim(),
    'age-keygen -o backup-key.txt': ':',
    'lockstep-20260101T030000Z.db': made,
  }
  await machine.run('docs/backups.md', 'Encrypt it', changes)
  const encrypted = machine.backups().find(name => name.endsWith('.age')) ?? ''
  const inFolder = {
    ...changes,
    'lockstep-20260101T030000Z.db.age': join(machine.path, 'var/backups/lockstep', encrypted),
  }
  for (const title of ['Test your backups', 'Check one', 'Restore it'])
    await machine.run('docs/backups.md', title, inFolder)
  const { stdout } = await machine.run('docs/backups.md', 'Without Lockstep', inFolder)

  const { stdout: archive } = await machine.shell('lockstep export')
  const dataOf = (kind: string) =>
    parseLines(archive)
      .filter(line => line.kind === kind)
      .map(({ data }) => data)
  assert.match(stdout, /^rows\|.*"training_session":2/m)
  const documents = stdout.split('\n').filter(line => line.startsWith('{'))
  const sent = documents.map(text => JSON.parse(text))
  assert.deepEqual(sent, dataOf('training-session'))
  const csv = readFileSync(join(machine.path, 'lock-sessions.csv'), 'utf8')
  assert.match(csv, /^id,owner_id,document\r?\n/)
  assert.equal(csv.trim().split('\n').length, 1 + dataOf('lock-session').length)
})

test('archives are imported and exported, and their rejected lines listed, as docs/archive.md prints it', async () => {
  await using machine = await makeMachine()
  writeFileSync(join(machine.path, 'records.ndjson'), ndjson(lines))
  await machine.run('docs/archive.md', 'Archives')
  assert.ok(readFileSync(join(machine.path, 'records.ndjson'), 'utf8').includes('"kind":"end"'))
  const faulty = ndjson([trainingSession(9, 5)])
  writeFileSync(join(machine.path, 'faulty.ndjson'), faulty)
  await machine.shell('! lockstep import --on-error set-aside faulty.ndjson')
  await machine.shell('lockstep account add --username eve --id 5')
  const { stdout } = await machine.run('docs/archive.md', 'Lines with errors')
  assert.ok(stdout.includes(faulty.trim()))
})

test('a leaked key is found and revoked as SECURITY.md prints it', async () => {
  await using machine = await makeMachine()
  await machine.import(lines)
  await machine.shell('for name in a b; do lockstep key create --account ann --name $name; done')
  const { stdout } = await machine.run('SECURITY.md', 'If a key leaked', { 'revoke 7': 'revoke 2' })
  assert.match(stdout, /^2 /m)
  assert.match((await machine.shell('lockstep key list')).stdout, /^2 .* – +\d{4}-\S+$/m)
})

test('the requests of the guides are answered as they are printed', needs('curl'), async () => {
  await using machine = await makeMachine()
  await machine.import(lines)
  await machine.run('docs/integrations.md', 'Integrations', { 'account alex': 'account ann' })
  const { stdout } = await machine.shell('lockstep key create --account ann --name test')
  await using service = await serve(machine.databaseUrl)
  const token = /lks_\w+/.exec(stdout)?.[0] ?? ''
  const env = { 'http://127.0.0.1:5625': service.url, $LOCKSTEP_TOKEN: token, $LOCKSTEP_URL: service.url }
  for (const [page, title] of [
    ['docs/api.md', 'API'],
    ['docs/api.md', 'Paging'],
    ['docs/integrations.md', 'Examples'],
  ] as const) {
    const { stdout: answer } = await machine.run(page, title, env)
    assert.equal(JSON.parse(answer).ok, true, title)
  }
  await machine.run('docs/api.md', 'Conditional requests', env)
  assert.equal(JSON.parse(readFileSync(join(machine.path, 'sessions.json'), 'utf8')).ok, true)
  await machine.run('docs/integrations.md', 'TypeScript', env)
  for (const name of ['client.js', 'client.d.ts'])
    assert.ok(readFileSync(join(machine.path, name), 'utf8').length > 1000)
})

test('a history comes from another server as README.md and docs/your-own-history.md print it', async () => {
  await using source = await startSource({
    world: new SourceWorld().add(account(1, 'ann'), trainingSession(7, 1), trainingSession(8, 1)),
    identity: '/users/me',
  })
  await using machine = await makeMachine()
  const words = {
    'read -rs LOCKSTEP_SOURCE_TOKEN': `export LOCKSTEP_PULL_RATE=0 LOCKSTEP_SOURCE_TOKEN=${SOURCE_TOKEN}`,
    'https://history.example': source.url,
    // It asks on a terminal.
    './lockstep account set-password --account alex':
      "printf 'a passphrase of the test' | ./lockstep account set-password --account ann",
    // It runs until it is stopped.
    './lockstep serve': ':',
  }
  const { stdout } = await machine.run('docs/your-own-history.md', 'On the command line', words)
  assert.match(stdout, /training-session +2/)
  await machine.run('README.md', 'Bring your history', words)
})

test(
  'the lines for the shell and for Python print records, and the commands for Home Assistant go on until SIGTERM',
  needs('curl', 'jq', 'python3', 'mosquitto'),
  async () => {
    await using machine = await makeMachine()
    await machine.import(lines)
    const key = await machine.shell('lockstep key create --account ann --name test')
    const token = /lks_\w+/.exec(key.stdout)?.[0] ?? ''
    await using service = await serve(machine.databaseUrl)
    symlinkSync(join(root, 'examples'), join(machine.path, 'examples'))
    const words = { 'http://127.0.0.1:5625': service.url, 'lks_…': token }
    const { stdout } = await machine.run('docs/integrations.md', 'Shell and Python', words)
    assert.match(stdout, /^state: /)
    assert.match(stdout, /^2026-02-16T18:00:00Z\t/m)

    await using home = await startHomeAssistant()
    await using broker = await startMosquitto({ user: { name: 'lockstep', password: 'a password of the test' } })
    for (const [name, secret] of [
      ['broker-password', 'a password of the test'],
      ['home-token', ADMIN],
    ] as const)
      writeFileSync(join(machine.path, name), `${secret}\n`, { mode: 0o600 })
    const printed = sectionsOf('docs/integrations.md').find(({ title }) => title === 'Home Assistant')?.commands ?? []
    const isDone = [async () => (await retained(broker)).size > 0, async () => home.series.size > 0]
    assert.equal(printed.length, isDone.length)
    for (const [index, command] of printed.entries()) {
      const line = command.replace('mqtts://broker.example', broker.url).replace('wss://home.example', home.url)
      const env = { LOCKSTEP_URL: service.url, LOCKSTEP_TOKEN: token }
      await using running = start(line.trim().split(' ').slice(1), { cwd: machine.path, env })
      await until(isDone[index] ?? assert.fail)
      running.process.kill('SIGTERM')
      assert.equal((await running.ended).code, 0, line)
    }
  },
)

test('what repeats goes on until SIGTERM, and then ends with 0, as the documents print it', async () => {
  await using source = await startSource({
    world: new SourceWorld().add(account(1, 'ann'), trainingSession(7, 1)),
    identity: '/users/me',
  })
  await using folder = await makeFolder()
  const env = { LOCKSTEP_SOURCE_URL: source.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  for (const [page, printed, args, says] of [
    ['docs/your-own-history.md', './lockstep pull --every 5m', ['pull', '--every', '5m'], /training-session 1 added/],
    ['docs/backups.md', '`--every 1d` repeats, until SIGTERM', ['backup', '--to', 'copies', '--every', '1d'], /\.db$/m],
  ] as const) {
    assert.ok(readFileSync(join(root, page), 'utf8').includes(printed), printed)
    await using running = folder.start(args, { env })
    await running.says(says)
    running.process.kill('SIGTERM')
    assert.equal((await running.ended).code, 0, printed)
  }
})

interface Machine extends AsyncDisposable, Pick<Folder, 'path' | 'databaseUrl' | 'shell'> {
  import(records: readonly object[]): Promise<void>
  /** Runs the commands of a section, with some of their words replaced. */
  run(page: string, title: string, words?: Readonly<Record<string, string>>): ReturnType<Folder['shell']>
  /** The names of the backups, the oldest first. */
  backups(): string[]
}

/** A folder as the root of a machine, on which the command is installed and is also in the folder. */
async function makeMachine(): Promise<Machine> {
  const folder = await makeFolder()
  const { path } = folder
  for (const name of ['bin', 'var/backups/lockstep']) mkdirSync(join(path, name), { recursive: true })
  symlinkSync(launcher, join(path, 'lockstep'))
  symlinkSync(launcher, join(path, 'bin/lockstep'))
  writeFileSync(join(path, 'bin/systemctl'), '#!/bin/sh\n')
  chmodSync(join(path, 'bin/systemctl'), 0o755)
  const shell: Folder['shell'] = async line => {
    const ended = await folder.shell(`set -eu; PATH=${path}/bin:$PATH; ${line}`)
    assert.equal(ended.code, 0, `${line}\n${ended.stdout}${ended.stderr}`)
    return ended
  }
  return {
    path,
    databaseUrl: folder.databaseUrl,
    shell,
    async import(records) {
      await folder.succeeds(['import', '-'], { input: ndjson(records) })
    },
    run(page, title, words = {}) {
      const found = sectionsOf(page).find(section => section.title === title)
      const all: Readonly<Record<string, string>> = { ...words, '/var/': `${path}/var/` }
      const longestFirst = Object.keys(all).toSorted((a, b) => b.length - a.length)
      const pattern = new RegExp(longestFirst.map(word => RegExp.escape(word)).join('|'), 'g')
      return shell((found?.commands.join('') ?? '').replaceAll(pattern, word => all[word] ?? word))
    },
    backups: () =>
      readdirSync(join(path, 'var/backups/lockstep'))
        .filter(name => !name.endsWith('.sha256'))
        .toSorted(),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

/** The sections of a page with the blocks of shell in each. */
function sectionsOf(page: string): { title: string; commands: string[] }[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^ +(?=```)/gm, '')
  return text.split(/^#+ (?=.*$)/m).map(section => ({
    title: section.slice(0, section.indexOf('\n')),
    commands: Array.from(section.matchAll(/^```sh\n([^]*?)^```$/gm), ([, block = '']) => block),
  }))
}

function ndjson(records: readonly object[]): string {
  return records.map(record => `${JSON.stringify(record)}\n`).join('')
}
