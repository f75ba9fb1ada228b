// engine: sqlite
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { needs } from '../support/programs.ts'
import { lockSession, oneOfEach, trainingSession, world } from '../support/records.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/backups.md'), 'utf8')
const [, commands = ''] = /^## Without Lockstep\n[^]*?^```sh\n([^]*?)^```$/m.exec(page) ?? []

test(
  'the commands of the docs read the records of an encrypted backup without this program',
  needs('age', 'sqlite3'),
  async () => {
    await using folder = await makeFolder()
    const lines = [...world, ...oneOfEach(1, 1), trainingSession(7, 1), lockSession(8, 1)]
    const input = lines.map(line => JSON.stringify(line)).join('\n')
    assert.equal((await folder.run(['import', '-'], { input })).code, 0)
    execFileSync('age-keygen', ['-o', folder.file('backup-key.txt')], { stdio: 'ignore' })
    const key = readFileSync(folder.file('backup-key.txt'), 'utf8')
    const recipient = /age1\w+/.exec(key)?.[0] ?? ''
    const made = await folder.run(['backup', 'copy.db.age', '--recipient', recipient])
    assert.equal(made.code, 0, made.stderr)
    const { stdout: archive } = await folder.run(['export'])

    await using elsewhere = await makeFolder()
    const [file = ''] = /lockstep-\w+\.db\.age/.exec(commands) ?? []
    copyFileSync(folder.file('copy.db.age'), elsewhere.file(file))
    copyFileSync(folder.file('backup-key.txt'), elsewhere.file('backup-key.txt'))
    const stdout = execFileSync('/bin/sh', ['-euc', commands], { cwd: elsewhere.path, encoding: 'utf8' })

    const exported = archive
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const dataOf = (kind: string) => exported.filter(line => line.kind === kind).map(({ data }) => data)
    assert.match(stdout, /^rows\|.*"training_session":2/m)
    const documents = stdout.split('\n').filter(line => line.startsWith('{'))
    assert.deepEqual(
      documents.map(text => JSON.parse(text)),
      dataOf('training-session'),
    )
    const csv = readFileSync(elsewhere.file('lock-sessions.csv'), 'utf8')
    assert.match(csv, /^id,owner_id,document\r?\n/)
    assert.equal(csv.trim().split('\n').length, 1 + dataOf('lock-session').length)
  },
)
