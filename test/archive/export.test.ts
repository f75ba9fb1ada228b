// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveParts, exportArchive } from '../../src/archive/export.ts'
import { importArchive } from '../../src/archive/import.ts'
import { kinds } from '../../src/archive/kinds.ts'
import { open } from '../../src/store/index.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { bytesOf, cut, openStore, parseLines, exportOf } from '../support/archives.ts'
import {
  account,
  deletion,
  lockDevice,
  lockSession,
  oneOfEach,
  partnership,
  trainingSession,
} from '../support/records.ts'
import { startService } from '../support/service.ts'

/** Two linked accounts and a stranger, each with a record of every kind, in no order. */
const records = (owner: number) => [
  deletion(owner, 'lock-device', 999),
  trainingSession(owner * 100 + 1, owner),
  ...oneOfEach(owner + 1, owner, [lockSession(owner + 1, owner, {}, { templateId: 2 })]).toReversed(),
]
const people = [account(30, 'cas'), account(2, 'ben'), account(1, 'ann')]
const links = [partnership(2, 1), partnership(1, 30), partnership(1, 2)]
const archive = [...records(2), ...links, ...records(30), ...people, ...records(1)]

interface Exported {
  readonly kind: string
  readonly data: { readonly id: number; readonly ownerId: number; readonly partnerId: number }
  readonly ownerId?: number
}

const end = (lines: number) => `{"kind":"end","data":{"lines":${lines}}}\n`

test('an archive ends with the number of its lines, and several may stand one after the other', async () => {
  await using store = await openStore(archive)
  const [all, ann] = [await store.export(), await store.export(1)]
  assert.ok(all.endsWith(`\n${end(archive.length)}`))
  assert.ok(ann.endsWith(`\n${end(ann.split('\n').length - 2)}`))
  await using copy = await openStore()
  assert.equal((await copy.import(Buffer.from(ann))).hasEnd, true)
  assert.equal((await copy.import(Buffer.from(ann + all))).hasEnd, true)
  assert.equal(await copy.export(), all)
})

test('an archive that was cut short is recognised, and one that lacks lines is refused', async () => {
  await using store = await openStore(archive)
  const lines = (await store.export()).split(/(?<=\n)/)
  await using copy = await openStore()
  assert.equal((await copy.import(Buffer.from(lines.slice(0, -1).join('')))).hasEnd, false)
  assert.equal((await copy.import(Buffer.from([...lines, ...lines.slice(0, 9)].join('')))).hasEnd, false)

  await using empty = await openStore()
  const lacking = Buffer.from(lines.toSpliced(4, 1).join(''))
  for (const onError of ['fail', 'set-aside'] as const) {
    const { errors, count } = await empty.refuse(lacking, { onError })
    assert.equal(count, 1)
    assert.deepEqual(errors, [
      {
        line: archive.length,
        reason: `ends an archive of ${archive.length} lines, but ${archive.length - 1} lines come before it: the archive is incomplete, so export or copy it again`,
      },
    ])
  }
  const { errors } = await empty.refuse([account(1, 'ann'), { kind: 'end', data: {} }])
  assert.deepEqual(errors, [{ line: 2, reason: 'must say how many lines come before it, as data.lines' }])
})

test('kinds come in their order, and records by identifier, as numbers', async () => {
  await using store = await openStore(archive)
  const lines: Exported[] = parseLines(await store.export()).slice(0, -1)
  assert.equal(lines.length, archive.length)
  assert.deepEqual(
    [...new Set(lines.map(({ kind }) => kind))],
    kinds.map(({ name }) => name),
  )
  const ids = (name: string) => lines.filter(({ kind }) => kind === name).map(({ data }) => data.id)
  assert.deepEqual(ids('account'), [1, 2, 30])
  assert.deepEqual(ids('lock-device'), [2, 3, 31])
  assert.deepEqual(ids('training-session'), [2, 3, 31, 101, 201, 3001])
  const pairs = lines.filter(({ kind }) => kind === 'partnership').map(({ data }) => [data.ownerId, data.partnerId])
  assert.deepEqual(pairs, [
    [1, 2],
    [1, 30],
    [2, 1],
  ])
})

test('fields of the envelope are exported in the envelope, and only if they are known', async () => {
  await using store = await openStore([
    account(1, 'ann', { subscriptionEndsAt: '2030-01-01T00:00:00+01:00' }),
    account(2, 'ben', { subscriptionTier: null }),
    lockSession(1, 1, {}, { templateId: 9 }),
    lockSession(2, 1),
    trainingSession(3, 2, {}, { legacyUpload: true }),
  ])
  const lines = (await store.export()).split('\n')
  assert.match(
    lines[0] ?? '',
    /^{"kind":"account","data":{"id":1,.*,"subscriptionEndsAt":"2029-12-31T23:00:00Z"},"asOf":"2026-02-01T00:00:00Z"}$/,
  )
  assert.match(
    lines[1] ?? '',
    /^{"kind":"account","data":{"id":2,.*"subscriptionTier":null,.*"subscriptionEndsAt":null},"asOf":"2026-02-16T18:00:00Z"}$/,
  )
  assert.match(lines[2] ?? '', /^{"kind":"lock-session","data":{"id":1,.*},"templateId":9}$/)
  assert.match(lines[3] ?? '', /^{"kind":"lock-session","data":{"id":2,.*}\]}}$/)
  assert.match(lines[4] ?? '', /^{"kind":"training-session","data":{"id":3,.*"distanceApproximate":true},"ownerId":2}$/)
})

test('the archive of one account has that account and its own records, and can be imported alone', async () => {
  await using store = await openStore(archive)
  for (const [owner, person] of [
    [1, account(1, 'ann')],
    [2, account(2, 'ben')],
    [30, account(30, 'cas')],
  ] as const) {
    const exported = await store.export(owner)
    await using alone = await openStore(bytesOf([person, ...records(owner)]))
    assert.equal(exported, await alone.export())
    await using copy = await openStore(Buffer.from(exported))
    assert.equal(await copy.export(), exported)
    assert.equal(await copy.export(owner), exported)
  }
  assert.equal(await store.export(4711), end(0))
})

test('API keys, passwords and sign-ins are never in an archive', async () => {
  await using service = await startService([...people, ...records(1)])
  const token = await service.token('ann', { name: 'telltale-name' })
  await setPassword(service.store, { accountId: 1, password: 'telltale password' }, Date.now())
  const account = await service.store.db.selectFrom('account').select('password_hash').where('id', '=', 1).execute()
  const tokens = await service.store.db.selectFrom('token').selectAll().execute()
  const secrets = [token, tokens[0]?.hash, account[0]?.password_hash]
  const exported = (await exportOf(service.store)) + (await exportOf(service.store, 1))
  for (const secret of secrets) {
    assert.ok(typeof secret === 'string' && secret.length > 20)
    assert.ok(!exported.includes(secret))
  }
  assert.doesNotMatch(exported, /telltale|password|token|argon|lks_/i)
})

test('an archive is the store at one moment, whatever is written meanwhile, and writers do not wait for it', async () => {
  const many = Array.from({ length: 400 }, (_, index) => lockDevice(index + 1, 1))
  await using store = await openStore([account(1, 'ann'), account(2, 'ben'), ...many])
  const before = await store.export()
  const other = await open(store.url, { busyTimeoutMs: 5000 })
  let during = ''
  let parts = 0
  await exportArchive(store.store, async text => {
    during += text
    parts += 1
    // Between any two parts another program adds, changes and removes records before and after this place.
    const changes = [
      account(3 + parts, `new${parts}`),
      lockDevice(500 - parts, 1),
      lockDevice(parts, 2),
      trainingSession(parts, 1),
    ]
    await importArchive(other, cut(bytesOf(changes), []), { onConflict: 'replace' })
    await other.db
      .deleteFrom('lock_device')
      .where('id', '=', 200 + parts)
      .execute()
  })
  await other.close()
  assert.ok(parts > 5, String(parts))
  assert.equal(during, before)
  assert.notEqual(await store.export(), before)
})

test('a reader that stops early ends an export', async () => {
  await using store = await openStore(archive)
  const stopped = archiveParts(store.store)
  await stopped.next()
  await stopped.return(undefined)
  assert.equal((await stopped.next()).done, true)
})
