// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listKeys } from '../../src/accounts/api-keys.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { signInAs } from '../support/dashboard.ts'
import { account, world } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { within } from '../support/waiting.ts'

async function signedIn(lines: readonly object[] = world) {
  const service = await startService(lines)
  const ann = await signInAs(service, 'ann')
  const create = (fields: Record<string, string> = {}) =>
    ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d', ...fields })
  return { service, ann, create, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

const KEY = /lks_[0-9A-Za-z]{36}/

test('a key is shown once, works at once, and is listed by its last four characters', async () => {
  await using it = await signedIn()
  const created = await it.create()
  assert.equal(created.status, 200)
  assert.equal(created.headers.get('Cache-Control'), 'no-store')
  const key = KEY.exec(created.text)?.[0] ?? ''
  assert.ok(created.text.includes(`LOCKSTEP_TOKEN=${key}`))
  assert.ok(created.text.includes(`curl -H &quot;Authorization: Bearer ${key}&quot;`))
  const me = await it.service.fetch('/api/v1/me', key)
  assert.equal(me.body.data.token.name, 'Script')
  assert.deepEqual(me.body.data.token.scopes, ['dtt:read'])
  const list = (await it.ann.get('/keys')).text
  assert.ok(list.includes(`lks_…${key.slice(-4)}`))
  assert.ok(!list.includes(key))
  assert.match(list, /1 of 5 keys/)
})

test('a key expires after a number of days, or never', async () => {
  await using it = await signedIn()
  const before = Date.now()
  for (const expires of ['90d', 'never']) assert.equal((await it.create({ expires })).status, 200)
  const [span, never] = await it.service.store.db.selectFrom('token').select('expires_at').orderBy('id').execute()
  const made = Number(span?.expires_at) - 90 * DAY_MS
  assert.ok(before <= made && made <= Date.now())
  assert.equal(never?.expires_at, null)
})

test('at five keys the button says why it is disabled, and no sixth is created', async () => {
  await using it = await signedIn()
  for (let index = 0; index < 5; index += 1) assert.equal((await it.create()).status, 200)
  const page = (await it.ann.get('/keys')).text
  assert.match(page, /5 of 5 keys/)
  assert.match(page, /<button class="primary" disabled aria-describedby="why">/)
  assert.match(page, /Revoke one to make room/)
  assert.equal((await it.create()).to, '/keys')
  assert.equal((await it.ann.get('/keys/new')).to, '/keys')
  assert.equal((await it.service.store.db.selectFrom('token').selectAll().execute()).length, 5)
})

test('without a subscription the page explains, and keys show as inactive', async () => {
  await using it = await signedIn()
  await it.create()
  await it.service.store.db.updateTable('account').set({ subscription_tier: null }).execute()
  const page = (await it.ann.get('/keys')).text
  assert.match(page, /no subscription at the moment/)
  assert.match(page, /Inactive/)
  assert.match(page, /disabled/)
  assert.equal((await it.create()).to, '/keys')
})

test('of a subscription that ended, the page and the API say when', async () => {
  await using it = await signedIn()
  const key = KEY.exec((await it.create()).text)?.[0] ?? ''
  const ended = Date.parse('2025-01-01T00:00:00Z')
  await it.service.store.db.updateTable('account').set({ subscription_ends_at: ended }).execute()
  assert.match((await it.ann.get('/keys')).text, /The subscription of this account ended at [^<]*2025/)
  await within(2000, async () => {
    const { body } = await it.service.fetch('/api/v1/dtt/sessions', key)
    return body.code === 'subscription_required' && body.error === 'The subscription ended at 2025-01-01T00:00:00Z'
  })
})

test('revoking names the key, says when it was last used, and takes effect at once', async () => {
  await using it = await signedIn()
  const key = KEY.exec((await it.create({ name: 'Old phone' })).text)?.[0] ?? ''
  const [row] = await it.service.store.db.selectFrom('token').select('id').execute()
  const question = (await it.ann.get(`/keys/${row?.id}/revoke`)).text
  assert.match(question, /Revoke <strong>Old phone<\/strong>/)
  assert.match(question, /Last used: .*never/)
  assert.equal((await it.ann.post(`/keys/${row?.id}/revoke`)).to, '/keys?done=revoked')
  assert.equal((await it.service.fetch('/api/v1/me', key)).body.code, 'token_revoked')
  assert.match((await it.ann.get('/keys')).text, /No keys yet/)
})

test('a regenerated key has the name, scopes and lifetime of the old one, which works for a day and is not counted', async () => {
  await using it = await signedIn()
  const old = KEY.exec((await it.create({ name: 'Kitchen' })).text)?.[0] ?? ''
  for (let index = 0; index < 4; index += 1) await it.create({ name: `Other ${index}` })
  const { db } = it.service.store
  const keyOf = (secret: string) =>
    db
      .selectFrom('token')
      .selectAll()
      .where('name', '=', 'Kitchen')
      .where('last4', '=', secret.slice(-4))
      .executeTakeFirstOrThrow()
  const { id } = await keyOf(old)
  await db
    .updateTable('token')
    .set(({ eb }) => ({
      created_at: eb('created_at', '-', 20 * DAY_MS),
      expires_at: eb('expires_at', '-', 20 * DAY_MS),
    }))
    .where('id', '=', id)
    .execute()
  assert.match((await it.ann.get(`/keys/${id}/regenerate`)).text, /in place of <strong>Kitchen<\/strong>.* in 30 days/s)

  const seen = await it.ann.post(`/keys/${id}/regenerate`)
  assert.equal(seen.status, 200)
  const secret = KEY.exec(seen.text)?.[0] ?? ''
  assert.notEqual(secret, old)
  const [before, after] = [await keyOf(old), await keyOf(secret)]
  assert.equal(after.scopes, before.scopes)
  assert.equal(Number(after.expires_at) - after.created_at, 30 * DAY_MS)
  const ends = async (key: string) => (await it.service.fetch('/api/v1/me', key)).body.data.token.expiresAt
  assert.equal(Date.parse(await ends(old)), after.created_at + DAY_MS)
  assert.equal(Date.parse(await ends(secret)), after.expires_at)

  const page = (await it.ann.get('/keys')).text
  assert.match(page, /5 of 5 keys/)
  assert.match(page, /Replaced/)
  const again = await it.ann.post(`/keys/${id}/regenerate`)
  assert.equal(again.status, 422)
  assert.match(again.text, /was revoked or replaced/)
})

test('a key that is regenerated shortly before its end does not work longer', async () => {
  await using it = await signedIn()
  await it.create()
  const { db } = it.service.store
  const end = Date.now() + 3_600_000
  const { id } = await db.updateTable('token').set({ expires_at: end }).returning('id').executeTakeFirstOrThrow()
  assert.equal((await it.ann.post(`/keys/${id}/regenerate`)).status, 200)
  const [old] = await listKeys(it.service.store)
  assert.deepEqual([old?.id, old?.expires_at], [id, end])
})

test('examples have the address of the service', async () => {
  await using it = await signedIn()
  const page = (await it.ann.get('/keys/examples')).text
  for (const text of [
    'curl --silent',
    `resource: ${it.service.url}/api/v1/status`,
    `LOCKSTEP_URL=${it.service.url} LOCKSTEP_TOKEN=lks_… python3`,
    `LOCKSTEP_URL: baseUrl = &#39;${it.service.url}&#39;`,
  ])
    assert.ok(page.includes(text), text)
  assert.ok(!page.includes('127.0.0.1:5625'))
})

test("somebody else's key can be neither seen nor revoked, like one that is not there", async () => {
  await using it = await signedIn()
  const token = await it.service.token('ben')
  const [row] = await it.service.store.db.selectFrom('token').select('id').execute()
  for (const id of [row?.id, 99, 'x', '1e1']) {
    assert.equal((await it.ann.get(`/keys/${id}/revoke`)).status, 404)
    assert.equal((await it.ann.post(`/keys/${id}/regenerate`)).status, 404)
    assert.equal((await it.ann.post(`/keys/${id}/revoke`)).status, 404)
  }
  assert.equal((await it.service.fetch('/api/v1/me', token)).status, 200)
  assert.match((await it.ann.get('/keys')).text, /No keys yet/)
})

test('names are escaped, whatever they contain', async () => {
  await using it = await signedIn([...world, account(4, '<b>dee</b>')])
  const name = '<script>alert(1)</script>"\'&'
  await it.create({ name })
  const page = (await it.ann.get('/keys')).text
  assert.ok(!page.includes('<script>alert'))
  assert.ok(page.includes('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;'))
})
