// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { authenticator, type Authenticator, type Changes } from '../support/authenticator.ts'
import { allowSignIn, PASSWORD, type Visitor, visitor, ageSignIns } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'

/** A service at a host name, because passkeys do not work at an address. */
async function passkeyService() {
  const service = await startService(world)
  await allowSignIn(service, 'ann')
  const origin = service.url.replace('127.0.0.1', 'localhost')
  return {
    ...service,
    origin,
    /** Somebody who signed in with a password. */
    async signedIn(username: string) {
      const person = visitor(origin)
      assert.equal((await person.signIn(username)).status, 303)
      return person
    },
    /** Makes every sign-in this old. */
    age: (minutes: number) => ageSignIns(service, minutes),
    passkeys: () => service.store.db.selectFrom('passkey').selectAll().orderBy('id').execute(),
  }
}

type PasskeyService = Awaited<ReturnType<typeof passkeyService>>

async function optionsOf(person: Visitor, purpose: string, invitation = '', name = 'Phone'): Promise<any> {
  const seen = await person.post('/passkeys/options', { purpose, invitation, name })
  assert.equal(seen.status, 200, seen.text)
  return JSON.parse(seen.text)
}

async function register(person: Visitor, { origin }: PasskeyService, name = 'Phone'): Promise<Authenticator> {
  const device = authenticator(origin)
  const answer = device.create(await optionsOf(person, 'register', '', name))
  assert.equal((await person.post('/settings/passkeys/new', { answer })).to, '/settings?saved=passkeys')
  return device
}

/** Signs in with a passkey in another browser. */
async function signInWith(device: Authenticator, { origin }: PasskeyService, changes: Changes = {}) {
  const person = visitor(origin)
  const answer = device.get(await optionsOf(person, 'signin'), changes)
  return { person, answer, seen: await person.post('/signin/passkey', { answer, next: '/keys' }) }
}

test('somebody adds a passkey in Settings and signs in with it, without a username', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const device = await register(ann, service, 'Phone of mine')
  const settings = (await ann.get('/settings')).text
  assert.match(settings, /<strong>Phone of mine<\/strong>/)
  assert.match(settings, />never<\/td>/)

  const { person, seen } = await signInWith(device, service)
  assert.equal(seen.to, '/keys')
  const own = (await person.get('/settings')).text
  assert.match((await person.get('/settings/events')).text, />Signed in with a passkey</)
  assert.match(own, /just now/)
  await service.service.close()
  const log = service.log.join('')
  for (const word of ['Phone', 'ann"', 'challenge', (await service.passkeys())[0]?.credential_id ?? '?']) {
    assert.ok(!log.includes(word), word)
  }
})

test('the options ask for a discoverable passkey, verify the user, and want no attestation', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const options = await optionsOf(ann, 'register')
  assert.equal(options.rp.id, 'localhost')
  assert.equal(options.attestation, 'none')
  assert.equal(options.authenticatorSelection.residentKey, 'required')
  assert.equal(options.authenticatorSelection.userVerification, 'required')
  assert.deepEqual(options.excludeCredentials, [])
  await register(ann, service)
  const again = await optionsOf(ann, 'register')
  assert.equal(again.excludeCredentials.length, 1, 'a device makes one passkey for an account')
  const request = await optionsOf(visitor(service.origin), 'signin')
  assert.equal(request.userVerification, 'required')
  assert.equal(request.allowCredentials, undefined, 'a page that names passkeys would tell who has some')
})

test('an answer is accepted once, in the browser that was asked, and not when it is old', async t => {
  await using service = await passkeyService()
  const device = await register(await service.signedIn('ann'), service)
  const { person, answer, seen } = await signInWith(device, service)
  assert.equal(seen.status, 303)
  const challenge = person.cookies.get('passkey-signin') ?? ''
  const other = visitor(service.origin)
  assert.equal((await other.post('/signin/passkey', { answer })).status, 403, 'without the cookie')
  other.cookies.set('passkey-signin', challenge)
  assert.equal((await other.post('/signin/passkey', { answer })).status, 403, 'the same answer once more')
  const fresh = device.get({ challenge: challengeIn(answer), rpId: 'localhost' }, { counter: 7 })
  assert.equal(
    (await other.post('/signin/passkey', { answer: fresh })).status,
    403,
    'another answer to the same challenge',
  )

  const late = visitor(service.origin)
  const sealed = await optionsOf(late, 'signin')
  const cookie = late.cookies.get('passkey-signin') ?? ''
  late.cookies.set('passkey-signin', (cookie.startsWith('A') ? 'B' : 'A') + cookie.slice(1))
  assert.equal((await late.post('/signin/passkey', { answer: device.get(sealed) })).status, 403, 'a changed cookie')

  const ann = await service.signedIn('ann')
  const answer1 = device.get(await optionsOf(late, 'signin'))
  const answer2 = authenticator(service.origin).create(await optionsOf(ann, 'register'))
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 5 * 60_000 + 1000 })
  const used = await late.post('/signin/passkey', { answer: answer1 })
  const made = await ann.post('/settings/passkeys/new', { answer: answer2 })
  t.mock.timers.reset()
  assert.deepEqual([used.status, made.status], [403, 422], 'after five minutes')
  assert.equal((await service.passkeys()).length, 1)
})

test('an answer for another site, another challenge, or without verifying the user is refused', async () => {
  await using service = await passkeyService()
  const device = await register(await service.signedIn('ann'), service)
  const wrong: Changes[] = [
    { origin: 'https://evil.example' },
    { origin: service.url },
    { rpId: 'evil.example' },
    { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
    { userVerified: false },
    { counter: 0 },
    { userHandle: 'AAAA' },
    { userHandle: '' },
  ]
  for (const changes of wrong) {
    const { seen } = await signInWith(device, service, changes)
    // The counter of a device that has never been used may stay at zero.
    const fine = changes.counter === 0 && (await service.passkeys())[0]?.counter === 0
    assert.equal(seen.status, fine ? 303 : 403, JSON.stringify(changes))
    if (!fine) assert.match(seen.text, /The passkey was not accepted/)
  }
  assert.equal((await signInWith(device, service, { counter: 90 })).seen.status, 303)
  assert.equal((await signInWith(device, service, { counter: 90 })).seen.status, 403, 'the counter stood still')
  assert.equal((await signInWith(device, service, { counter: 91 })).seen.status, 303)
})

test('anything but an answer of a browser is refused', async () => {
  await using service = await passkeyService()
  for (const answer of ['', '{', 'null', '[]', '{"id":7}', '{"id":"x"}', '{"id":"__proto__","rawId":"__proto__"}']) {
    const person = visitor(service.origin)
    await optionsOf(person, 'signin')
    assert.equal((await person.post('/signin/passkey', { answer })).status, 403, answer)
  }
})

test('a passkey is not added for another site, another challenge, twice, or without verifying the user', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const device = authenticator(service.origin)
  const add = async (changes: Changes) => {
    const answer = device.create(await optionsOf(ann, 'register'), changes)
    return ann.post('/settings/passkeys/new', { answer })
  }
  for (const changes of [
    { origin: 'https://evil.example' },
    { rpId: 'evil.example' },
    { challenge: 'AAAA' },
    { userVerified: false },
  ]) {
    assert.equal((await add(changes)).status, 422, JSON.stringify(changes))
  }
  assert.deepEqual(await service.passkeys(), [])
  assert.equal((await add({})).status, 303)
  const again = await add({})
  assert.equal(again.status, 422)
  assert.match(again.text, /registered already/)
})

test('a passkey that would be refused is refused before the device makes it', async () => {
  await using service = await passkeyService()
  const secret = await createInvitation(service.store, { accountId: 2 }, Date.now())
  const ann = await service.signedIn('ann')
  for (const name of ['', '   ', 'x'.repeat(65), 'a\u0000b']) {
    for (const purpose of ['register', 'invitation']) {
      const refused = await ann.post('/passkeys/options', { purpose, invitation: secret, name })
      assert.equal(refused.status, 422, `${purpose} ${name}`)
      assert.match(refused.text, /a passkey has a name of 1 to 64 characters/)
      assert.equal(ann.cookies.has(`passkey-${purpose}`), false)
    }
  }
  await register(ann, service, '  Phone \u{1f511} ')
  const [passkey] = await service.passkeys()
  assert.equal(passkey?.name, 'Phone \u{1f511}')
  await service.age(11)
  assert.equal((await ann.post('/passkeys/options', { purpose: 'register', name: 'Phone' })).status, 404, 'not fresh')
  await service.age(0)
  for (let index = 1; index < 20; index += 1) await register(ann, service)
  const full = await ann.post('/passkeys/options', { purpose: 'register', name: 'Phone' })
  assert.equal(full.status, 422)
  assert.match(full.text, /at most 20 passkeys/)
})

test('a device knows an account by the same handle at every try, and another account by another', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const handle = async (person: Visitor, purpose: string, invitation = '') =>
    (await optionsOf(person, purpose, invitation)).user.id
  const first = await handle(ann, 'register')
  assert.equal(await handle(ann, 'register'), first)
  const nobody = visitor(service.origin)
  const invitation = () => createInvitation(service.store, { accountId: 1 }, Date.now())
  assert.equal(await handle(nobody, 'invitation', await invitation()), first)
  assert.equal(await handle(nobody, 'invitation', await invitation()), first)
  assert.notEqual(
    await handle(nobody, 'invitation', await createInvitation(service.store, { accountId: 2 }, Date.now())),
    first,
  )
  assert.equal(Buffer.from(first, 'base64url').length, 32)
})

test('a removed passkey does not sign in, and its removal signs out every other browser', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const device = await register(ann, service)
  const { person } = await signInWith(device, service)
  const [passkey] = await service.passkeys()
  assert.equal((await ann.get(`/settings/passkeys/${passkey?.id}/remove`)).status, 200)
  assert.equal((await ann.post(`/settings/passkeys/${passkey?.id}/remove`)).to, '/settings?saved=passkeys')
  assert.equal((await ann.get('/settings')).status, 200)
  assert.equal((await person.get('/settings')).status, 303)
  const { seen } = await signInWith(device, service)
  assert.equal(seen.status, 403)
  assert.match(seen.text, /The passkey was not accepted/)
})

test('a passkey of another account neither confirms nor can be removed', async () => {
  await using service = await passkeyService()
  await allowSignIn(service, 'ben')
  const ann = await service.signedIn('ann')
  const ben = await service.signedIn('ben')
  await register(ann, service)
  const foreign = await register(ben, service)
  const [, other] = await service.passkeys()
  assert.equal((await ann.get(`/settings/passkeys/${other?.id}/remove`)).status, 404)
  assert.equal((await ann.post(`/settings/passkeys/${other?.id}/remove`)).status, 404)
  await service.age(11)
  const answer = foreign.get(await optionsOf(ann, 'signin'))
  const seen = await ann.post('/signin/passkey', { again: '1', next: '/keys', answer })
  assert.equal(seen.status, 403)
  assert.match(seen.text, /The passkey was not accepted/)
})

test('what needs a fresh sign-in is confirmed with a passkey', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const device = await register(ann, service)
  await service.age(11)
  const fields = { name: 'Kitchen', scope: 'dtt:read', expires: '30d' }
  const asked = await ann.post('/keys', fields)
  assert.equal(asked.to, '/signin?again=1&next=%2Fkeys')
  assert.match((await ann.get(asked.to ?? '')).text, /data-passkey="signin"/)
  const answer = device.get(await optionsOf(ann, 'signin'))
  const proof = { again: '1', next: '/keys/new', answer }
  assert.equal((await ann.post('/signin/passkey', proof)).to, '/keys/new')
  assert.match((await ann.post('/keys', fields)).text, /Your new key/)
  await service.age(11)
  assert.equal((await ann.post('/signin/passkey', proof)).status, 403, 'a second time')
})

test('an account with two passkeys can remove its password, and always keeps one sign-in method', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  assert.doesNotMatch((await ann.get('/settings')).text, /Remove password/)
  const refused = await ann.post('/settings/password/remove')
  assert.equal(refused.status, 422)
  assert.match(refused.text, /two passkeys/)
  const first = await register(ann, service, 'First')
  assert.equal((await ann.post('/settings/password/remove')).status, 422)
  await register(ann, service, 'Second')
  const elsewhere = await service.signedIn('ann')
  assert.match((await ann.get('/settings')).text, /Remove password/)
  assert.equal((await ann.post('/settings/password/remove')).to, '/settings?saved=password')
  assert.equal((await elsewhere.get('/settings')).status, 303, 'other browsers are signed out')
  assert.equal((await visitor(service.origin).signIn('ann')).status, 403)
  assert.equal((await visitor(service.origin).signIn('ann', '')).status, 403)
  assert.equal((await signInWith(first, service)).seen.status, 303)

  const [one, two] = await service.passkeys()
  assert.doesNotMatch((await ann.get('/settings')).text, /one sign-in method/)
  assert.equal((await ann.post(`/settings/passkeys/${two?.id}/remove`)).status, 303)
  assert.match((await ann.get('/settings')).text, /one sign-in method\. Set a password or add a passkey/)
  const last = await ann.post(`/settings/passkeys/${one?.id}/remove`)
  assert.equal(last.status, 422)
  assert.match(last.text, /the only sign-in method/)
  assert.equal((await service.passkeys()).length, 1)

  await service.age(11)
  const asked = await ann.get((await ann.get('/settings/password')).to ?? '')
  assert.doesNotMatch(asked.text, /type="password"/)
  assert.match(asked.text, /data-passkey="signin"/)
  const again = { next: PASSWORD, again: PASSWORD }
  assert.match((await ann.post('/settings/password', again)).to ?? '', /^\/signin\?again=1/, 'not fresh')
  const answer = first.get(await optionsOf(ann, 'signin'))
  assert.equal((await ann.post('/signin/passkey', { again: '1', answer })).status, 303)
  assert.equal((await ann.post('/settings/password', again)).to, '/settings?saved=password')
  assert.equal((await visitor(service.origin).signIn('ann')).status, 303)
})

test('an invited person chooses a passkey, and makes a first API key, without ever having a password', async () => {
  await using service = await passkeyService()
  const secret = await createInvitation(service.store, { accountId: 2 }, Date.now())
  const path = `/invitation/${secret}`
  const ben = visitor(service.origin)
  const page = await ben.get(path)
  assert.match(page.text, /data-passkey="invitation"/)
  const device = authenticator(service.origin)
  const refused = device.create(await optionsOf(ben, 'invitation', secret), { origin: 'https://evil.example' })
  assert.equal((await ben.post(`${path}/passkey`, { answer: refused })).status, 422)
  const other = await createInvitation(service.store, { accountId: 1 }, Date.now())
  const misled = device.create(await optionsOf(ben, 'invitation', other))
  assert.equal((await ben.post(`${path}/passkey`, { answer: misled })).status, 422)
  const answer = device.create(await optionsOf(ben, 'invitation', secret))
  assert.equal((await ben.post(`${path}/passkey`, { answer })).to, '/')
  assert.equal((await ben.post(`${path}/passkey`, { answer })).status, 404, 'once')
  assert.equal((await ben.get(path)).status, 404)
  const made = await ben.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })
  assert.match(made.text, /lks_[0-9A-Za-z]{36}/)
  const account = await service.store.db
    .selectFrom('account')
    .select('password_hash')
    .where('id', '=', 2)
    .executeTakeFirst()
  assert.equal(account?.password_hash, null)
  assert.match((await ben.get('/settings/events')).text, /Invitation used, passkey added/)
  const { seen } = await signInWith(device, service)
  assert.equal(seen.status, 303)
})

test('a person who lost the only device signs in by an invitation, and removes its passkey, which works until then', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  const path = `/invitation/${await createInvitation(service.store, { accountId: 1 }, Date.now())}`
  const lost = await register(ann, service, 'Phone')
  await service.store.db.updateTable('account').set({ password_hash: null }).where('id', '=', 1).execute()
  const owner = visitor(service.origin)
  assert.equal((await owner.post(path, { next: PASSWORD, again: PASSWORD })).to, '/')
  assert.equal((await ann.get('/settings')).status, 303)
  const { person, seen } = await signInWith(lost, service)
  assert.equal(seen.status, 303)
  const [phone] = await service.passkeys()
  assert.equal((await owner.post(`/settings/passkeys/${phone?.id}/remove`)).to, '/settings?saved=passkeys')
  assert.equal((await person.get('/settings')).status, 303)
  assert.equal((await signInWith(lost, service)).seen.status, 403)
})

test('another process of the service accepts the answer to a challenge', async () => {
  await using service = await passkeyService()
  const device = await register(await service.signedIn('ann'), service)
  await using second = await startService([], {}, service)
  const other = second.url.replace('127.0.0.1', 'localhost')
  const person = visitor(service.origin)
  const options = await optionsOf(person, 'signin')
  const moved = visitor(other)
  for (const [name, value] of person.cookies) moved.cookies.set(name, value)
  const answer = device.get(options)
  assert.equal((await moved.post('/signin/passkey', { answer })).status, 303)
  // The first process knows that the challenge was used.
  const replayed = device.get(options)
  assert.equal((await person.post('/signin/passkey', { answer: replayed })).status, 403)
})

test('wrong passkeys are limited by address, and block neither passwords nor a browser in which somebody signed in', async () => {
  await using service = await passkeyService()
  const known = await service.signedIn('ann')
  const device = await register(known, service)
  for (let index = 0; index < 10; index += 1) {
    assert.equal((await signInWith(device, service, { userVerified: false })).seen.status, 403)
  }
  const limited = await signInWith(device, service)
  assert.equal(limited.seen.status, 429)
  assert.ok(Number(limited.seen.headers.get('Retry-After')) > 0)
  assert.equal((await visitor(service.origin).signIn('ann')).status, 303)
  await known.post('/signout')
  const answer = device.get(await optionsOf(known, 'signin'))
  assert.equal((await known.post('/signin/passkey', { answer })).status, 303)
})

test('somebody who guesses passwords does not lock out the owner of a passkey', async () => {
  await using service = await passkeyService()
  const known = await service.signedIn('ann')
  const device = await register(known, service)
  for (let index = 0; index < 10; index += 1) await visitor(service.origin).signIn('ann', 'wrong password')
  assert.equal((await visitor(service.origin).signIn('ann')).status, 429)
  assert.equal((await signInWith(device, service)).seen.status, 303, 'in another browser')

  // Nor in a browser that was left open.
  await service.age(11)
  const again = { again: '1', next: '/keys' }
  for (let index = 0; index < 10; index += 1) await known.post('/signin', { ...again, password: 'wrong password' })
  assert.match((await known.post('/signin', { ...again, password: PASSWORD })).text, /Too many attempts/)
  const answer = device.get(await optionsOf(known, 'signin'))
  assert.equal((await known.post('/signin/passkey', { ...again, answer })).to, '/keys')
})

test('signing out the others, or removing a sign-in method, makes an account forget all browsers but this one', async () => {
  await using service = await passkeyService()
  const own = await service.signedIn('ann')
  const device = await register(own, service)
  /** Whether the limit of strangers, which is used up, holds for a browser that has this cookie. */
  const isKnown = async (person: Visitor) => {
    const copy = visitor(service.origin)
    copy.cookies.set('known-browser', person.cookies.get('known-browser') ?? '')
    const { status } = await copy.post('/signin/passkey', { answer: device.get(await optionsOf(copy, 'signin')) })
    return status === 303
  }
  for (let index = 0; index < 10; index += 1) await signInWith(device, service, { userVerified: false })
  const lost = await service.signedIn('ann')
  assert.deepEqual([await isKnown(own), await isKnown(lost)], [true, true])
  await own.post('/settings/sessions')
  assert.deepEqual([await isKnown(own), await isKnown(lost)], [true, false])

  await register(own, service, 'Lost phone')
  const [, phone] = await service.passkeys()
  const again = await service.signedIn('ann')
  assert.equal(await isKnown(again), true)
  assert.equal((await own.post(`/settings/passkeys/${phone?.id}/remove`)).to, '/settings?saved=passkeys')
  assert.deepEqual([await isKnown(own), await isKnown(again)], [true, false])
})

test('where browsers do not allow passkeys the sign-in page says so, settings have none, and the other sign-in methods work', async () => {
  await using service = await startService(world, {
    LOCKSTEP_TRUSTED_PROXIES: '127.0.0.0/8',
    LOCKSTEP_INSECURE_HTTP: 'on',
  })
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  assert.match((await ann.get('/signin')).text, /Passkeys need a host name/)
  assert.equal((await ann.signIn('ann')).status, 303)
  assert.doesNotMatch((await ann.get('/settings')).text, /Passkeys/)
  const far = { 'X-Forwarded-For': '192.0.2.7' }
  assert.match((await visitor(service.url).get('/signin', far)).text, /Passkeys need an encrypted connection/)
  for (const purpose of ['signin', 'register', 'invitation', 'other', '']) {
    assert.equal((await ann.post('/passkeys/options', { purpose })).status, 404, purpose)
  }
  assert.equal((await ann.post('/signin/passkey', { answer: '{}' })).status, 403)
})

test('a passkey that was made at another address says where it works, and does not count here', async () => {
  await using service = await passkeyService()
  const ann = await service.signedIn('ann')
  await register(ann, service)
  await register(ann, service)
  await service.store.db.updateTable('passkey').set({ rp_id: 'old.example' }).where('id', '=', 1).execute()
  assert.match((await ann.get('/settings')).text, /only at old\.example/)
  assert.equal((await ann.post('/settings/password/remove')).status, 422)

  await service.store.db.updateTable('passkey').set({ rp_id: 'old.example' }).execute()
  await service.store.db.updateTable('account').set({ password_hash: null }).where('id', '=', 1).execute()
  await service.age(11)
  const stuck = (await ann.get((await ann.get('/settings/password')).to ?? '')).text
  assert.match(
    stuck,
    /No sign-in method of this account works at this address\. Ask whoever runs this service for an invitation/,
  )
  assert.doesNotMatch(stuck, /data-passkey|type="password"/)
})

function challengeIn(answer: string): string {
  const { response } = JSON.parse(answer) as { response: { clientDataJSON: string } }
  const data = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString()) as { challenge: string }
  return data.challenge
}
