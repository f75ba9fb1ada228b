// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { formatTimestamp } from '../../src/contract/time.ts'
import { createKey, listKeys } from '../../src/accounts/api-keys.ts'
import { isKeyForm } from '../../src/accounts/secrets.ts'
import { findGrant } from '../../src/accounts/grants.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { account } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'

const DAY = 86_400_000

test('an API key is printed alone on stdout, works at once, and is nowhere in the database', async () => {
  await using folder = await makeWorld()
  const { code, stdout, stderr } = await folder.launch(create('ann', 'First script'))
  assert.equal(code, 0)
  assert.match(stdout, /^lks_[0-9A-Za-z]{36}\n$/)
  assert.match(stderr, /^Store it now: it is not shown again\.\nIt expires at \d{4}-\d\d-\d\dT\S+Z\.\n$/)
  const token = stdout.trim()
  assert.ok(isKeyForm(token))

  await using store = await folder.store()
  const grant = await findGrant(store, token)
  assert.deepEqual([grant?.accountId, grant?.scopes], [1, ['lkbx:read', 'dtt:read', 'shared:access']])
  const stored = JSON.stringify(await store.db.selectFrom('token').selectAll().execute())
  assert.ok(!stored.includes(token.slice(4, 34)))
})

const expiries: readonly {
  readonly args: readonly string[]
  readonly ends: number | ((now: number) => number) | null
}[] = [
  { args: [], ends: now => now + 365 * DAY },
  { args: ['--expires', '30d'], ends: now => now + 30 * DAY },
  { args: ['--expires', '90s'], ends: now => now + 90_000 },
  { args: ['--expires', '2y'], ends: now => now + 730 * DAY },
  { args: ['--expires', 'never'], ends: null },
  { args: ['--expires', '2099-05-06T07:08:09.010+02:00'], ends: Date.parse('2099-05-06T05:08:09.010Z') },
  { args: ['--expires', '2099-05-06'], ends: Date.parse('2099-05-07T00:00:00Z') },
  { args: ['--expires', '9999-12-31'], ends: Date.parse('9999-12-31T23:59:59.999Z') },
  { args: ['--expires', '9999-12-31T23:59:59.999Z'], ends: Date.parse('9999-12-31T23:59:59.999Z') },
]

test('an API key expires after a year, after a span, at an instant, at the end of a day, or never', async t => {
  await using folder = await makeWorld()
  await using store = await folder.store()
  for (const [index, { args, ends }] of expiries.entries()) {
    await t.test(args.join(' ') || 'nothing said', async () => {
      await folder.succeeds([...create(index < 5 ? 'ann' : 'fay', 'x'), ...args])
      const token = (await listKeys(store)).at(-1)
      assert.equal(token?.expires_at, typeof ends === 'function' ? ends(token?.created_at ?? 0) : ends)
    })
  }
})

test('an API key has the requested scopes, in the order of the contract, or all', async () => {
  await using folder = await makeWorld()
  const { stderr } = await folder.run([...create('ann', 'one'), '--scope', 'dtt:read'])
  assert.match(stderr, /this account's own records only, because --scope leaves out shared:access/)
  await folder.run([...create('ann', 'two'), '--scope', 'dtt:read', 'lkbx:read'])
  await folder.run([...create('ann', 'twice'), '--scope', 'lkbx:read', '--scope', 'lkbx:read'])
  await folder.run(create('ann', 'none said'))
  await using store = await folder.store()
  const granted = (await listKeys(store)).map(({ scopes }) => scopes)
  assert.deepEqual(granted, ['dtt:read', 'lkbx:read dtt:read', 'lkbx:read', 'lkbx:read dtt:read shared:access'])
})

test('API keys are listed with the fields of the contract, revoked ones included, all or of one account', async () => {
  await using folder = await makeWorld()
  await using store = await folder.store()
  const now = Date.parse('2026-02-16T18:00:00Z')
  const facts = { name: 'Script', scopes: ['lkbx:read'], expiresAt: null }
  const secret = await createKey(store, { ...facts, accountId: 1 }, now)
  const other = await createKey(store, { ...facts, accountId: 4, expiresAt: now + DAY }, now + 1)
  const revoked = await folder.launch(['key', 'revoke', '1'])
  assert.deepEqual(revoked, { code: 0, stdout: '', stderr: 'The API key is revoked.\n' })
  const [since] = (await listKeys(store)).map(token => token.revoked_at)
  await folder.succeeds(['key', 'revoke', '1'])

  const shown = {
    id: 1,
    accountId: 1,
    name: 'Script',
    last4: secret.slice(-4),
    scopes: ['lkbx:read'],
    createdAt: '2026-02-16T18:00:00Z',
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
  }
  const { stdout } = await folder.run(['key', 'list', '--json'])
  assert.equal(
    JSON.stringify(JSON.parse(stdout)),
    JSON.stringify([
      { ...shown, revokedAt: formatTimestamp(since ?? 0) },
      {
        ...shown,
        id: 2,
        accountId: 4,
        last4: other.slice(-4),
        createdAt: '2026-02-16T18:00:00.001Z',
        expiresAt: '2026-02-17T18:00:00Z',
      },
    ]),
    'in this order; revoking twice keeps the first instant',
  )
  for (const who of ['fay', '4']) {
    const own = JSON.parse((await folder.run(['key', 'list', '--account', who, '--json'])).stdout) as { id: number }[]
    const ids = own.map(({ id }) => id)
    assert.deepEqual(ids, [2])
  }
  const table = await folder.run(['key', 'list', '--account', 'ann'])
  assert.equal(table.stderr, '')
  const [heading = '', row = ''] = table.stdout.split('\n')
  assert.match(heading, /^id +account id +name +last4 +scopes +created at +expires at +last used at +revoked at$/)
  assert.match(row, new RegExp(`^1 +1 +Script +${secret.slice(-4)} +lkbx:read +2026-02-16T18:00:00Z +– +–`))
})

/** Ann and Fay may have tokens; Ben has no tier, and Cas had one. */
async function makeWorld(): Promise<Folder> {
  const folder = await makeFolder()
  await using store = await folder.store()
  const accounts = [
    account(1, 'ann'),
    account(2, 'ben', { subscriptionTier: null }),
    account(3, 'cas', { subscriptionEndsAt: '2025-01-01T00:00:00Z' }),
    account(4, 'fay'),
  ]
  await importArchive(store, archiveOf(accounts))
  return folder
}

function create(who: string, name: string): string[] {
  return ['key', 'create', '--account', who, '--name', name]
}
