// engine: both
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { allowSignIn, PASSWORD, type Visitor, visitor, ageSignIns } from '../support/dashboard.ts'
import { type Issuer, issuerVisitor, startIssuer, addressAt } from '../support/issuer.ts'
import { freePort } from '../support/postgres.ts'
import { world } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'
import { startHttpServer } from '../support/http-server.ts'

let issuer: Issuer
before(async () => {
  issuer = await startIssuer()
})
after(() => issuer.stop())

async function oidcService(settings: Record<string, string> = {}) {
  const service = await startService(world, { ...issuer.settings, ...settings })
  await allowSignIn(service, 'ann')
  return service
}

/** Goes to the issuer from a page, signs in there, and comes back. */
async function goThere(person: Visitor, path: string, login: string, at = issuerVisitor(issuer.url)) {
  return back(person, await at.follow(await addressAt(person, path), login))
}

function back(person: Visitor, address: string) {
  const { pathname, search } = new URL(address)
  return person.get(pathname + search)
}

async function signedIn({ url }: TestService, username = 'ann') {
  const person = visitor(url)
  assert.equal((await person.signIn(username)).status, 303)
  return person
}

async function link(person: Visitor, login: string) {
  const seen = await goThere(person, '/settings/oidc', login)
  assert.equal(seen.to, '/settings?saved=oidc', seen.text)
}

const links = ({ store }: TestService) => store.db.selectFrom('linked_identity').selectAll().execute()

test('an account is linked from Settings, and the issuer signs in to it from then on', async () => {
  await using service = await oidcService()
  const ann = await signedIn(service)
  assert.match((await ann.get('/settings')).text, /Sign-in with Example ID/)
  await link(ann, 'somebody')
  assert.match((await ann.get('/settings')).text, /Remove link/)

  const other = visitor(service.url)
  const form = await other.get('/signin?next=/keys')
  assert.match(form.text, /href="\/signin\/oidc\?next=%2Fkeys">Continue with Example ID/)
  const seen = await goThere(other, '/signin/oidc?next=%2Fkeys', 'somebody')
  assert.equal(seen.to, '/keys')
  const settings = (await other.get('/settings')).text
  assert.match(settings, /<title>Lockstep – Settings/)
  assert.match((await other.get('/settings/events')).text, />Signed in with the linked sign-in</)
  await service.service.close()
  const log = service.log.join('')
  for (const word of ['somebody', 'code=', 'state=', 'the secret of the client']) assert.ok(!log.includes(word), word)
})

test('below a path of a host, the issuer leads back to that path', async () => {
  await using service = await oidcService({ LOCKSTEP_PUBLIC_URL: 'http://localhost/lockstep' })
  const ann = await signedIn(service)
  const linked = await goThere(ann, '/lockstep/settings/oidc', 'somebody')
  assert.equal(linked.to, '/lockstep/settings?saved=oidc', linked.text)
  const other = visitor(service.url)
  const { to } = await other.get('/lockstep/signin/oidc?next=%2Fkeys')
  const address = await issuerVisitor(issuer.url).follow(to ?? '', 'somebody')
  assert.ok(address.startsWith('http://localhost/lockstep/signin/oidc/callback?'), address)
  assert.equal((await back(other, address)).to, '/lockstep/keys')
})

test('nobody is linked by a name, and nobody gets an account', async () => {
  await using service = await oidcService()
  const before = await service.store.db.selectFrom('account').selectAll().execute()
  for (const login of ['ann', 'nobody', '1']) {
    const person = visitor(service.url)
    const seen = await goThere(person, '/signin/oidc', login)
    assert.equal(seen.status, 403)
    assert.match(seen.text, /No account here is linked/)
    assert.equal(person.cookies.has('session'), false)
  }
  assert.deepEqual(await service.store.db.selectFrom('account').selectAll().execute(), before)
  assert.deepEqual(await links(service), [])
})

test('a subject belongs to one account, and an account to one subject', async () => {
  await using service = await oidcService()
  await allowSignIn(service, 'ben')
  const ann = await signedIn(service)
  const ben = await signedIn(service, 'ben')
  await link(ann, 'somebody')
  const taken = await goThere(ben, '/settings/oidc', 'somebody')
  assert.equal(taken.status, 403)
  assert.match(taken.text, /linked with another account here/)
  const second = await goThere(ann, '/settings/oidc', 'somebody else')
  assert.match(second.text, /remove that link first/)
  await link(ann, 'somebody')
  assert.equal((await links(service)).length, 1)
})

test('the callback works once, in the browser that was redirected, and with the parameters that the issuer sent', async () => {
  await using service = await oidcService()
  await link(await signedIn(service), 'somebody')
  const leave = async () => {
    const person = visitor(service.url)
    const { to } = await person.get('/signin/oidc')
    return { person, address: new URL(await issuerVisitor(issuer.url).follow(to ?? '', 'somebody')) }
  }
  const changed: [what: string, change: (query: URLSearchParams) => void][] = [
    ['another iss', query => query.set('iss', 'http://127.0.0.1:1')],
    ['no iss', query => query.delete('iss')],
    ['another state', query => query.set('state', 'AAAA')],
    ['no state', query => query.delete('state')],
    ['another code', query => query.set('code', 'AAAA')],
    ['no code', query => query.delete('code')],
    ['two states', query => query.append('state', 'AAAA')],
  ]
  for (const [what, change] of changed) {
    const { person, address } = await leave()
    change(address.searchParams)
    const seen = await back(person, address.href)
    assert.equal(seen.status, 403, what)
    assert.equal(person.cookies.has('session'), false, what)
  }
  const { person, address } = await leave()
  const elsewhere = await back(visitor(service.url), address.href)
  assert.equal(elsewhere.status, 400)
  assert.match(elsewhere.text, /started in another browser/)
  const cookie = person.cookies.get('oidc') ?? ''
  assert.equal((await back(person, address.href)).status, 303)
  assert.equal(person.cookies.has('oidc'), false)
  const replay = visitor(service.url)
  replay.cookies.set('oidc', cookie)
  assert.equal((await back(replay, address.href)).status, 403, 'the same address once more')
})

test('a redirect to the issuer that was tampered with is refused in the callback', async () => {
  await using service = await oidcService()
  await link(await signedIn(service), 'somebody')
  for (const what of ['nonce', 'code_challenge', 'state']) {
    const misled = visitor(service.url)
    const out = new URL((await misled.get('/signin/oidc')).to ?? '')
    out.searchParams.set(what, 'A'.repeat(43))
    const seen = await back(misled, await issuerVisitor(issuer.url).follow(out.href, 'somebody'))
    assert.equal(seen.status, 403, `another ${what}`)
    assert.equal(misled.cookies.has('session'), false, what)
  }
})

test('a sign-in that takes more than ten minutes has to start again', async t => {
  await using service = await oidcService()
  await link(await signedIn(service), 'somebody')
  const person = visitor(service.url)
  const { to } = await person.get('/signin/oidc')
  const address = await issuerVisitor(issuer.url).follow(to ?? '', 'somebody')
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 11 * 60_000 })
  const seen = await back(person, address)
  t.mock.timers.reset()
  assert.equal(seen.status, 400)
  assert.match(seen.text, /took too long/)
})

test('a sign-in that is declined at the issuer is no failed attempt, and guessed passwords do not block a sign-in there', async () => {
  await using service = await oidcService()
  await link(await signedIn(service), 'somebody')
  for (let index = 0; index < 10; index += 1) await visitor(service.url).signIn('ann', 'wrong password')
  assert.equal((await visitor(service.url).signIn('ann')).status, 429)
  const known = issuerVisitor(issuer.url)
  const comeBackWith = async (change: (query: URLSearchParams) => void) => {
    const person = visitor(service.url)
    const { to } = await person.get('/signin/oidc')
    const address = new URL(await known.follow(to ?? '', 'somebody'))
    change(address.searchParams)
    return back(person, address.href)
  }
  for (let index = 0; index < 11; index += 1) {
    const declined = await comeBackWith(query => {
      query.delete('code')
      query.set('error', 'access_denied')
    })
    assert.equal(declined.status, 403)
    assert.match(declined.text, /was not completed there/)
  }
  assert.equal((await comeBackWith(() => {})).status, 303)
  for (let index = 0; index < 10; index += 1) {
    assert.equal((await comeBackWith(query => query.set('code', 'AAAA'))).status, 403)
  }
  assert.equal((await comeBackWith(() => {})).status, 429)
})

test('an invited person chooses the issuer, and makes a first API key without ever having a password', async () => {
  await using service = await oidcService()
  await link(await signedIn(service), 'taken')
  const secret = await createInvitation(service.store, { accountId: 2 }, Date.now())
  const path = `/invitation/${secret}`
  const ben = visitor(service.url)
  // Somebody else is signed in, in the same browser.
  await ben.signIn('ann')
  const before = visitor(service.url)
  before.cookies.set('session', ben.cookies.get('session') ?? '')
  assert.match((await ben.get(path)).text, /Or Example ID/)
  const taken = await goThere(ben, `${path}/oidc`, 'taken')
  assert.match(taken.text, /linked with another account here/)
  assert.equal((await ben.get(path)).status, 200, 'it is not used up')
  assert.equal((await before.get('/settings')).status, 200)
  assert.equal((await goThere(ben, `${path}/oidc`, 'ben')).to, '/')
  assert.equal((await before.get('/settings')).status, 303)
  assert.equal((await ben.get(path)).status, 404)
  assert.equal((await ben.post(`${path}/oidc`)).to, path)
  assert.match(
    (await ben.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })).text,
    /lks_[0-9A-Za-z]{36}/,
  )
  assert.match((await ben.get('/settings/events')).text, /Invitation used, sign-in linked/)
  const refused = await ben.post('/settings/oidc/remove')
  assert.equal(refused.status, 422)
  assert.match(refused.text, /the only sign-in method/)
})

test('what needs a fresh sign-in is confirmed at the issuer, which must ask again', async () => {
  await using service = await oidcService()
  const ann = await signedIn(service)
  await link(ann, 'somebody')
  assert.equal((await ann.post('/settings/password/remove')).to, '/settings?saved=password')
  await ageSignIns(service, 11)
  const fields = { name: 'Kitchen "1"', scope: 'dtt:read', expires: '30d' }
  const asked = await ann.post('/keys', fields)
  assert.equal(asked.to, '/signin?again=1&next=%2Fkeys')
  const page = (await ann.get(asked.to ?? '')).text
  assert.doesNotMatch(page, /type="password"/)
  assert.match(page, /href="\/signin\/oidc\?again=1&amp;next=%2Fkeys"[^>]*>Continue with Example ID/)

  const other = await goThere(ann, '/signin/oidc?again=1', 'somebody else')
  assert.match(other.text, /not linked with this account/)
  const known = issuerVisitor(issuer.url)
  const before = ann.cookies.get('session')
  const out = await ann.get('/signin/oidc?again=1&next=%2Fkeys')
  assert.equal(new URL(out.to ?? '').searchParams.get('max_age'), '0')
  const confirmed = await back(ann, await known.follow(out.to ?? '', 'somebody'))
  assert.equal(confirmed.to, '/keys')
  assert.notEqual(ann.cookies.get('session'), before)
  assert.match((await ann.post('/keys', fields)).text, /Your new key/)

  // An issuer at which somebody is signed in does not ask again, unless it has to.
  await ageSignIns(service, 11)
  const lazy = await ann.get('/signin/oidc?again=1')
  const address = new URL(lazy.to ?? '')
  address.searchParams.delete('max_age')
  await service.store.db.updateTable('browser_session').set({ confirmed_at: 0 }).execute()
  const slept = await known.follow(address.href, 'somebody')
  const seen = await back(ann, slept)
  assert.equal(seen.status, 403, 'without the time of the sign-in there it proves nothing')
  assert.equal((await ann.post('/keys', fields)).status, 303)
})

test('a sign-in for which the issuer asked long ago does not count as fresh', async t => {
  await using service = await oidcService()
  const known = issuerVisitor(issuer.url)
  const ann = await signedIn(service)
  assert.equal((await goThere(ann, '/settings/oidc', 'somebody', known)).status, 303)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 11 * 60_000 })
  const other = visitor(service.url)
  const seen = await goThere(other, '/signin/oidc', 'somebody', known)
  const fields = { name: 'Kitchen', scope: 'dtt:read', expires: '30d' }
  const asked = await other.post('/keys', fields)
  // An issuer that does not ask again although it has to, and says so.
  const out = new URL((await other.get('/signin/oidc?again=1')).to ?? '')
  out.searchParams.set('max_age', '86400')
  const stale = await back(other, await known.follow(out.href, 'somebody'))
  const again = await other.post('/keys', fields)
  t.mock.timers.reset()
  assert.equal(seen.to, '/')
  assert.equal(asked.status, 303)
  assert.equal(stale.status, 403)
  assert.match(stale.text, /was not accepted: /)
  assert.equal(again.status, 303)
})

test('a removed link does not sign in, and its removal signs out every other browser', async () => {
  await using service = await oidcService()
  const ann = await signedIn(service)
  await link(ann, 'somebody')
  const other = visitor(service.url)
  assert.equal((await goThere(other, '/signin/oidc', 'somebody')).status, 303)
  assert.equal((await ann.post('/settings/oidc/remove')).to, '/settings?saved=oidc')
  assert.equal((await other.get('/settings')).status, 303)
  assert.equal((await goThere(visitor(service.url), '/signin/oidc', 'somebody')).status, 403)
  assert.deepEqual(await links(service), [])
})

test('linking needs a fresh sign-in, and begins only with a form of this service', async () => {
  await using service = await oidcService()
  const ann = await signedIn(service)
  assert.equal((await ann.post('/settings/oidc', {}, { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  assert.match(await addressAt(ann, '/settings/oidc'), /^http/)
  await ageSignIns(service, 11)
  assert.equal((await ann.post('/settings/oidc')).to, '/settings/oidc')
  assert.equal((await ann.get('/settings/oidc')).to, '/signin?again=1&next=%2Fsettings%2Foidc')
  assert.equal((await visitor(service.url).post('/settings/oidc')).to, '/settings/oidc')
})

test('another site accepts no invitation, and does not sign in somebody else over an existing session', async () => {
  await using service = await oidcService()
  await link(await signedIn(service), 'somebody')
  const path = `/invitation/${await createInvitation(service.store, { accountId: 2 }, Date.now())}`
  const ann = await signedIn(service)
  assert.equal((await ann.post(`${path}/oidc`, {}, { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  assert.equal((await ann.get(`${path}/oidc`)).status, 404)
  assert.equal((await ann.get('/signin/oidc?next=/keys')).to, '/keys')
  assert.equal((await links(service)).length, 1)
})

test('a link on another site starts no sign-in at the issuer, where somebody may be signed in already', async () => {
  await using service = await oidcService()
  await link(await signedIn(service), 'somebody')
  const person = visitor(service.url)
  for (const site of ['cross-site', 'same-site']) {
    const seen = await person.get('/signin/oidc?next=%2Fkeys', { 'Sec-Fetch-Site': site })
    assert.equal(seen.to, '/signin?next=%2Fkeys', site)
    assert.deepEqual(seen.headers.getSetCookie(), [])
  }
  for (const site of ['same-origin', 'none']) {
    const { to } = await person.get('/signin/oidc?next=%2Fkeys', { 'Sec-Fetch-Site': site })
    assert.ok(to?.startsWith(issuer.url), site)
  }
})

for (const [what, answer, why] of [
  ['is away', undefined, 'it cannot be reached (ECONNREFUSED)'],
  ['answers HTML', '<!doctype html><title>Maintenance</title>', 'its response was refused: '],
  [
    'answers for another issuer',
    JSON.stringify({ issuer: 'https://id.example', authorization_endpoint: 'https://id.example/auth' }),
    'it calls itself &quot;https://id.example&quot;, and LOCKSTEP_OIDC_ISSUER is &quot;http://127.0.0.1',
  ],
] as const) {
  test(`if the issuer ${what}, people can still sign in with another method`, async t => {
    const server = createServer((_, response) =>
      response.setHeader('Content-Type', answer?.startsWith('{') ? 'application/json' : 'text/html').end(answer),
    )
    t.after(() => server.close())
    const port = await freePort()
    if (answer !== undefined) await once(server.listen(port, '127.0.0.1'), 'listening')
    await using service = await oidcService({ LOCKSTEP_OIDC_ISSUER: `http://127.0.0.1:${port}` })
    for (let tries = 0; tries < 12; tries += 1) {
      const seen = await visitor(service.url).get('/signin/oidc?next=/keys')
      assert.equal(seen.status, 503)
      assert.ok(seen.text.includes(`Example ID cannot be used now: ${why}`), seen.text)
      assert.match(seen.text, /name="password"/)
    }
    const ann = await signedIn(service)
    assert.equal((await ann.post('/settings/oidc')).status, 503)
    const path = `/invitation/${await createInvitation(service.store, { accountId: 2 }, Date.now())}`
    const ben = visitor(service.url)
    assert.equal((await ben.post(`${path}/oidc`)).status, 503)
    assert.equal((await ben.post(path, { next: PASSWORD, again: PASSWORD })).to, '/')
  })
}

test('if the issuer fails while somebody is there, the callback says so, and that is no failed attempt', async () => {
  const html = '<!doctype html><title>Maintenance</title>'
  const troubles: ((response: ServerResponse) => unknown)[] = [
    response => response.setHeader('Content-Type', 'text/html').end(html),
    response => response.writeHead(502, { 'Content-Type': 'text/html' }).end(html),
    response => response.setHeader('Content-Type', 'application/json').end('{'),
    response => response.destroy(),
  ]
  let trouble = troubles[0]
  await using server = await startHttpServer((request, response) => {
    if (request.url !== '/.well-known/openid-configuration') return trouble?.(response)
    const own = `http://${request.headers.host}`
    const metadata = { issuer: own, authorization_endpoint: `${own}/auth`, token_endpoint: `${own}/token` }
    return response.setHeader('Content-Type', 'application/json').end(JSON.stringify(metadata))
  })
  await using service = await oidcService({ LOCKSTEP_OIDC_ISSUER: server.url })
  for (let tries = 0; tries < 12; tries += 1) {
    trouble = troubles[tries % troubles.length]
    const person = visitor(service.url)
    const state = new URL((await person.get('/signin/oidc')).to ?? '').searchParams.get('state') ?? ''
    const seen = await person.get(`/signin/oidc/callback?${new URLSearchParams({ code: 'x', state })}`)
    assert.equal(seen.status, 503, String(trouble))
    assert.match(seen.text, /Example ID cannot be used now: its? /)
    assert.match(seen.text, /name="password"/)
  }
})

for (const path of ['/realms/home', '/realms/home/']) {
  test(`an issuer that calls itself ${path} is taken by this name, whether or not the setting ends with a slash, and so are its links`, async () => {
    await using own = await startIssuer({ path })
    const url = own.url.replace(/\/$/, '')
    const start = (setting: string, other?: TestService) =>
      startService(other ? [] : world, { ...own.settings, LOCKSTEP_OIDC_ISSUER: setting }, other)
    await using service = await start(url)
    await allowSignIn(service, 'ann')
    const ann = await signedIn(service)
    const linked = await goThere(ann, '/settings/oidc', 'somebody', issuerVisitor(own.url))
    assert.equal(linked.to, '/settings?saved=oidc', linked.text)
    // As an earlier version kept it.
    await service.store.db
      .updateTable('linked_identity')
      .set({ issuer: `${url}/` })
      .execute()
    await using second = await start(`${url}/`, service)
    for (const { url: at } of [service, second]) {
      assert.equal((await goThere(visitor(at), '/signin/oidc', 'somebody', issuerVisitor(own.url))).to, '/')
    }
    await allowSignIn(service, 'ben')
    const ben = await signedIn(service, 'ben')
    const taken = await goThere(ben, '/settings/oidc', 'somebody', issuerVisitor(own.url))
    assert.match(taken.text, /linked with another account here/)
  })
}

/** What the page and the log say about a sign-in at this issuer; the path of the page if it succeeds. */
async function outcomeAt(own: Issuer, settings: Record<string, string> = {}, path = '/signin/oidc') {
  await using service = await startService(world, { ...own.settings, ...settings })
  await service.store.db
    .insertInto('linked_identity')
    .values({ account_id: 1, issuer: own.url, subject: 'somebody', linked_at: 0, last_used_at: null })
    .execute()
  await allowSignIn(service, 'ann')
  const person = path === '/signin/oidc' ? visitor(service.url) : await signedIn(service)
  const { to, text } = await goThere(person, path, 'somebody', issuerVisitor(own.url))
  await service.service.close()
  const log = service.log.join('')
  for (const word of ['somebody', 'code=', 'state=', 'the secret of']) assert.ok(!log.includes(word), word)
  return { to, page: text, log }
}

test('the secret is sent as the setting says, and a secret that the issuer does not accept is told as such', async () => {
  await using own = await startIssuer({ client: { token_endpoint_auth_method: 'client_secret_post' } })
  assert.equal((await outcomeAt(own, { LOCKSTEP_OIDC_AUTH: 'post' })).to, '/')
  // The issuer offers both ways, and this client must use the other one.
  const basic = await outcomeAt(own)
  const { LOCKSTEP_OIDC_CLIENT_SECRET_FILE: file = '' } = own.settings
  writeFileSync(file, 'the secret of another client')
  const wrong = await outcomeAt(own, { LOCKSTEP_OIDC_AUTH: 'post' })
  for (const { page, log } of [basic, wrong]) {
    for (const text of [page, log]) assert.match(text, /it accepts neither the client id .* \(LOCKSTEP_OIDC_AUTH\)/)
  }
})

test('an error that the issuer sends back is told, and nothing of the request is repeated', async () => {
  await using service = await oidcService()
  const person = visitor(service.url)
  const out = new URL((await person.get('/signin/oidc')).to ?? '')
  const state = out.searchParams.get('state') ?? ''
  const query = { error: 'something_else', error_description: 'in detail', state, iss: issuer.url }
  const other = (await person.get(`/signin/oidc/callback?${new URLSearchParams(query)}`)).text
  assert.match(other, /it sent an error or no ID token/)
  await service.service.close()
  assert.doesNotMatch(other + service.log.join(''), /something_else|in detail/)
})

test('without an issuer in the settings no page offers one, and its paths do not exist', async () => {
  await using service = await startService(world)
  await allowSignIn(service, 'ann')
  assert.doesNotMatch((await visitor(service.url).get('/signin')).text, /oidc/)
  const ann = await signedIn(service)
  assert.doesNotMatch((await ann.get('/settings')).text, /oidc/)
  for (const path of ['/signin/oidc', '/signin/oidc/callback?code=x&state=y', '/settings/oidc']) {
    assert.equal((await ann.get(path)).status, 404, path)
  }
})
