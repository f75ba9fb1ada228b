import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setPassword, storePassword } from '../../src/accounts/passwords.ts'
import { GUESSABLE } from '../../src/accounts/password-rules.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { account } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

// engine: sqlite

let service: TestService
before(async () => {
  service = await startService([account(1, 'Robin-7'), account(2, 'al')])
})
after(() => service[Symbol.asyncDispose]())

const REFUSED = [
  'aaaaaaaaaaaa',
  '🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑',
  '!@#$%^&*()_+',
  'abcdefghijkl',
  '1qaz2wsx3edc',
  `123${'z'.repeat(100)}`,
  '2026-Robin-7!',
  'Password2026!',
  'p@ssw0rd1234',
  'lockstepadmin',
]

const ACCEPTED = [
  PASSWORD,
  'a robin sings',
  'password of my bank',
  `a robin sings${'x'.repeat(150)}`,
  'Passwörter sind lang',
]

test('passwords that are tried first are refused, whoever sets them', async () => {
  for (const password of REFUSED) {
    const refused = setPassword(service.store, { accountId: 1, password }, Date.now())
    await assert.rejects(refused, { message: `a password must not be ${GUESSABLE}` }, password)
  }
  for (const password of ACCEPTED) await setPassword(service.store, { accountId: 1, password }, Date.now())
  await setPassword(service.store, { accountId: 2, password: 'robin7robin7' }, Date.now())
})

test('a password from before the rules keeps working', async () => {
  const password = 'password1234'
  const nonce = Buffer.alloc(16, 1)
  const tag = argon2Sync('argon2id', { message: password, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 })
  const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const hash = `$argon2id$v=19$m=8,t=1,p=1$${text(nonce)}$${text(tag)}`
  await service.store.db.transaction().execute(db => storePassword(db, 1, hash))
  const robin = visitor(service.url)
  const signedIn = await robin.post('/signin', { username: 'Robin-7', password, next: '/training' })
  assert.equal(signedIn.to, '/training')
  assert.equal((await robin.signIn('Robin-7', 'password12345')).status, 403)
})
