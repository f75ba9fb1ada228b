// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { cellTexts, PASSWORD, tableRows, visitor, signInAs } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

const CHOSEN = 'a password of her own'
const chosen = { next: CHOSEN, again: CHOSEN }

async function invite({ store }: TestService, account = 1, now = Date.now()): Promise<string> {
  return `/invitation/${await createInvitation(store, { accountId: account }, now)}`
}

test('an invited person chooses a password, is signed in, and signs in with it from then on', async () => {
  await using service = await startService(world)
  const path = await invite(service)
  const ann = visitor(service.url)
  const form = await ann.get(path)
  assert.equal(form.status, 200)
  assert.match(form.text, /<strong>ann<\/strong>/)
  assert.equal(form.headers.get('Cache-Control'), 'no-store')
  assert.equal((await ann.post(path, chosen)).to, '/')
  assert.match((await ann.get('/settings')).text, /<title>Lockstep – Settings/)
  assert.equal((await visitor(service.url).signIn('ann', CHOSEN)).status, 303)
})

test('opening an invitation, however often, does not use it up; sending its form does', async () => {
  await using service = await startService(world)
  const path = await invite(service)
  for (let opened = 0; opened < 5; opened += 1) assert.equal((await visitor(service.url).get(path)).status, 200)
  const head = await fetch(service.url + path, { method: 'HEAD' })
  assert.equal(head.status, 200)
  assert.equal((await visitor(service.url).post(path, chosen)).status, 303)
  const late = visitor(service.url)
  for (const seen of [await late.get(path), await late.post(path, { next: PASSWORD, again: PASSWORD })]) {
    assert.equal(seen.status, 404)
    assert.match(seen.text, /This link no longer works/)
    assert.deepEqual(seen.headers.getSetCookie(), [])
  }
  assert.equal((await visitor(service.url).signIn('ann', CHOSEN)).status, 303)
})

test('of many people who send the form of one invitation at once, one is signed in', async () => {
  await using service = await startService(world)
  const path = await invite(service)
  const answers = await Promise.all(Array.from({ length: 5 }, () => visitor(service.url).post(path, chosen)))
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [303, 404, 404, 404, 404],
  )
})

test('a form that is refused does not use the invitation up, and says why', async () => {
  await using service = await startService(world)
  const path = await invite(service)
  const ann = visitor(service.url)
  const cases: [fields: Record<string, string>, problem: RegExp][] = [
    [{ next: 'short', again: 'short' }, /12 to 1024 characters/],
    [{ next: CHOSEN, again: PASSWORD }, /passwords differ/],
    [{}, /passwords differ/],
  ]
  for (const [fields, problem] of cases) {
    const seen = await ann.post(path, fields)
    assert.equal(seen.status, 422)
    assert.match(seen.text, problem)
  }
  assert.equal((await ann.post(path, chosen, { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  assert.equal((await ann.post(path, chosen)).status, 303)
})

test('an invitation ends after 24 hours, with the next one, with another password, and with its account', async () => {
  await using service = await startService(world)
  const { store } = service
  const statusOf = async (path: string) => {
    const seen = await visitor(service.url).get(path)
    const posted = await visitor(service.url).post(path, { next: 'short', again: 'short' })
    assert.equal(posted.status === 404, seen.status === 404)
    return seen.status
  }
  const now = Date.now()
  assert.equal(await statusOf(await invite(service, 1, now - 24 * 3_600_000 + 60_000)), 200)
  assert.equal(await statusOf(await invite(service, 1, now - 24 * 3_600_000)), 404)
  const first = await invite(service)
  const second = await invite(service)
  assert.deepEqual([await statusOf(first), await statusOf(second)], [404, 200])
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  assert.equal(await statusOf(second), 404)
  const third = await invite(service)
  await store.db.deleteFrom('account').where('id', '=', 1).execute()
  assert.equal(await statusOf(third), 404)
  for (const path of ['/invitation/x', `/invitation/${'A'.repeat(43)}`, `/invitation/${'A'.repeat(100)}`]) {
    assert.equal(await statusOf(path), 404, path.slice(0, 30))
  }
})

test('a forgotten password is replaced, and everybody who was signed in with it is signed out', async () => {
  await using service = await startService(world)
  const before = await signInAs(service, 'ann')
  await visitor(service.url).post(await invite(service), chosen)
  assert.equal((await before.get('/settings')).status, 303)
  assert.equal((await visitor(service.url).signIn('ann')).status, 403)
})

test('an invitation offers a passkey first, and says what is signed out and what is kept', async () => {
  await using service = await startService(world)
  const { text } = await visitor(service.url.replace('127.0.0.1', 'localhost')).get(await invite(service))
  assert.match(text, /Add passkey and sign in[^]*Set password and sign in/)
  assert.match(text, /signed in to it will be signed out\. Its API keys and passkeys are kept/)
})

test('an invitation that is accepted ends the session that somebody else had in the same browser', async () => {
  await using service = await startService(world)
  const browser = await signInAs(service, 'cas')
  const before = visitor(service.url)
  before.cookies.set('session', browser.cookies.get('session') ?? '')
  const path = await invite(service)
  await browser.post(path, { next: 'short', again: 'short' })
  assert.equal((await before.get('/settings')).status, 200)
  assert.equal((await browser.post(path, chosen)).to, '/')
  assert.equal((await before.get('/settings')).status, 303)
  assert.match((await browser.get('/settings')).text, /<summary><span>ann</)
})

test('invitations made and used are among the events of the account, with the browser, and the store has no secret of one', async () => {
  await using service = await startService(world)
  const path = await invite(service)
  const ann = visitor(service.url)
  const firefox = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0' }
  const kept = await service.store.db.selectFrom('invitation').selectAll().execute()
  assert.equal(kept.length, 1)
  assert.ok(!JSON.stringify(kept).includes(path.slice('/invitation/'.length)))
  await ann.post(path, chosen, firefox)
  await ann.signIn('ann', CHOSEN)
  const rows = tableRows((await ann.get('/settings/events')).text, 'event-table')?.map(row =>
    cellTexts(row).filter((_, column) => column !== 1),
  )
  assert.deepEqual(rows?.slice(0, 3), [
    ['Signed in with the password', 'You', '127.0.0.0/24', 'Unknown browser'],
    ['Invitation used, password chosen', 'You', '127.0.0.0/24', 'Firefox on Linux'],
    ['Invitation made', 'Operator', '–', '–'],
  ])
  await service.service.close()
  assert.ok(!service.log.join('').includes(path.slice('/invitation/'.length)), 'the log has no secret')
})

test('nobody chooses a password over plain HTTP from beyond this machine', async () => {
  await using service = await startService(world, { LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8' })
  const path = await invite(service)
  const far = { 'X-Forwarded-For': '192.0.2.7' }
  assert.match((await visitor(service.url).get(path, far)).text, /not encrypted/)
  assert.equal((await visitor(service.url).post(path, chosen, far)).status, 403)
  assert.equal((await visitor(service.url).get(path)).status, 200)
})
