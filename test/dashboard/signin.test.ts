// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { GUESSABLE } from '../../src/accounts/password-rules.ts'
import { allowSignIn, PASSWORD, visitor, visitorAs } from '../support/dashboard.ts'
import { exchange } from '../support/raw.ts'
import { account, world } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { startService } from '../support/service.ts'

async function withAnn(settings: Record<string, string> = {}) {
  const service = await startService(world, settings)
  await allowSignIn(service, 'ann')
  return service
}

test('somebody who is not signed in is sent to the form, and back to the page afterwards', async () => {
  await using service = await withAnn()
  const ann = visitor(service.url)
  const asked = await ann.get('/locks?state=locked')
  assert.equal(asked.status, 303)
  assert.equal(asked.to, '/signin?next=%2Flocks%3Fstate%3Dlocked')
  assert.match((await ann.get(asked.to ?? '')).text, /name="next" value="\/locks\?state=locked"/)
  const signedIn = await ann.post('/signin', { username: 'ann', password: PASSWORD, next: '/locks?state=locked' })
  assert.equal(signedIn.to, '/locks?state=locked')
  assert.equal((await ann.get('/locks')).status, 200)
})

test('an empty service shows what to do first, in order and naming nobody, until there is an account', async () => {
  await using service = await startService()
  const first = (await visitor(service.url).get('/signin')).text
  assert.doesNotMatch(first, /<form/)
  const commands = [...first.matchAll(/<li><code>(.*?)<\/code>/g)].map(([, command = '']) =>
    command.replaceAll(/<[^>]*>/g, ''),
  )
  assert.deepEqual(
    commands.map(command => /^\.\/lockstep (\w+(?: [a-z][a-z-]*)?)/.exec(command)?.[1]),
    ['account add', 'account invite', undefined, 'pull'],
  )
  await service.import(world)
  assert.match((await visitor(service.url).get('/signin')).text, /<form/)
})

test('signing in never leads to another site', async () => {
  await using service = await withAnn()
  for (const next of ['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)', '/a\nb']) {
    const seen = await visitor(service.url).post('/signin', { username: 'ann', password: PASSWORD, next })
    assert.equal(seen.to, '/', next)
  }
})

test('over TLS every cookie is one that no other host can set, and what older versions set for the looks still counts', async () => {
  await using service = await withAnn({ LOCKSTEP_PUBLIC_URL: 'https://history.example' })
  const ann = visitor(service.url)
  const post = (path: string, fields: Record<string, string>) => ann.post(path, fields)
  const set: string[] = []
  for (const seen of [
    await ann.post('/passkeys/options', { purpose: 'signin' }),
    await ann.signIn('ann'),
    await post('/display', { theme: 'dark', discreet: '1', shortcut: '0' }),
    await post('/subject', { subject: '1' }),
  ]) {
    set.push(...seen.headers.getSetCookie())
  }
  const names = set.filter(text => !text.includes('Max-Age=0')).map(text => text.replace(/=.*/, ''))
  const expected = ['passkey-signin', 'session', 'known-browser', 'theme', 'discreet', 'shortcut', 'subject']
  assert.deepEqual(
    names,
    expected.map(name => `__Host-${name}`),
  )
  assert.deepEqual([...ann.cookies.keys()], names)

  ann.cookies.delete('__Host-discreet')
  ann.cookies.set('discreet', '1')
  assert.match((await ann.get('/')).text, /You/)
  await post('/display', { discreet: '0' })
  assert.ok(!ann.cookies.has('discreet'), 'it is not left behind')
  ann.cookies.set('session', ann.cookies.get('__Host-session') ?? '')
  ann.cookies.delete('__Host-session')
  assert.equal((await ann.get('/')).to, '/signin', 'another host can set this one')
})

test('the store has only a hash of the cookie', async () => {
  await using service = await withAnn()
  const ann = await visitorAs(service.url, 'ann')
  const rows = await service.store.db.selectFrom('browser_session').selectAll().execute()
  assert.equal(rows.length, 1)
  assert.ok(!JSON.stringify(rows).includes(ann.cookies.get('session') ?? '?'))
})

test('each sign-in creates a session, which replaces the one of this browser', async () => {
  await using service = await withAnn()
  const ann = await visitorAs(service.url, 'ann')
  const first = ann.cookies.get('session') ?? ''
  await ann.signIn('ann')
  assert.notEqual(ann.cookies.get('session'), first)
  const old = visitor(service.url)
  old.cookies.set('session', first)
  assert.equal((await old.get('/settings')).status, 303)
})

test('a wrong name and a wrong password get the same response', async () => {
  await using service = await withAnn()
  const wrongPassword = await visitor(service.url).signIn('ann', 'not the password')
  const wrongName = await visitor(service.url).signIn('nobody', PASSWORD)
  const withoutPassword = await visitor(service.url).signIn('ben', PASSWORD)
  for (const seen of [wrongPassword, wrongName, withoutPassword]) {
    assert.equal(seen.status, 403)
    assert.match(seen.text, /The username or the password is wrong\./)
    assert.deepEqual(seen.headers.getSetCookie(), [])
  }
  assert.equal(wrongName.text.replace('nobody', 'ann'), wrongPassword.text)
})

test('a username is found in any case and with spaces around it, one that is spelt just so first, and attempts count for one name', async () => {
  await using service = await startService([...world, account(11, 'Eve'), account(12, 'eve')], {
    LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8',
  })
  for (const username of ['ann', 'Eve', 'eve']) await allowSignIn(service, username)
  const nameOf = async (entered: string) => {
    const person = visitor(service.url)
    assert.equal((await person.signIn(entered)).to, '/', entered)
    return /name="username" autocomplete="username" value="([^"]*)"/.exec(
      (await person.get('/settings/password')).text,
    )?.[1]
  }
  assert.deepEqual(await Promise.all(['Ann', 'ann ', ' ANN', 'Eve', 'eve'].map(nameOf)), [
    'ann',
    'ann',
    'ann',
    'Eve',
    'eve',
  ])
  assert.equal((await visitor(service.url).signIn('EVE')).status, 403, 'nobody knows which of the two')
  const names = ['ann', 'Ann', 'aNN ', ' ann']
  const attempt = (username: string, password: string, index: number) =>
    visitor(service.url).post('/signin', { username, password }, { 'X-Forwarded-For': `127.0.1.${index}` })
  for (let index = 0; index < 10; index += 1) {
    assert.equal((await attempt(names[index % names.length] ?? '', 'wrong password', index)).status, 403)
  }
  assert.equal((await attempt('ANN', PASSWORD, 10)).status, 429)
  await service.service.close()
  const failed = await service.store.db
    .selectFrom('account_event')
    .select(({ fn }) => fn.sum('times').as('times'))
    .where('kind', '=', 'sign-in-failed')
    .where('account_id', '=', 1)
    .executeTakeFirst()
  assert.equal(Number(failed?.times), 10)
})

test('the rules for a new password stand on each form that asks for one', async () => {
  await using service = await withAnn()
  const ann = await visitorAs(service.url, 'ann')
  const invited = `/invitation/${await createInvitation(service.store, { accountId: 2 }, Date.now())}`
  for (const { text } of [await ann.get('/settings/password'), await visitor(service.url).get(invited)]) {
    const [, id = ''] = /<input name="next" [^>]*aria-describedby="([^" ]+)/.exec(text) ?? []
    const [, rules = ''] = new RegExp(`id="${id}">([^<]*)<`).exec(text) ?? assert.fail(text)
    assert.ok(rules.includes(GUESSABLE), rules)
  }
})

test('a name or a passkey with a NUL, which no database stores, is wrong like any other', async () => {
  await using service = await startService(world, { LOCKSTEP_PUBLIC_URL: 'https://history.example' })
  const nobody = visitor(service.url)
  const seen = await nobody.signIn('ann\0')
  assert.equal(seen.status, 403)
  assert.match(seen.text, /The username or the password is wrong\./)
  await nobody.post('/passkeys/options', { purpose: 'signin' })
  const answer = JSON.stringify({ id: 'a\0', rawId: 'a\0', response: {}, type: 'public-key' })
  const refused = await nobody.post('/signin/passkey', { answer })
  assert.equal(refused.status, 403)
  assert.match(refused.text, /The passkey was not accepted/)
})

test('checking an unknown name, or one without a password, takes the same work as checking a wrong password', async t => {
  await using service = await withAnn()
  const names = ['ann', 'nobody', 'ben']
  // The first check also makes a hash to compare with.
  await visitor(service.url).signIn('ann', 'not the password')
  const hashes = t.mock.method(crypto, 'argon2')
  syncBuiltinESMExports()
  try {
    for (const name of names) await visitor(service.url).signIn(name, 'not the password')
    assert.equal(hashes.mock.callCount(), names.length)
  } finally {
    hashes.mock.restore()
    syncBuiltinESMExports()
  }
})

test('however many people sign in at once, at most two passwords are checked at a time', async t => {
  await using service = await withAnn()
  // The first check also makes a hash to compare with.
  await visitor(service.url).signIn('ann', 'not the password')
  const { argon2 } = crypto
  let running = 0
  let most = 0
  const hashes = t.mock.method(crypto, 'argon2', (...[name, parameters, done]: Parameters<typeof argon2>) => {
    running += 1
    most = Math.max(most, running)
    argon2(name, parameters, (error, hash) => {
      running -= 1
      done(error, hash)
    })
  })
  syncBuiltinESMExports()
  try {
    const names = Array.from({ length: 8 }, (_, index) => `nobody-${index}`)
    await Promise.all(names.map(name => visitor(service.url).signIn(name, 'not the password')))
    assert.equal(hashes.mock.callCount(), names.length)
    assert.equal(most, 2)
  } finally {
    hashes.mock.restore()
    syncBuiltinESMExports()
  }
})

test('after ten wrong passwords an account is locked for everybody, and the page says for how long', async () => {
  await using service = await withAnn({ LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8' })
  const from = (address: string) => ({ 'X-Forwarded-For': address })
  const attempt = (password: string, index: number) =>
    visitor(service.url).post('/signin', { username: 'ann', password }, { ...from(`127.0.1.${index}`) })
  for (let index = 0; index < 10; index += 1) assert.equal((await attempt('wrong password', index)).status, 403)
  const refused = await attempt(PASSWORD, 10)
  assert.equal(refused.status, 429)
  // Counted from the first attempt, since which some time has passed.
  assert.match(refused.text, /Too many attempts\. Try again in 1\d minutes\./)
  const left = Number(refused.headers.get('Retry-After'))
  assert.ok(left > 540 && left <= 900, `${left}`)
  assert.equal((await attempt(PASSWORD, 0)).status, 429)
})

test('wrong passwords from elsewhere do not lock out a browser in which somebody signed in before', async () => {
  await using service = await withAnn()
  const ann = await visitorAs(service.url, 'ann')
  await ann.post('/signout')
  for (let index = 0; index < 10; index += 1) {
    assert.equal((await visitor(service.url).signIn('ann', 'wrong password')).status, 403)
  }
  assert.equal((await visitor(service.url).signIn('ann')).status, 429)
  assert.equal((await ann.signIn('ann')).to, '/')
  // Nor one in which somebody is signed in and has to confirm who they are.
  const guess = { current: 'wrong password', next: 'a'.repeat(12), again: 'a'.repeat(12) }
  assert.match((await ann.post('/settings/password', guess)).text, /The password is wrong/)
  // It has its own limit.
  for (let index = 0; index < 10; index += 1) assert.equal((await ann.signIn('ann', 'wrong password')).status, 403)
  assert.equal((await ann.signIn('ann')).status, 429)
  const forged = visitor(service.url)
  forged.cookies.set('known-browser', `${'a'.repeat(22)}.${'b'.repeat(43)}`)
  assert.equal((await forged.signIn('ann')).status, 429)
})

test('after ten wrong passwords an address is locked for all names, but not for the account that a browser knows', async () => {
  await using service = await withAnn()
  await allowSignIn(service, 'ben')
  const ann = await visitorAs(service.url, 'ann')
  await ann.post('/signout')
  for (let index = 0; index < 10; index += 1) await visitor(service.url).signIn(`name${index}`)
  assert.equal((await visitor(service.url).signIn('ann')).status, 429)
  assert.equal((await ann.signIn('ben')).status, 429)
  assert.equal((await ann.signIn('ann')).to, '/')
})

test('attempts count while they are still being checked', async () => {
  await using service = await withAnn()
  const all = await Promise.all(Array.from({ length: 15 }, () => visitor(service.url).signIn('ann', 'wrong password')))
  assert.equal(all.filter(({ status }) => status === 403).length, 10)
  assert.equal(all.filter(({ status }) => status === 429).length, 5)
})

test('signing out ends the session, removes the cookie and clears the cache of the browser', async () => {
  await using service = await withAnn()
  const ann = await visitorAs(service.url, 'ann')
  await ann.post('/display', { discreet: '1' })
  const secret = ann.cookies.get('session') ?? ''
  const seen = await ann.post('/signout')
  assert.equal(seen.to, '/signin')
  assert.equal(seen.headers.get('Clear-Site-Data'), '"cache", "storage"')
  assert.equal(ann.cookies.has('session'), false)
  assert.equal(ann.cookies.get('discreet'), '1')
  ann.cookies.set('session', secret)
  assert.equal((await ann.get('/settings')).status, 303)
})

test('a session ends after half a day without use, and after a week in any case', async t => {
  await using service = await withAnn()
  const ann = visitor(service.url)
  const age = async (column: 'seen_at' | 'created_at', hours: number) => {
    await ann.signIn('ann')
    await service.store.db
      .updateTable('browser_session')
      .set({ [column]: Date.now() - hours * 3_600_000 })
      .execute()
    return (await ann.get('/settings')).status
  }
  for (const [column, hours, status] of [
    ['seen_at', 11.9, 200],
    ['seen_at', 12, 303],
    ['created_at', 7 * 24 - 0.1, 200],
    ['created_at', 7 * 24, 303],
  ] as const) {
    await t.test(`${column} ${hours} hours ago`, async () => assert.equal(await age(column, hours), status))
  }
})

test('over plain HTTP from beyond this machine nobody signs in, and the page explains', async () => {
  await using service = await withAnn({ LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8' })
  const far = { 'X-Forwarded-For': '192.0.2.7' }
  const seen = await visitor(service.url).post('/signin', { username: 'ann', password: PASSWORD }, far)
  assert.equal(seen.status, 403)
  assert.match(seen.text, /not encrypted/)
  assert.match((await visitor(service.url).get('/signin', far)).text, /LOCKSTEP_PUBLIC_URL/)
  assert.deepEqual(seen.headers.getSetCookie(), [])

  await using allowed = await withAnn({ LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8', LOCKSTEP_INSECURE_HTTP: '1' })
  assert.equal((await visitor(allowed.url).post('/signin', { username: 'ann', password: PASSWORD }, far)).status, 303)
})

test('where the public address is on this machine, as of a container with a port on loopback, people sign in there', async () => {
  const published = { LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8', LOCKSTEP_PUBLIC_URL: 'http://localhost:5625' }
  await using service = await withAnn(published)
  // The peer is the gateway of the container.
  const far = { 'X-Forwarded-For': '172.17.0.1' }
  const credentials = { username: 'ann', password: PASSWORD }
  assert.equal((await visitor(service.url).get('/signin', far)).status, 200)
  assert.equal((await visitor(service.url).post('/signin', credentials, far)).status, 303)
  // Under a name of another machine the port was published to others, and nothing may be typed.
  const elsewhere = await exchange(
    service.service.port,
    lines(
      'GET /signin HTTP/1.1',
      'Host: 192.0.2.7:5625',
      'Accept: text/html',
      'X-Forwarded-For: 172.17.0.1',
      'Connection: close',
    ),
  )
  assert.equal(elsewhere.status, 403)
  assert.match(elsewhere.body, /not encrypted/)
})

test('a form from another site is refused before anything else', async () => {
  await using service = await withAnn()
  const ann = await visitorAs(service.url, 'ann')
  const before = await service.store.db.selectFrom('token').selectAll().execute()
  const cases: Record<string, string>[] = [
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
    { 'Sec-Fetch-Site': 'none' },
    { 'Sec-Fetch-Site': '' },
    { 'Sec-Fetch-Site': 'cross-site', Origin: service.url },
  ]
  for (const path of [
    '/signin',
    '/signin/passkey',
    '/passkeys/options',
    '/signout',
    '/keys',
    '/settings',
    '/settings/password',
    '/settings/passkeys/new',
    '/settings/sessions',
    `/invitation/${'A'.repeat(43)}`,
    '/display',
    '/subject',
  ]) {
    for (const headers of cases) {
      const seen = await ann.post(path, { name: 'x', scope: 'dtt:read' }, headers)
      assert.equal(seen.status, 403, path)
      assert.match(seen.text, /was not sent from a page of this service/, path)
    }
    const bare = await fetch(service.url + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: `session=${ann.cookies.get('session')}` },
      body: new URLSearchParams(),
    })
    assert.equal(bare.status, 403, `${path} without a word on where it comes from`)
    assert.equal(((await bare.json()) as { code: string }).code, 'cross_site_request')
  }
  assert.deepEqual(await service.store.db.selectFrom('token').selectAll().execute(), before)
  assert.equal((await ann.get('/settings')).status, 200)
})

test('a matching Origin is enough if browsers send nothing else', async () => {
  await using service = await withAnn()
  const post = (origin: string) =>
    fetch(`${service.url}/signin`, {
      method: 'POST',
      redirect: 'manual',
      headers: { Origin: origin },
      body: new URLSearchParams({ username: 'ann', password: PASSWORD }),
    })
  assert.equal((await post(service.url)).status, 303)
  for (const origin of ['null', 'http://127.0.0.1', 'https://evil.example', `${service.url}.evil.example`]) {
    assert.equal((await post(origin)).status, 403, origin)
  }
})

test('a form that is too large or of another type is refused with a message that says so', async () => {
  await using service = await withAnn()
  const post = async (body: string, type: string) => {
    const response = await fetch(`${service.url}/signin`, {
      method: 'POST',
      headers: { 'Content-Type': type, 'Sec-Fetch-Site': 'same-origin' },
      body,
    })
    return `${response.status} ${((await response.json()) as { code: string }).code}`
  }
  const form = 'application/x-www-form-urlencoded'
  assert.equal(await post(`username=${'a'.repeat(70_000)}`, form), '413 body_too_large')
  assert.equal(await post('{"username":"ann"}', 'application/json'), '415 unsupported_media_type')
  assert.equal(await post('username=ann', 'text/plain'), '415 unsupported_media_type')
})

test('API keys do not work for the dashboard, nor cookies for the API', async () => {
  await using service = await withAnn()
  const token = await service.token('ann')
  const withToken = await visitor(service.url).get('/settings', { Authorization: `Bearer ${token}` })
  assert.equal(withToken.status, 303)
  const ann = await visitorAs(service.url, 'ann')
  const withCookie = await ann.get('/api/v1/me', { Accept: 'application/json' })
  assert.equal(withCookie.status, 401)
})

test('with the dashboard off its paths do not exist', async () => {
  await using service = await withAnn({ LOCKSTEP_DASHBOARD: 'off' })
  for (const path of ['/', '/signin', '/keys', '/settings']) {
    assert.equal((await service.fetch(path)).body.code, 'no_route')
  }
})

test('the log contains no passwords, cookies or names', async () => {
  await using service = await withAnn()
  const ann = visitor(service.url)
  await ann.signIn('ann', 'a secret mistake')
  await ann.signIn('ann')
  const created = await ann.post('/keys', { name: 'Kitchen', scope: 'dtt:read', expires: '30d' })
  const key = /lks_[0-9A-Za-z]{36}/.exec(created.text)?.[0] ?? '?'
  const secret = ann.cookies.get('session') ?? '?'
  await service.service.close()
  const log = service.log.join('')
  for (const word of ['a secret mistake', PASSWORD, secret, key, 'Kitchen', '"ann"']) {
    assert.ok(!log.includes(word), word)
  }
})
