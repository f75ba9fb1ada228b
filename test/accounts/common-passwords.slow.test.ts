// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonPasswords } from '../../src/accounts/common-passwords.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { signInAs } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

const forms: readonly ((word: string) => string)[] = [
  word => word.padEnd(12, '1'),
  word => `${word}2026!!!!!!!!`,
  word => `!!!!!!!!${word}123`,
  word => `${word[0]?.toUpperCase()}${word.slice(1)}123456789!`,
  word => word.toUpperCase().padStart(12, '0'),
  word => `${word}${word}${word}${word}1234`,
  word =>
    `!!${word
      .replace(/^a/, '@')
      .replace(/^s/, '$')
      .replace(/o(?!$)/g, '0')}.........2`,
]

test('every common password is refused in every form, by commands and pages', async t => {
  await using service = await startService(world, unlimited)
  const ann = await signInAs(service, 'ann')
  const accepted: string[] = []
  let tried = 0
  for (const word of commonPasswords) {
    for (const form of forms) {
      const password = form(word)
      tried += 1
      const refused = await setPassword(service.store, { accountId: 1, password }, Date.now()).then(
        () => '',
        (error: unknown) => String(error),
      )
      if (!refused.includes('must not be')) accepted.push(`${password}: ${refused}`)
    }
    const next = forms[tried % forms.length]?.(word) ?? ''
    const { status } = await ann.post('/settings/password', { next, again: next, current: 'not the password' })
    if (status < 400) accepted.push(`${next}: ${status}`)
  }
  t.diagnostic(`${tried} passwords of ${commonPasswords.size} words were refused`)
  assert.deepEqual(accepted, [])
})
