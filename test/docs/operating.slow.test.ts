import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'

// engine: sqlite

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/operating.md'), 'utf8')

/** Programs that change the machine. Substitutes record how they were called, and do what the next commands need. */
const STAND_INS: Readonly<Record<string, string>> = {
  git: 'if [ "$1" = clone ]; then cp -R "$SOURCE" "$3"; fi',
  npm: 'ln -sfn "$SOURCE/../node_modules" node_modules',
  useradd: '',
  userdel: '',
  // Without the user of the service, files are installed for the one who runs the test.
  install:
    'skip=; for word; do shift; case $word in -o | -g) skip=1 ;; *) [ "$skip" ] && skip= || set -- "$@" "$word" ;; esac; done; exec /usr/bin/install "$@"',
  runuser: 'shift 3; exec "$@"',
  systemctl: '',
  id: 'echo 0',
  curl: '',
}

/** What the unit for Home Assistant and `completion` need. */
const OF_OTHER_PAGES = [
  'etc/systemd/system/lockstep-homeassistant.service',
  'etc/lockstep-homeassistant.env',
  'etc/lockstep-broker-password',
  'etc/bash_completion.d/lockstep',
]

test('the commands to install, back up, upgrade, roll back and uninstall work one after the other', async () => {
  await using folder = await makeFolder()
  const run = await sandbox(folder)
  await run('Install')
  await run('First account')
  assert.ok(existsSync(folder.file('machine/etc/systemd/system/lockstep.service')))
  assert.ok(existsSync(folder.file('machine/var/lib/lockstep/lockstep.db')), 'commands use the database of the service')
  await run('Backup')
  await run('Upgrade')
  const database = folder.file('machine/var/lib/lockstep/lockstep.db')
  leaveNewer(database)
  await run('Roll back')
  const newer = folder.file('machine/var/lib/lockstep/newer')
  assert.ok(existsSync(join(newer, 'lockstep.db')))
  assert.ok(existsSync(database))
  const backups = readdirSync(folder.file('machine/var/backups/lockstep'))
  assert.ok(
    backups.some(name => /^before-\d{4}-\d\d-\d\d\.db$/.test(name)),
    backups.join(),
  )
  assert.ok(
    backups.some(name => /^lockstep-.*\.db$/.test(name)),
    backups.join(),
  )
  for (const file of OF_OTHER_PAGES) {
    mkdirSync(dirname(folder.file(`machine/${file}`)), { recursive: true })
    writeFileSync(folder.file(`machine/${file}`), '')
  }
  await run('Uninstall')
  assert.match(readFileSync(folder.file('machine/root/lockstep-records.ndjson'), 'utf8'), /"username":"alex"/)
  const own = ['opt/lockstep', 'var/lib/lockstep', 'etc/lockstep.env', 'usr/local/bin/lockstep']
  for (const gone of [...own, ...OF_OTHER_PAGES]) {
    assert.ok(!existsSync(folder.file(`machine/${gone}`)), gone)
  }
  const calls = readFileSync(folder.file('calls'), 'utf8')
  for (const call of ['systemctl enable --now lockstep', 'systemctl restart lockstep', 'userdel lockstep']) {
    assert.ok(calls.includes(`${call}\n`), call)
  }
})

test('the line for cron makes and checks a backup in silence, and prints what went wrong', async () => {
  await using folder = await makeFolder()
  const run = await sandbox(folder)
  await run('Install')
  await run('First account')
  const [, line = ''] = /^0 3 \* \* \* (.*)$/m.exec(page) ?? []
  const machine = folder.file('machine')
  mkdirSync(join(machine, 'var/log'))
  // The installed command, with stand-ins for the programs that it uses.
  const command = `env PATH=${folder.file('programs')}:$PATH CALLS=${folder.file('calls')} lockstep`
  const cron = () => folder.shell(onMachine(line, machine).replaceAll(join(machine, 'usr/local/bin/lockstep'), command))
  const backups = () => readdirSync(join(machine, 'var/backups/lockstep')).filter(name => name.endsWith('.db'))
  const good = await cron()
  assert.deepEqual([good.stdout, good.stderr], ['', ''])
  assert.equal(backups().length, 1)
  {
    using database = new DatabaseSync(join(machine, 'var/lib/lockstep/lockstep.db'))
    database.exec("update account set document = replace(document, 'alex', 'eve')")
  }
  const bad = await cron()
  assert.match(bad.stdout, /records in the database are damaged.*: account \d+/)
  assert.equal(backups().length, 1)
})

test('settings on the page are lines that systemd and a shell read alike', () => {
  const lines = page.match(/^LOCKSTEP_[A-Z_]+=.*$/gm) ?? []
  assert.ok(lines.length > 3)
  for (const line of lines) assert.match(line, /^LOCKSTEP_[A-Z_]+=([\w:/.@,-]+|'[\w ]+')$/)
})

/** Leaves a database as a newer program would, with one more step of the schema. */
function leaveNewer(path: string) {
  using database = new DatabaseSync(path)
  database.exec("insert into migration select max(version) + 1, 'later', 'x', 0 from migration")
}

/** A folder as the root of a machine. Returns a function that runs the shell blocks of a section in it, line by line. */
async function sandbox(folder: Folder) {
  const machine = folder.file('machine')
  for (const name of ['opt', 'var/lib', 'var/backups', 'etc/systemd/system', 'usr/local/bin', 'root']) {
    mkdirSync(join(machine, name), { recursive: true })
  }
  const programs = folder.file('programs')
  mkdirSync(programs)
  for (const [name, body] of Object.entries(STAND_INS))
    script(join(programs, name), `echo "${name} $*" >>"$CALLS"\n${body}`)
  symlinkSync(join(machine, 'usr/local/bin/lockstep'), join(programs, 'lockstep'))

  // What `git clone` brings, with the paths of the machine in this folder.
  const source = folder.file('source/lockstep')
  mkdirSync(source, { recursive: true })
  symlinkSync(join(root, 'node_modules'), folder.file('source/node_modules'))
  for (const name of ['src', 'package.json', 'lockstep']) symlinkSync(join(root, name), join(source, name))
  for (const name of ['deploy/lockstep-command', 'deploy/lockstep.service']) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    script(join(source, name), onMachine(readFileSync(join(root, name), 'utf8'), machine), '')
  }
  const env = `PATH=${programs}:$PATH SOURCE=${source} CALLS=${folder.file('calls')} LOCKSTEP_PORT=${await freePort()}`
  return async (title: string) => {
    const section = new RegExp(`^##+ ${title}\n(.*?)^##+ `, 'ms').exec(`${page}\n## `)?.[1] ?? ''
    const blocks = [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block)
    assert.ok(blocks.length > 0, title)
    for (const line of blocks.join('').trim().split('\n')) {
      const { code, stdout, stderr } = await folder.shell(`export ${env}; ${onMachine(line, machine)}`)
      assert.equal(code, 0, `${line}\n${stdout}${stderr}`)
    }
  }
}

function script(path: string, text: string, start = '#!/bin/sh\n') {
  writeFileSync(path, `${start}${text}\n`)
  chmodSync(path, 0o755)
}

function onMachine(text: string, machine: string): string {
  return text.replaceAll(/(?<![\w.-])\/(?=(?:opt|var|etc|root|usr\/local)\b)/g, `${machine}/`)
}
