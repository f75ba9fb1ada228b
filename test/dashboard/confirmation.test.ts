// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginSession } from '../../src/accounts/browser-sessions.ts'
import { listEvents } from '../../src/accounts/events.ts'
import { setPassword, verifyPassword } from '../../src/accounts/passwords.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { PASSWORD, visitor, signInAs, ageSignIns } from '../support/dashboard.ts'
import { trainingSession, world } from '../support/records.ts'
import { inBrowser, startService } from '../support/service.ts'

async function signedIn() {
  const service = await startService([...world, trainingSession(61, 1)])
  const ann = await signInAs(service, 'ann')
  /** Makes the sign-in this old. */
  const age = (minutes: number) => ageSignIns(service, minutes)
  return { service, ann, age, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

const ASKED = /^\/signin\?again=1&next=/

const KEY: [string, string][] = [
  ['name', 'Script "one" & two'],
  ['scope', 'dtt:read'],
  ['expires', '30d'],
]

test('ten minutes after the sign-in a key needs the password again, before its form and with it', async () => {
  await using it = await signedIn()
  await it.age(9)
  assert.match((await it.ann.post('/keys', KEY)).text, /Your new key/)
  await it.age(10)
  const keys = () => it.service.store.db.selectFrom('token').select('scopes').execute()
  assert.equal((await it.ann.get('/keys/new')).to, '/signin?again=1&next=%2Fkeys%2Fnew')
  assert.equal((await it.ann.post('/keys', KEY)).to, '/signin?again=1&next=%2Fkeys')
  const asked = await it.ann.get('/signin?again=1&next=%2Fkeys%2Fnew')
  assert.match(asked.text, /Enter your password to continue\./)
  assert.match(asked.text, /value="ann"/)
  it.ann.cookies.set('discreet', '1')
  const wrong = await it.ann.post('/signin', { again: '1', next: '/keys/new', password: 'not the password' })
  assert.match(wrong.text, /The password is wrong/)
  assert.match(wrong.text, /Enter your password to continue\./)
  assert.doesNotMatch(wrong.text, /"ann"/)
  assert.equal((await keys()).length, 1)
  const again = { again: '1', next: '/keys/new', password: PASSWORD }
  assert.equal((await it.ann.post('/signin', again)).to, '/keys/new')
  assert.match((await it.ann.get('/keys/new')).text, /<h1>Create key/)
  assert.match((await it.ann.post('/keys', KEY)).text, /Your new key/, 'and not again for ten minutes')
})

test('the export of everything needs a fresh sign-in, and leads back to its button', async () => {
  await using it = await signedIn()
  assert.match((await it.ann.get('/settings/export')).text, /"kind":"account"/)
  await it.age(10)
  const next = '/settings?confirmed=/settings/export'
  assert.equal((await it.ann.get('/settings/export')).to, `/signin?${new URLSearchParams({ again: '1', next })}`)
  const confirmed = await it.ann.post('/signin', { again: '1', next, password: PASSWORD })
  assert.equal(confirmed.to, next)
  assert.match((await it.ann.get(next)).text, /Confirmed for ten minutes/)
  assert.match((await it.ann.get('/settings/export')).text, /"kind":"account"/)
  const elsewhere = { again: '1', next: 'https://evil.example', password: PASSWORD }
  assert.equal((await it.ann.post('/signin', elsewhere)).to, '/')
})

test('signing in again gives the browser a new cookie, so that a stolen copy of the old one is not fresh too', async () => {
  await using it = await signedIn()
  await it.age(11)
  const thief = visitor(it.service.url)
  for (const [name, value] of it.ann.cookies) thief.cookies.set(name, value)
  assert.equal((await thief.get('/settings')).status, 200)
  const { headers } = await it.ann.post('/signin', { again: '1', next: '/settings', password: PASSWORD })
  assert.match(headers.getSetCookie().join(), /^session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax,/)
  assert.equal((await thief.get('/settings')).to, '/signin?next=%2Fsettings')
  assert.equal((await it.ann.get('/settings')).status, 200)
  assert.match((await it.ann.post('/keys', KEY)).text, /Your new key/)
})

/** What asks for another sign-in; for `POST /settings/password` the form itself asks for the password. */
const SENSITIVE = [
  'GET /keys/:id/regenerate',
  'GET /keys/new',
  'GET /lock-templates/:id/delete',
  'GET /locks/:id/delete',
  'GET /people/give',
  'GET /programs/:id/delete',
  'GET /settings/delete',
  'GET /settings/export',
  'GET /settings/oidc',
  'GET /settings/oidc/remove',
  'GET /settings/page',
  'GET /settings/passkeys/:id/remove',
  'GET /settings/passkeys/new',
  'GET /settings/password/remove',
  'GET /source/connect',
  'GET /source/files/:id/undo',
  'GET /source/gone',
  'GET /source/key',
  'GET /source/typed',
  'GET /source/upload',
  'GET /training/:id/delete',
  'POST /keys',
  'POST /keys/:id/regenerate',
  'POST /lock-templates/:id/delete',
  'POST /locks/:id/delete',
  'POST /people/give',
  'POST /programs/:id/delete',
  'POST /settings/delete',
  'POST /settings/oidc/remove',
  'POST /settings/passkeys/:id/remove',
  'POST /settings/passkeys/new',
  'POST /settings/password/remove',
  'POST /source/connect',
  'POST /source/files/:id/undo',
  'POST /source/gone',
  'POST /source/key',
  'POST /source/start',
  'POST /source/typed',
  'POST /source/upload',
  'POST /training/:id/delete',
]

test('ten minutes after the sign-in, every sensitive action asks for another sign-in, and no other', async t => {
  await using it = await signedIn()
  await it.service.token('ann')
  const { db } = it.service.store
  const stored = async () => [
    await db.selectFrom('token').select(['id', 'name']).execute(),
    await db.selectFrom('account').select(['id', 'password_hash']).execute(),
    await db.selectFrom('unmatched_access').select('username').execute(),
  ]
  const fields = { name: 'New', scope: 'dtt:read', expires: '30d', username: 'quinby', area: 'dtt' }
  await it.age(10)
  const sensitive: string[] = []
  for (const { method = 'GET', path } of pages) {
    await t.test(`${method} ${path}`, async () => {
      const own = path.replace(':id', '1')
      const before = await stored()
      const { to } = await (method === 'POST' ? it.ann.post(own, fields) : it.ann.get(own))
      if (!ASKED.test(to ?? '')) return
      sensitive.push(`${method} ${path}`)
      assert.deepEqual(await stored(), before)
    })
  }
  assert.deepEqual(sensitive.toSorted(), SENSITIVE)
})

test('a form that is sent after its session ended leads, after the sign-in, to the page of the form, without what was entered', async () => {
  await using it = await signedIn()
  await it.ann.post('/signout')
  const next = '/settings/password'
  const again = await it.ann.post('/signin', { again: '1', next, password: PASSWORD })
  assert.equal(again.to, `/signin?${new URLSearchParams({ next })}`)
  const password = 'another long password'
  const changed = await it.ann.post('/settings/password', { current: PASSWORD, next: password, again: password })
  assert.equal(changed.to, '/signin?next=%2Fsettings')
})

test('a password that is changed between its check and the sign-in lets nobody in', async () => {
  await using service = await startService(world)
  const { store } = service
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  const proof = await verifyPassword(store, 'ann', PASSWORD)
  assert.ok(proof !== undefined)
  await setPassword(store, { accountId: 1, password: 'another long password' }, Date.now())
  assert.equal(await beginSession(store, { proof, browser: '', actor: inBrowser, now: Date.now() }), undefined)
  assert.deepEqual(await store.db.selectFrom('browser_session').selectAll().execute(), [])
  const kinds = (await listEvents(store, 1, { limit: 10 })).map(({ kind }) => kind)
  assert.deepEqual(
    kinds.filter(kind => kind !== 'access-given'),
    ['password-set', 'password-set'],
  )
})
