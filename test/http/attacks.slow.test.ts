// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commonPasswords } from '../../src/accounts/common-passwords.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { answersTo } from '../support/raw.ts'
import { world } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { startService, unlimited } from '../support/service.ts'
import { signInAs } from '../support/dashboard.ts'

/** Attacks in numbers. What each of them meets, other tests promise. */

const forms: readonly ((word: string) => string)[] = [
  word => word.padEnd(12, '1'),
  word => `${word}2026!!!!!!!!`,
  word => `!!!!!!!!${word}123`,
  word => `${word[0]?.toUpperCase()}${word.slice(1)}123456789!`,
  word => word.toUpperCase().padStart(12, '0'),
  word => `${word}${word}${word}${word}1234`,
  word => `!!${word.replace(/^a/, '@').replace(/^s/, '$').replace(/s$/, '$').replace(/e$/, '3')}.........2`,
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
      const refused = await setPassword(service.store, 1, password).then(
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

test('no combination of lengths, encodings and hosts smuggles a request into a form', async t => {
  await using service = await startService(world, unlimited)
  const encodings = ['chunked', 'Chunked', 'chunked, chunked', 'identity', 'gzip, chunked', 'xchunked', 'chunked;q=1', '\u000bchunked', '"chunked"', ',chunked'] // prettier-ignore
  const lengths = ['0', '5', '+5', '0x5', '5, 5', '5,6', '-1', '5 5', '', '999999999999999999999']
  const hosts = ['localhost', 'a b']
  const smuggled = lines('GET /smuggled HTTP/1.1', 'Host: localhost')
  let sent = 0
  for (const version of ['1.1', '1.0']) {
    for (const encoding of encodings) {
      await Promise.all(
        lengths.flatMap(length =>
          hosts.map(async host => {
            sent += 1
            const head = [`Host: ${host}`, `Content-Length: ${length}`, `Transfer-Encoding: ${encoding}`]
            const request = lines(`POST /signin HTTP/${version}`, ...head, 'Origin: http://localhost')
            const answers = await answersTo(service.service.port, `${request}0\r\n\r\n${smuggled}`)
            assert.ok(answers.length === 1 && answers[0]?.status === 400, JSON.stringify([request, answers]))
          }),
        ),
      )
    }
  }
  t.diagnostic(`${sent} requests were refused`)
  assert.ok(!service.log.join('').includes('smuggled'))
})
