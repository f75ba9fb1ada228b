// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeEventCounter, MAX_EVENTS_PER_HOUR } from '../../src/accounts/event-counter.ts'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { allowSignIn, cellTexts, tableRows, visitor } from '../support/dashboard.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const HOUR_MS = 3_600_000
const areas: [string, string][] = [['area', 'dtt']]

/** Ann is signed in, and Ben has events of his own. */
async function signedIn() {
  const service = await startService([...world, trainingSession(1, 1)])
  for (const username of ['ann', 'ben']) await allowSignIn(service, username)
  assert.equal((await visitor(service.url).signIn('ben')).status, 303)
  await createInvitation(service.store, { accountId: 2 }, Date.now())
  const ann = visitor(service.url)
  assert.equal((await ann.signIn('ann')).status, 303)
  const rowsAt = async (path: string) =>
    (tableRows((await ann.get(path)).text, 'event-table') ?? []).map(row => cellTexts(row).slice(1))
  return { service, ann, rowsAt, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test('a page in Settings shows the events of the account, the newest first, and one group of them', async () => {
  await using it = await signedIn()
  const { ann, rowsAt } = it
  await ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })
  await ann.post('/people/give', [['username', 'nobody'], ...areas])
  const here = ['You', '127.0.0.0/24', 'Unknown browser']
  const given = ['Access given: nobody', ...here]
  const key = ['API key created: Script', ...here]
  const signIn = ['Signed in with the password', ...here]
  // The archive of the test has access for Ben.
  const imported = ['Access given: ben', 'Operator', '', '']
  assert.deepEqual(await rowsAt('/settings/events'), [given, key, signIn, imported])
  assert.deepEqual(await rowsAt('/settings/events?events=keys'), [key])
  assert.deepEqual(await rowsAt('/settings/events?events=access'), [given, imported])
  assert.deepEqual(await rowsAt('/settings/events?events=exports'), [])
  assert.match((await ann.get('/settings/events?events=exports')).text, /No such events in the last year/)
  assert.deepEqual(await rowsAt('/settings/events?events=toString'), [given, key, signIn, imported], 'no group')
})

test('names are hidden in discreet mode, on the page and in the file', async () => {
  await using it = await signedIn()
  const { ann, rowsAt } = it
  await ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })
  ann.cookies.set('discreet', '1')
  const texts = (await rowsAt('/settings/events')).map(([what]) => what)
  assert.deepEqual(texts, ['API key created: Key 1', 'Signed in with the password', 'Access given'])
  const file = (await ann.get('/settings/events.csv')).text
  assert.match(file, /API key created,Key 1,You,127\.0\.0\.0\/24/)
  assert.doesNotMatch(file, /Script|ben/)
})

test('the file has all events of the account, or of one group, and nobody else reads it', async () => {
  await using it = await signedIn()
  const { service, ann, rowsAt } = it
  const counter = makeEventCounter(service.store, error => assert.fail(String(error)))
  const now = Date.now()
  for (let hour = 1; hour <= 30; hour += 1) {
    const event = { kind: 'sign-in-failed', account: { username: 'ann' }, browser: 'Firefox on Android' } as const
    counter.count({ ...event, now: now - hour * HOUR_MS, network: '203.0.113.0/24' })
  }
  for (let index = 0; index < 2 * MAX_EVENTS_PER_HOUR; index += 1) {
    const event = { kind: 'confirmation-failed', account: { id: 1 }, browser: '' } as const
    counter.count({ ...event, now: now - 100 * HOUR_MS, network: `198.51.${index}.0/24` })
  }
  await counter.close()
  const { text, headers } = await ann.get('/settings/events.csv')
  assert.match(headers.get('Content-Disposition') ?? '', /^attachment; filename="events-\d{4}-\d\d-\d\d\.csv"$/)
  const lines = text.trim().split('\r\n')
  assert.equal(lines[0], 'When,What,About,By,Network,Browser,Times')
  assert.equal(lines.length, 1 + 2 + 30 + MAX_EVENTS_PER_HOUR + 1)
  assert.equal(lines.filter(line => line.includes(`Other networks,,${MAX_EVENTS_PER_HOUR}`)).length, 1)
  const group = (await ann.get('/settings/events.csv?events=access')).text.trim().split('\r\n')
  assert.equal(group.length, 2)
  assert.equal((await visitor(service.url).get('/settings/events.csv')).status, 303)

  const pages = [
    await rowsAt('/settings/events'),
    await rowsAt('/settings/events?page=2'),
    await rowsAt('/settings/events?page=3'),
  ]
  assert.deepEqual(
    pages.map(rows => rows.length),
    [25, 25, 3],
  )
  const second = (await ann.get('/settings/events?events=signIns&page=3')).text
  assert.match(second, /rel="prev" href="\/settings\/events\?events=signIns&amp;page=2"/)
  assert.doesNotMatch(second, /rel="next"/)
})

test('an export that is refused leaves no event', async () => {
  await using it = await signedIn()
  const { ann, rowsAt } = it
  assert.equal((await ann.get('/settings/export', { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  assert.deepEqual(await rowsAt('/settings/events?events=exports'), [])
  assert.equal((await ann.get('/settings/export')).status, 200)
  assert.equal((await rowsAt('/settings/events?events=exports')).length, 1)
})
