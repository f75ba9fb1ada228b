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
    (tableRows((await ann.get(path)).text, 'event-table') ?? []).map(row => {
      const [what = '', , ...by] = cellTexts(row)
      return [what, ...by]
    })
  return { service, ann, rowsAt, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test('a page in Settings shows the events of the account, the newest first', async () => {
  await using it = await signedIn()
  const { ann, rowsAt } = it
  await ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })
  await ann.post('/people/give', [['username', 'nobody'], ...areas])
  const here = ['You', '127.0.0.0/24', 'Unknown browser']
  const given = ['Access given: nobody', ...here]
  const key = ['API key created: Script', ...here]
  const signIn = ['Signed in with the password', ...here]
  // The archive of the test has access for Ben.
  const imported = ['Access given: ben', 'Operator', '–', '–']
  assert.deepEqual(await rowsAt('/settings/events'), [given, key, signIn, imported])
})

test('names are hidden in discreet mode', async () => {
  await using it = await signedIn()
  const { ann, rowsAt } = it
  await ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' })
  ann.cookies.set('discreet', '1')
  const texts = (await rowsAt('/settings/events')).map(([what]) => what)
  assert.deepEqual(texts, ['API key created: Key 1', 'Signed in with the password', 'Access given'])
})

test('events that are counted have a row for each hour and network, and beyond a bound one for all networks', async () => {
  await using it = await signedIn()
  const { service, ann, rowsAt } = it
  const counter = makeEventCounter(service.store, error => assert.fail(String(error)))
  const now = Date.now()
  for (let hour = 1; hour <= 30; hour += 1) {
    const event = { type: 'sign-in-failed', username: 'ann', browser: 'Firefox on Android' } as const
    counter.count({ ...event, now: now - hour * HOUR_MS, network: '203.0.113.0/24' })
  }
  for (let index = 0; index < 2 * MAX_EVENTS_PER_HOUR; index += 1) {
    const event = { type: 'sign-in-failed', username: 'ann', browser: '' } as const
    counter.count({ ...event, now: now - 100 * HOUR_MS, network: `198.51.${index}.0/24` })
  }
  await counter.close()
  const pages = [
    await rowsAt('/settings/events'),
    await rowsAt('/settings/events?page=2'),
    await rowsAt('/settings/events?page=3'),
  ]
  assert.deepEqual(
    pages.map(rows => rows.length),
    [25, 25, 3],
  )
  const last = (await ann.get('/settings/events?page=3')).text
  assert.match(last, /rel="prev" href="\/settings\/events\?page=2"/)
  assert.doesNotMatch(last, /rel="next"/)
  assert.equal(pages.flat().filter(row => row.includes('Other networks')).length, 1)
})

test('an export that is refused leaves no event', async () => {
  await using it = await signedIn()
  const { ann, rowsAt } = it
  assert.equal((await ann.get('/settings/export', { 'Sec-Fetch-Site': 'cross-site' })).status, 403)
  const exported = async () => (await rowsAt('/settings/events')).filter(([what]) => what === 'Everything exported')
  assert.deepEqual(await exported(), [])
  assert.equal((await ann.get('/settings/export')).status, 200)
  assert.equal((await exported()).length, 1)
})
