import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'

// engine: sqlite

test('a password of any characters counts as it was entered, up to its last character', async () => {
  await using service = await startService(world)
  const long = `Ünïcode, "quotes" & <tags> 🔑 ${'x'.repeat(150)}`
  for (const password of [long, 'small letters only']) {
    await setPassword(service.store, { accountId: 1, password }, Date.now())
    const wrong = [
      password.slice(0, -1),
      `${password}x`,
      `${password} `,
      password.toUpperCase() + password.toLowerCase(),
    ]
    for (const other of wrong) assert.equal((await visitor(service.url).signIn('ann', other)).status, 403)
    assert.equal((await visitor(service.url).signIn('ann', password)).status, 303)
  }
})

test('fields for passwords are masked, take what is pasted, and tell password managers what they are for', async () => {
  await using service = await startService(world)
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  const invitation = await createInvitation(service.store, { accountId: 2 }, Date.now())
  const pages = [await ann.get('/signin'), await ann.get(`/invitation/${invitation}`)]
  await ann.signIn('ann')
  pages.push(await ann.get('/settings/password'), await ann.get('/settings/delete'))
  const fields = pages.flatMap(({ text }) => text.match(/<input [^>]*(?:type="password"|-password")[^>]*>/g) ?? [])
  assert.ok(fields.length >= 6, `${fields.length} fields`)
  for (const field of fields) {
    assert.match(field, / type="password"/)
    assert.match(field, / autocomplete="(current|new)-password"/)
    assert.doesNotMatch(field, / on[a-z]+=| pattern=| readonly/)
    assert.ok(Number(/ maxlength="(\d+)"/.exec(field)?.[1] ?? Infinity) >= 64, field)
  }
  const scripts = pages.flatMap(({ text }) =>
    [...text.matchAll(/ src="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path),
  )
  for (const path of new Set(scripts)) assert.doesNotMatch((await ann.get(path)).text, /['"]paste['"]|onpaste/, path)
})
