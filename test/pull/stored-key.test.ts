import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, test } from 'node:test'
import { isOtherSecret, isPassing, openKey, openSecret, sealKey, setPassingSecret } from '../../src/pull/stored-key.ts'

// engine: any

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lockstep-secret-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const settingsOf = (name: string) => ({ databaseUrl: `sqlite:${join(folder, name)}`, secretFile: '' })
const owner = { accountId: 7, origin: 'https://history.example' }

test('the secret is a file next to the database, for its owner only, and stays the same', () => {
  const secret = openSecret(settingsOf('lockstep.db'))
  assert.deepEqual(readdirSync(folder), ['lockstep.db.secret'])
  const file = join(folder, 'lockstep.db.secret')
  if (process.platform !== 'win32') assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(openSecret(settingsOf('lockstep.db')), secret)
  assert.notEqual(openSecret(settingsOf('other.db')).id, secret.id)
  assert.ok(!readFileSync(file, 'utf8').includes(secret.id), 'the id is no part of the secret')
})

test('processes that start at the same time have the same secret', async () => {
  const script = `
    import { openSecret } from './src/pull/stored-key.ts'
    process.stdin.once('data', () => {
      process.stdout.write(openSecret(${JSON.stringify(settingsOf('lockstep.db'))}).id)
      process.exit()
    })
    process.stderr.write('ready')`
  const processes = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: join(import.meta.dirname, '../..') }),
  )
  await Promise.all(processes.map(({ stderr }) => once(stderr, 'data')))
  for (const { stdin } of processes) stdin.write('go')
  const ids = await Promise.all(processes.map(({ stdout }) => text(stdout)))
  assert.match(ids[0] ?? '', /^[0-9a-f]{16}$/)
  assert.equal(new Set(ids).size, 1)
  assert.deepEqual(readdirSync(folder), ['lockstep.db.secret'])
})

test('a key is opened with its secret, for its account and its origin only', () => {
  const secret = openSecret(settingsOf('lockstep.db'))
  const { sealed, secretId } = sealKey(secret, owner, 'lks_key')
  assert.equal(secretId, secret.id)
  assert.doesNotMatch(Buffer.from(sealed, 'base64url').toString('latin1'), /lks/)
  assert.notEqual(sealKey(secret, owner, 'lks_key').sealed, sealed, 'equal keys are not stored alike')
  assert.equal(openKey(secret, owner, sealed), 'lks_key')
  assert.equal(openKey(secret, { ...owner, accountId: 8 }, sealed), undefined)
  assert.equal(openKey(secret, { ...owner, origin: 'https://history.example:8443' }, sealed), undefined)
  assert.equal(openKey(openSecret(settingsOf('other.db')), owner, sealed), undefined)
  for (const broken of [
    '',
    'AAAA',
    sealed.slice(0, -4),
    `${sealed}AAAA`,
    `B${sealed.slice(1)}`,
    `C${sealed.slice(1)}`,
  ]) {
    if (broken !== sealed) assert.equal(openKey(secret, owner, broken), undefined, broken)
  }
})

test(
  'a secret that others can read, or that is none, is refused with what to do',
  { skip: process.platform === 'win32' },
  () => {
    const file = join(folder, 'secret')
    const settings = { databaseUrl: 'postgres://db.example/lockstep', secretFile: file }
    const { id } = openSecret(settings)
    for (const mode of [0o640, 0o604]) {
      chmodSync(file, mode)
      assert.throws(() => openSecret(settings), { code: 'refused', message: /others can read .*chmod 600/ })
    }
    chmodSync(file, 0o600)
    assert.equal(openSecret(settings).id, id)
    for (const content of ['', 'short\n', readFileSync(file, 'utf8').repeat(2)]) {
      writeFileSync(file, content)
      assert.throws(() => openSecret(settings), /is not a file with a secret/)
    }
  },
)

test('on PostgreSQL without a file, the secret is in memory only and another service has another', () => {
  const config = { databaseUrl: 'postgres://db.example/lockstep', secretFile: '' }
  assert.ok(isPassing(config))
  const { id } = openSecret(config)
  assert.equal(openSecret(config).id, id)
  assert.equal(isOtherSecret(id, config), false)
  setPassingSecret('B'.repeat(43))
  assert.equal(isOtherSecret(id, config), true)
  const missing = { ...config, secretFile: join(folder, 'missing/secret') }
  assert.equal(isPassing(missing), false)
  assert.throws(() => openSecret(missing), /cannot be made$/)
})
