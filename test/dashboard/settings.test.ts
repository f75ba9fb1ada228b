// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowSignIn, PASSWORD, visitor, signInAs, visitorAs } from '../support/dashboard.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

async function signedIn() {
  const service = await startService([...world, trainingSession(61, 1)])
  const ann = await signInAs(service, 'ann')
  return { service, ann, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test('time zone and units are stored with the account', async () => {
  await using it = await signedIn()
  const saved = await it.ann.post('/settings', {
    timeZone: 'Asia/Kathmandu',
    units: 'imperial',
  })
  assert.equal(saved.to, '/settings?saved=units')
  assert.equal((await it.ann.post('/settings')).to, '/settings?saved=account', 'a form without fields changes nothing')
  const other = await visitorAs(it.service.url, 'ann')
  const page = (await other.get('/settings')).text
  assert.match(page, /<option value="Asia\/Kathmandu" selected>/)
  assert.match(page, /name="units" value="imperial" aria-pressed="true"/)
  assert.match(page, /Times in Asia\/Kathmandu/)
  assert.match((await other.get('/training/61')).text, /16 Feb( 2026)?, 23:45/)
})

test('the first sign-in suggests the zone of the browser, later ones do not', async () => {
  await using service = await startService(world)
  await allowSignIn(service, 'ann')
  const zone = async (timeZone: string) => {
    const ann = visitor(service.url)
    await ann.post('/signin', { username: 'ann', password: PASSWORD, timeZone })
    return /Times in ([\w/]+)/.exec((await ann.get('/settings')).text)?.[1]
  }
  assert.equal(await zone('Europe/Oslo'), 'Europe/Oslo')
  assert.equal(await zone('America/Lima'), 'Europe/Oslo')
})

test('the server renders theme and discreet mode from cookies of the browser', async () => {
  await using it = await signedIn()
  const schemes = { dark: 'dark', light: 'light', auto: 'light dark' }
  for (const [theme, scheme] of Object.entries(schemes)) {
    await it.ann.post('/display', { theme })
    assert.match((await it.ann.get('/settings')).text, new RegExp(`<meta name="color-scheme" content="${scheme}">`))
  }
  await it.ann.post('/display', { theme: 'purple' })
  assert.match((await it.ann.get('/settings')).text, /<meta name="color-scheme" content="light dark">/)
})

test('dates are written as the language of the browser writes them, or another one that the account chose, in each browser', async () => {
  await using it = await signedIn()
  const page = async (accepted: string) => (await it.ann.get('/training/61', { 'Accept-Language': accepted })).text
  assert.match(await page('xx, en;q=0.5'), /16 Feb/)
  assert.match(await page('de-AT, en;q=0.5'), /16\. Feb\./)
  assert.match(await page('en-US'), /Feb 16(, 2026)?, [1-9]:\d\d\sPM/)
  await it.ann.post('/settings', { language: 'es' })
  assert.match(await page('de'), /16 feb/)
  const other = await visitorAs(it.service.url, 'ann')
  assert.match((await other.get('/training/61')).text, /16 feb/)
  assert.equal((await it.ann.post('/settings', { language: 'tlh' })).status, 422)
  assert.match(await page('de'), /16 feb/)
  await it.ann.post('/settings', { language: '' })
  assert.match(await page('de'), /16\. Feb\./)
})

test('a new password needs the current one, ends the other sessions and keeps this one', async () => {
  await using it = await signedIn()
  const other = await visitorAs(it.service.url, 'ann')
  const change = (current: string, next: string) => it.ann.post('/settings/password', { current, next, again: next })
  assert.match((await change('wrong password', 'another long password')).text, /The password is wrong/)
  assert.equal((await other.get('/settings')).status, 200)

  assert.equal((await change(PASSWORD, 'another long password')).to, '/settings?saved=password')
  assert.equal((await it.ann.get('/settings')).status, 200)
  assert.equal((await other.get('/settings')).status, 303)
  assert.equal((await visitor(it.service.url).signIn('ann')).status, 403)
  assert.equal((await visitor(it.service.url).signIn('ann', 'another long password')).status, 303)
})

test('attempts to guess the password in an open browser are limited, in each service by itself', async () => {
  await using it = await signedIn()
  await using other = await signedIn()
  const guess = ({ ann } = it) =>
    ann.post('/settings/password', { current: 'wrong password', next: 'a'.repeat(12), again: 'a'.repeat(12) })
  for (let index = 0; index < 10; index += 1) assert.equal((await guess()).status, 422)
  assert.match((await guess()).text, /Too many attempts/)
  assert.match((await guess(other)).text, /The password is wrong/)
})

test('open browser sessions can be signed out, one or all others', async () => {
  await using it = await signedIn()
  const others = [visitor(it.service.url), visitor(it.service.url), visitor(it.service.url)]
  for (const other of others) await other.signIn('ann')
  const page = (await it.ann.get('/settings')).text
  assert.match(page, /This one/)
  const ids = [...page.matchAll(/name="session" value="(\d+)"/g)].map(([, id]) => id ?? '')
  assert.equal(ids.length, 3)
  await it.ann.post('/settings/sessions', { session: ids[0] ?? '' })
  const open = async () =>
    (await Promise.all(others.map(other => other.get('/settings')))).filter(({ status }) => status === 200)
  assert.equal((await open()).length, 2)
  await it.ann.post('/settings/sessions')
  assert.equal((await open()).length, 0)
  assert.equal((await it.ann.get('/settings')).status, 200)
})

test('nobody ends a session of somebody else', async () => {
  await using it = await signedIn()
  const cas = await signInAs(it.service, 'cas')
  const [own] = await it.service.store.db
    .selectFrom('browser_session')
    .select('id')
    .where('account_id', '=', 1)
    .execute()
  await cas.post('/settings/sessions', { session: String(own?.id) })
  await cas.post('/settings/sessions')
  assert.equal((await it.ann.get('/settings')).status, 200)
})
