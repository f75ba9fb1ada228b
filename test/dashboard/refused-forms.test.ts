// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PASSWORD, signInAs } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'

type Fields = Readonly<Record<string, string>>

const key = { name: 'Kept name', scope: 'dtt:read', expires: '30d' }
const looks = { timeZone: 'UTC', units: 'metric' }
const long = 'another long password'
const common = 'password1234'

/** Forms of Ann, and why each is refused. */
const refused: readonly (readonly [path: string, fields: Fields, says: RegExp])[] = [
  ['/keys', { ...key, name: '  ' }, /name of an API key must have 1 to 64 characters/],
  ['/keys', { ...key, name: 'x'.repeat(65) }, /name of an API key must have 1 to 64 characters/],
  ['/keys', { ...key, scope: 'all' }, /needs a scope that reads/],
  ['/keys', { ...key, scope: 'shared:access' }, /needs a scope that reads/],
  ['/keys', { ...key, expires: '' }, /expiry of an API key must be chosen/],
  ['/keys', { ...key, expires: '1000d' }, /expiry of an API key must be chosen/],
  ['/people/give', { username: '', area: 'dtt' }, /username must have 1 to 64 characters/],
  ['/people/give', { username: 'Kept name' }, /at least one area/],
  ['/people/give', { username: 'Kept name', area: 'dtt', from: '2026-02-30' }, /first day of access must be/],
  ['/people/give', { username: 'Kept name', area: 'dtt', last: '2026-02-30' }, /end of access must be a day/],
  ['/people/give', { username: 'Kept name', area: 'dtt', last: '2020-01-01' }, /must lie in the future/],
  ['/people/give', { username: 'ann', area: 'dtt' }, /no access to itself/],
  ['/people/give', { username: 'Kept name', area: 'dtt', last: '9999-12-31' }, /not lie beyond/],
  ['/settings', { ...looks, timeZone: 'Mars/Olympus' }, /choose one of the values/],
  ['/settings', { ...looks, timeZone: '+02:00' }, /choose one of the values/],
  ['/settings', { ...looks, units: 'cubits' }, /choose one of the values/],
  ['/settings', { ...looks, weeklyGoal: 'many' }, /whole number of repetitions/],
  ['/settings/password', { current: 'wrong password', next: long, again: long }, /The password is wrong/],
  ['/settings/password', { current: PASSWORD, next: 'short', again: 'short' }, /12 to 1024/],
  [
    '/settings/password',
    { current: PASSWORD, next: common, again: common },
    /must not be the username, a common password/,
  ],
  ['/settings/password', { current: PASSWORD, next: long, again: `${long}er` }, /passwords differ/],
  ['/settings/password/remove', {}, /needs two passkeys, or a linked sign-in/],
  ['/settings/delete', { username: 'Ann' }, /not the username of this account/],
]

test('a form that is refused is shown again with the reason and what was entered, but no password, and changes nothing', async t => {
  await using service = await startService(world)
  const ann = await signInAs(service, 'ann')
  const { db } = service.store
  const stored = async () => [
    await db.selectFrom('account').selectAll().execute(),
    await db.selectFrom('token').selectAll().execute(),
    await db.selectFrom('partnership').selectAll().execute(),
    await db.selectFrom('unmatched_access').selectAll().execute(),
    await db.selectFrom('preference').selectAll().execute(),
  ]
  const before = await stored()
  for (const [path, fields, says] of refused) {
    await t.test(`${path} ${JSON.stringify(fields).slice(0, 60)}`, async () => {
      const { status, text } = await ann.post(path, fields)
      assert.equal(status, 422)
      assert.match(text, says)
      assert.match(text, /role="alert"/)
      if (!path.startsWith('/settings') && Object.values(fields).includes('Kept name')) {
        assert.match(text, /value="Kept name"/)
      }
      assert.ok(!text.includes(long))
    })
  }
  assert.deepEqual(await stored(), before)
})
