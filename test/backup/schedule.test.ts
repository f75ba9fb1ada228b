import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { removeOld } from '../../src/backup/retention.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { until } from '../support/waiting.ts'

// engine: sqlite

test('the newest backup of each of the last days, weeks and months is kept, and other files are not touched', async () => {
  await using folder = await makeFolder()
  const kept = ['20260615T230000Z', '20260614T120000Z', '20260613T120000Z', '20260607T120000Z', '20260531T120000Z']
  const removed = ['20260615T010000Z', '20260612T120000Z', '20260606T120000Z', '20260530T120000Z', '20260401T120000Z']
  for (const moment of [...kept, ...removed]) writeBackupNamed(folder, `lockstep-${moment}.db`)
  // Files that no backup wrote, some of them with names like one.
  const others = ['notes.txt', 'lockstep-20250101T000000Z.db', 'lockstep-20250101T000000Z.db.bak', 'lockstep.db']
  for (const name of others) writeFileSync(folder.file(name), 'precious')
  writeFileSync(folder.file('lockstep-20250102T000000Z.db'), 'precious')
  writeFileSync(folder.file('lockstep-20250102T000000Z.db.sha256'), 'precious')

  const newest = folder.file('lockstep-20260615T230000Z.db')
  const gone = removeOld(folder.path, newest, { days: 3, weeks: 3, months: 2 })
  assert.deepEqual(gone.toSorted(), removed.map(moment => folder.file(`lockstep-${moment}.db`)).toSorted())
  const expected = [
    ...kept.flatMap(moment => [`lockstep-${moment}.db`, `lockstep-${moment}.db.sha256`]),
    ...others,
    'lockstep-20250102T000000Z.db',
    'lockstep-20250102T000000Z.db.sha256',
  ]
  assert.deepEqual(readdirSync(folder.path).toSorted(), expected.toSorted())
})

test('the backup that was just written stays, even where the clock was ahead before', async () => {
  await using folder = await makeFolder()
  writeBackupNamed(folder, 'lockstep-20990101T000000Z.db')
  writeBackupNamed(folder, 'lockstep-20260101T000000Z.db')
  assert.deepEqual(
    removeOld(folder.path, folder.file('lockstep-20260101T000000Z.db'), { days: 1, weeks: 0, months: 0 }),
    [],
  )
})

test('a backup that is checked after it was made is known to doctor, and only its path is on stdout', async () => {
  await using folder = await makeFolder()
  await folder.run(['account', 'add', '--username', 'ann'])
  const lastCheck = async () => {
    const { stdout } = await folder.run(['doctor', '--json'])
    return (JSON.parse(stdout) as { check: string; result: string }[]).find(({ check }) => check === 'backup')?.result
  }
  await folder.run(['backup', '--to', 'backups'])
  assert.equal(await lastCheck(), 'wrong')
  const { stdout, stderr } = await folder.succeeds(['backup', '--to', 'backups', '--check'])
  assert.match(stdout, /^backups\/lockstep-\S+\.db\n$/)
  assert.match(stderr, /is intact: of .*, 1 accounts, 0 records/)
  assert.equal(await lastCheck(), 'ok')
  assert.ok(readdirSync(folder.file('backups')).every(name => /\.db(\.sha256)?$/.test(name)))
})

test('backups are repeated, older ones removed, and SIGTERM ends that with code 0', async () => {
  await using folder = await makeFolder()
  await folder.run(['migrate'])
  mkdirSync(folder.file('backups'))
  await using running = folder.start(['backup', '--to', 'backups', '--every', '1s', '--keep', '1d'])
  await running.says(/(?:\S*lockstep-\S+\n){2}/)
  running.process.kill('SIGTERM')
  const { code, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  const left = readdirSync(folder.file('backups'))
  assert.ok(
    // Where the first one took long, the second one is named within the same second.
    left.every(name => /^lockstep-\d{8}T\d{6}Z(-2)?\.db(\.sha256)?$/.test(name)),
    left.join(' '),
  )
  assert.equal(left.length, 2)
})

test('repeated backups continue after a failure', async () => {
  await using folder = await makeFolder()
  mkdirSync(folder.file('backups'))
  await using running = folder.start(['backup', '--to', 'backups', '--every', '1s'])
  await until(async () => /there is no database.*trying again in/s.test(running.said.stderr))
  await folder.run(['migrate'])
  await running.says(/lockstep-\S+\n/)
})

function writeBackupNamed(folder: Folder, name: string) {
  writeFileSync(folder.file(name), 'SQLite format 3\0')
  writeFileSync(folder.file(`${name}.sha256`), `${'0'.repeat(64)}  ${name}\n`)
}
