import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setPassword, storePassword } from '../../src/accounts/passwords.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { account } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

// engine: sqlite

let service: TestService
before(async () => {
  service = await startService([account(1, 'Robin-7'), account(2, 'al')])
})
after(() => service[Symbol.asyncDispose]())

const REFUSED = {
  'one or two characters repeated': [
    'aaaaaaaaaaaa',
    'abababababab',
    '121212121212',
    '🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑',
    'AaAaAaAaAaAa',
  ],
  'rows of the keyboard, the alphabet or digits in their order': [
    '123456789012',
    '098765432109',
    'abcdefghijkl',
    'ZYXWVUTSRQPO',
    'qwertyuiop12',
    'poiuytrewq12',
    'qwertzuiopü+',
    'azertyuiop12',
    'asdfghjkl123',
    '1q2w3e4r5t6y',
    '1qaz2wsx3edc',
    'qwerty123456',
    'abc123abc123',
    '123'.repeat(30),
    `123${'z'.repeat(100)}`,
    '112233445566',
    '!@#$%^&*()_+',
  ],
  'the username with digits and signs': [
    'robin7robin7',
    'ROBIN-7-ROBIN-7',
    '7nibor7nibor',
    '2026-Robin-7!',
    '__Robin 7__123',
  ],
  'a common password, also with other digits and signs': [
    'password1234',
    'Password2026!',
    'passwordpassword',
    'p@ssw0rd1234',
    '@dmin.........1',
    '1234p@$$1234',
    '@dmin@dmin@dmin',
    'iloveyou1234',
    'letmein12345',
    'administrator',
    'Welcome 12345',
    'Lockstep 2026',
    'lockstepadmin',
  ],
}

const ACCEPTED = [
  PASSWORD,
  'a robin sings',
  '7264918305527',
  'x9f!kq2Lm0zR',
  'password of my bank',
  `a robin sings${'x'.repeat(150)}`,
  'alalalalal long',
  'Passwörter sind lang',
]

test('passwords that are tried first are refused, whoever sets them, with the rule', async () => {
  for (const [rule, passwords] of Object.entries(REFUSED)) {
    for (const password of passwords) {
      await assert.rejects(
        setPassword(service.store, { accountId: 1, password }, Date.now()),
        { message: `a password must not be ${rule}` },
        password,
      )
    }
  }
  for (const password of ACCEPTED) await setPassword(service.store, { accountId: 1, password }, Date.now())
  await setPassword(service.store, { accountId: 2, password: 'robin7robin7' }, Date.now())
  await assert.rejects(
    setPassword(service.store, { accountId: 2, password: 'AL1234567890' }, Date.now()),
    /rows of the keyboard/,
  )
})

test('a password from before the rules keeps working, and its owner is told once after each sign-in', async () => {
  const password = 'password1234'
  const nonce = Buffer.alloc(16, 1)
  const tag = argon2Sync('argon2id', { message: password, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 })
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const hash = `$argon2id$v=19$m=8,t=1,p=1$${text(nonce)}$${text(tag)}`
  await service.store.db.transaction().execute(db => storePassword(db, 1, hash))
  const robin = visitor(service.url)
  for (const path of ['/', '/training']) {
    const signedIn = await robin.post('/signin', { username: 'Robin-7', password, next: path })
    assert.equal(signedIn.to, path)
    assert.ok(!signedIn.headers.getSetCookie().join('').includes(password))
    const { text } = await robin.get(path)
    assert.match(
      text,
      /<div class="banner" role="status">\s*<p>Your password still works, but a new one must not be a common/,
    )
    assert.match(text, /<a href="\/settings">Choose another one in Settings/)
    assert.doesNotMatch((await robin.get(path)).text, /still works/)
  }
  assert.equal((await robin.signIn('Robin-7', 'password12345')).status, 403)
  assert.ok(!robin.cookies.has('password-notice'), 'a wrong password says nothing')
  await setPassword(service.store, { accountId: 1, password: PASSWORD }, Date.now())
  await robin.signIn('Robin-7')
  assert.doesNotMatch((await robin.get('/')).text, /still works/)
})
