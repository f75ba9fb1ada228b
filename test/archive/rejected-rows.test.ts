import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { kinds } from '../../src/archive/kinds.ts'
import { listRejected } from '../../src/archive/rejected-rows.ts'
import { openStore, type TestStore, totals } from '../support/archives.ts'
import { account, lockDevice, lockTemplate, trainingSession, world } from '../support/records.ts'

const reasons = async ({ store }: TestStore) =>
  (await listRejected(store)).map(({ kind, record_id, reason }) => [kind, record_id, reason])

const NO_ACCOUNT = 'ownerId is of no account in the file or here: add one with this id first (account add --id)'

test('an import that sets errors aside stores the valid lines, and keeps the others as they came', async () => {
  await using store = await openStore([account(1, 'ann'), lockDevice(5, 1)])
  const bytes = Buffer.concat([
    Buffer.from([0xff, 0x0a]),
    Buffer.from(
      [
        trainingSession(1, 1),
        trainingSession(2, 1, { passed: 'yes' }),
        trainingSession(3, 9),
        account(4, 'ann'),
        lockTemplate(4, 4),
        lockDevice(5, 1, { locked: true }),
        '{"kind":',
      ]
        .map(line => (typeof line === 'string' ? line : JSON.stringify(line)))
        .join('\n'),
    ),
  ])
  const report = await store.import(bytes, { onError: 'set-aside', source: 'history.ndjson' })
  assert.deepEqual(totals(report), { added: 1, replaced: 0, unchanged: 0, skipped: 0 })
  assert.deepEqual([report.setAside?.count, report.setAside?.newCount, report.setAside?.notKept], [7, 7, 0])
  assert.deepEqual(
    new Set((await reasons(store)).map(row => row.join())),
    new Set([
      ',,is not valid UTF-8',
      'training-session,2,passed must be true or false',
      `training-session,3,${NO_ACCOUNT}`,
      'account,4,has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name',
      `lock-template,4,${NO_ACCOUNT}`,
      'lock-device,5,is a record that the store has with other content (see --on-conflict)',
      ',,is not valid JSON',
    ]),
  )
  const rows = await store.store.db.selectFrom('set_aside').select(['source', 'raw', 'encoding']).execute()
  assert.ok(rows.every(({ source }) => source === 'history.ndjson'))
  assert.ok(
    rows.some(({ raw, encoding }) => encoding === 'base64' && Buffer.from(raw, 'base64').equals(Buffer.of(0xff))),
  )
  assert.ok(rows.some(({ raw }) => raw === JSON.stringify(trainingSession(2, 1, { passed: 'yes' }))))
  const again = await store.import(bytes, { onError: 'set-aside', source: 'history.ndjson' })
  assert.deepEqual([again.setAside?.count, again.setAside?.newCount], [7, 0])
})

test('no more than 10,000 rows of a source are kept, and the others are counted', async () => {
  await using store = await openStore(world)
  const lines = Array.from({ length: 10_005 }, (_, index) => `{"kind":"lock-device","data":{"id":${index + 1}}}`)
  const { setAside } = await store.import(lines, { onError: 'set-aside' })
  assert.deepEqual(
    [setAside?.count, setAside?.newCount, setAside?.notKept, setAside?.rows.length],
    [10_005, 10_005, 5, 100],
  )
  assert.equal((await listRejected(store.store)).length, 10_000)
})

test('the tier of a stored account is taken from an archive only if requested', async () => {
  await using store = await openStore([account(1, 'ann', { subscriptionTier: null })])
  const line = account(1, 'ann', { subscriptionEndsAt: '2099-01-01T00:00:00Z' })
  assert.equal(totals(await store.import([line], { onConflict: 'replace' })).unchanged, 1)
  assert.match(await store.export(), /"subscriptionTier":null.*"subscriptionEndsAt":null/)
  assert.equal(totals(await store.import([line], { onConflict: 'replace', tiers: true })).replaced, 1)
  assert.match(await store.export(), /"subscriptionTier":"ultra".*"subscriptionEndsAt":"2099-01-01T00:00:00Z"/)
})

test('the line of each kind in the docs is imported and exported unchanged', async () => {
  const docs = readFileSync(new URL('../../docs/archive.md', import.meta.url), 'utf8')
  const lines = /```json\n([^]*?)```/.exec(docs)?.[1] ?? ''
  for (const { name } of kinds) assert.ok(lines.includes(`{"kind":"${name}",`), name)
  await using store = await openStore(Buffer.from(`${lines}${JSON.stringify(account(2, 'ben'))}\n`))
  const exported = await store.export()
  // The mark of a legacy upload is in the record, so the envelope does not repeat it.
  for (const line of lines.trim().split('\n').slice(0, -1))
    assert.ok(exported.includes(line.replace(',"legacyUpload":true', '')), line)
})
