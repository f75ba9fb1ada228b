// engine: sqlite
import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { createKey, listKeys } from '../../src/accounts/api-keys.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { lockDevice, lockSession, trainingSession, trainingTemplate, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'

test('an account is added with the next id and the tier ultra, or with those that are given', async () => {
  await using folder = await makeFolder()
  const first = await folder.launch(['account', 'add', '--username', 'ann'])
  assert.deepEqual(first, {
    code: 0,
    stderr: '',
    stdout: 'id  username  subscription tier  subscription ends at\n1   ann       ultra              –\n',
  })
  const second = await folder.run([...words('account add --id 7 --tier none --json'), '--username', 'Ben Ößer'])
  assert.deepEqual(JSON.parse(second.stdout), [
    { id: 7, username: 'Ben Ößer', subscriptionTier: null, subscriptionEndsAt: null },
  ])
  await folder.run(words('account add --username cas --tier founder'))

  const table = await folder.run(words('account list'))
  assert.equal(table.stderr, '')
  assert.equal(
    table.stdout,
    'id  username  subscription tier  subscription ends at\n1   ann       ultra              –\n7   Ben Ößer  –                  –\n8   cas       founder            –\n',
  )
})

test('a tier is set by username or id, until an instant or to the end of a day, and removed', async () => {
  await using folder = await makeWorld()
  const steps = [
    { args: '--account Ann --tier pioneer --until 2030-01-01', tier: 'pioneer', ends: '2030-01-02T00:00:00Z' },
    {
      args: '--account 1 --tier founder --until 2030-06-01T12:00:00+02:00',
      tier: 'founder',
      ends: '2030-06-01T10:00:00Z',
    },
    { args: '--account ann --tier ultra --until 9999-12-31', tier: 'ultra', ends: '9999-12-31T23:59:59.999Z' },
    { args: '--account ann --tier none', tier: null, ends: null },
  ]
  for (const { args, tier, ends } of steps) {
    const done = await folder.run(words(`account set-tier ${args}`))
    assert.deepEqual(done, { code: 0, stdout: '', stderr: 'The tier is set.\n' })
    const { stdout } = await folder.run(words('account list --json'))
    const [ann] = JSON.parse(stdout) as object[]
    assert.deepEqual(ann, { id: 1, username: 'ann', subscriptionTier: tier, subscriptionEndsAt: ends })
  }
  const { stdout } = await folder.run(['export'])
  assert.match(stdout, /"username":"ann","accountType":"user","subscriptionTier":null/, 'the record says the same')
})

test('a password is read from the first line of stdin, and stored as argon2id only', async () => {
  await using folder = await makeWorld()
  const password = 'zwölf Zeichen & mehr'
  await using running = folder.start(words('account set-password --account 2'))
  // The writer of the pipe may keep it open.
  running.process.stdin?.write(`${password}\r\nsecond line\n`)
  assert.deepEqual(await running.ended, { code: 0, stdout: '', stderr: 'The password is set.\n' })

  await using store = await folder.store()
  const { password_hash: stored } = await store.db
    .selectFrom('account')
    .select('password_hash')
    .where('id', '=', 2)
    .executeTakeFirstOrThrow()
  const [, type, version, cost = '', salt = '', tag = ''] = stored?.split('$') ?? []
  assert.deepEqual([type, version, cost], ['argon2id', 'v=19', 'm=19456,t=2,p=1'])
  const { m, t, p } = Object.fromEntries(cost.split(',').map(pair => pair.split('='))) as Record<string, string>
  const derived = argon2Sync('argon2id', {
    message: password.normalize('NFC'),
    nonce: Buffer.from(salt, 'base64'),
    memory: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    tagLength: 32,
  })
  assert.equal(tag, derived.toString('base64').replace(/=+$/, ''))
})

test('a password that is too short, too long, or an argument is refused and not repeated', async () => {
  await using folder = await makeWorld()
  for (const input of ['elevenchars\n', '', `${'x'.repeat(1025)}\n`]) {
    const { code, stderr } = await folder.run(words('account set-password --account ann'), { input })
    assert.equal(stderr, 'lockstep: a password must have 12 to 1024 characters\n')
    assert.equal(code, 1)
  }
  const secret = 'correct-horse-battery'
  for (const args of [[secret], ['--password', secret]]) {
    const { code, stdout, stderr } = await folder.run([...words('account set-password --account ann'), ...args])
    assert.equal(code, 2)
    assert.ok(!(stdout + stderr).includes(secret))
  }
  const { stderr } = await folder.run([...words('account set-password --account ann'), secret])
  assert.match(stderr, /pipe it to stdin/)
})

const REMOVED = 'The account is removed. Imports and pulls do not bring it back, but account add --id 1 does.\n'

test('an account is removed only with --yes where nobody can be asked, and other accounts keep what they have', async () => {
  await using folder = await makeWorld()
  await using store = await folder.store()
  for (const accountId of [1, 2]) {
    await createKey(store, { accountId, name: 'x', scopes: ['dtt:read'], expiresAt: null }, Date.now())
  }
  const asked = await folder.launch(words('account remove --account ann'))
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /cannot be undone: add --yes to go ahead without a question/)
  assert.match((await folder.run(['export'])).stdout, /"username":"ann"/, 'without --yes nothing is removed')
  const ofBen = await folder.run(words('export --account ben'))

  const done = await folder.run(words('account remove --account ann --yes'))
  assert.deepEqual(done, { code: 0, stdout: '', stderr: REMOVED })
  assert.equal((await folder.run(words('export --account ben'))).stdout, ofBen.stdout)
  const owners = (await listKeys(store)).map(token => token.account_id)
  assert.deepEqual(owners, [2])
})

test('access is added, listed and ended by username or id; adding it twice changes nothing', async () => {
  await using folder = await makeWorld()
  const list = async () => {
    const links = JSON.parse((await folder.run(words('access list --json'))).stdout) as { since: string | null }[]
    return links.map(({ since: _, ...link }) => link)
  }
  const open = { areas: ['lkbx', 'dtt'], recordsFrom: null, until: null, endedAt: null }
  const annToBen = { ownerId: 1, owner: 'ann', partnerId: 2, partner: 'ben', ...open }
  const casToAnn = { ownerId: 3, owner: 'cas', partnerId: 1, partner: 'ann', ...open }
  assert.deepEqual(await list(), [annToBen])
  for (const args of ['--owner cas --partner 1', '--owner 3 --partner ann']) {
    const { code, stdout, stderr } = await folder.run(words(`access add ${args}`))
    assert.deepEqual([code, stdout, stderr], [0, '', 'Access is given.\n'])
  }
  assert.deepEqual(await list(), [annToBen, casToAnn])
  const removed = await folder.run(words('access remove --owner 1 --partner ben'))
  assert.deepEqual(removed, { code: 0, stdout: '', stderr: 'Access is ended.\n' })
  const [ended, ...others] = await list()
  assert.deepEqual(others, [casToAnn])
  assert.ok(ended !== undefined && 'endedAt' in ended && typeof ended.endedAt === 'string')
})

test('access can be narrowed, is left alone once it has ended, and is given again only with --again', async () => {
  await using folder = await makeWorld()
  const add = (more: string) => folder.run(words(`access add --owner cas --partner ben ${more}`))
  const narrow = '--area dtt --records-from 2026-02-01 --until 2099-01-01'
  assert.equal((await add(narrow)).code, 0)
  assert.equal((await add(narrow)).code, 0)
  const wider = await add('--area dtt')
  assert.deepEqual(
    [wider.code, wider.stderr],
    [1, 'lockstep: there is access on other terms: left unchanged (--again changes it)\n'],
  )
  const { stdout } = await folder.run(['export'])
  const line = '{"ownerId":3,"partnerId":2,"areas":["dtt"],"recordsFrom":"2026-02-01","until":"2099-01-02T00:00:00Z"}'
  assert.ok(stdout.includes(line), stdout)
  await folder.run(words('access remove --owner cas --partner ben'))
  assert.match((await add(narrow)).stderr, /was ended on .*: left unchanged/)
  assert.equal((await add('--again')).code, 0)
  assert.ok((await folder.run(['export'])).stdout.includes('{"ownerId":3,"partnerId":2}'))
})

/** Ann has a record of several kinds, Ben one, and Ben may read Ann's. */
async function makeWorld(): Promise<Folder> {
  const folder = await makeFolder()
  await using store = await folder.store()
  const records = [
    lockDevice(1, 1),
    lockSession(2, 1),
    trainingTemplate(3, 1),
    trainingSession(4, 1),
    trainingSession(5, 2),
  ]
  await importArchive(store, archiveOf([...world, ...records]))
  return folder
}

function words(line: string): string[] {
  return line.split(' ')
}

test('an invitation is a link on one line, to the public address, or else to this machine', async () => {
  await using folder = await makeWorld()
  const local = await folder.run(words('account invite --account ann'))
  assert.match(local.stdout, /^http:\/\/127\.0\.0\.1:5625\/invitation\/[A-Za-z0-9_-]{43}\n$/)
  const env = { LOCKSTEP_PUBLIC_URL: 'https://history.example/lockstep/' }
  const elsewhere = await folder.run(words('account invite --account 1'), { env })
  assert.match(elsewhere.stdout, /^https:\/\/history\.example\/lockstep\/invitation\/[A-Za-z0-9_-]{43}\n$/)
  const everywhere = await folder.run(words('account invite --account ann'), { env: { LOCKSTEP_HOST: '0.0.0.0' } })
  assert.match(everywhere.stdout, /^http:\/\/127\.0\.0\.1:5625\//)
})
