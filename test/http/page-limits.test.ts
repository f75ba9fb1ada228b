import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../src/http/metrics.ts'
import { allowSignIn, visitor, visitorAs } from '../support/dashboard.ts'
import { world } from '../support/records.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService } from '../support/service.ts'

// engine: any

async function withAnn() {
  const service = await startService(world)
  await allowSignIn(service, 'ann')
  return service
}

test('pages of a session, or of an address before the sign-in, are limited in a minute', async () => {
  await using service = await withAnn()
  const metrics = new Metrics()
  const settings = { LOCKSTEP_PAGE_LIMIT: '4', LOCKSTEP_ADDRESS_PAGE_LIMIT: '6' }
  await using again = await startSecondServer(service, settings, { metrics })
  const [ann, ben] = [visitor(again.url), visitor(again.url)]
  await ann.signIn('ann')
  // Its first page counts for the address: the session is known after that.
  for (let page = 0; page < 5; page += 1) assert.equal((await ann.get('/settings')).status, 200)
  const refused = await ann.get('/settings')
  assert.equal(refused.status, 429)
  const left = Number(refused.headers.get('Retry-After'))
  assert.ok(left > 0 && left <= 60, String(left))
  assert.match(refused.headers.get('Content-Type') ?? '', /^text\/html/)
  assert.match(refused.headers.get('Content-Security-Policy') ?? '', /default-src 'none'/)
  assert.match(refused.text, /Too many requests\. Try again in \d+ seconds?\./)
  const json = await ann.get('/settings', { Accept: 'application/json' })
  assert.equal((JSON.parse(json.text) as { code: string }).code, 'rate_limited')
  assert.equal((await ann.get('/assets/dashboard.css')).status, 200, 'what pages need is not counted')

  // The address has used two: a sign-in, and a page of a session that was not known yet.
  for (let page = 0; page < 4; page += 1) assert.equal((await ben.get('/signin')).status, 200)
  assert.equal((await ben.get('/signin')).status, 429)
  ben.cookies.set('session', 'a'.repeat(43))
  assert.equal((await ben.get('/settings')).status, 429, 'a session that does not exist has no limit of its own')
  assert.equal((await fetch(`${again.url}/healthz`)).status, 200)
  assert.match(await metrics.text(), /limited_requests_total\{limit="sessionPages"\} 2\n/)
  assert.match(await metrics.text(), /limited_requests_total\{limit="addressPages"\} 2\n/)
})

test('whatever other cookies a browser sends, pages count for its session alone', async () => {
  await using service = await withAnn()
  const metrics = new Metrics()
  const settings = { LOCKSTEP_PAGE_LIMIT: '3' }
  await using again = await startSecondServer(service, settings, { metrics })
  const ann = await visitorAs(again.url, 'ann')
  const session = ann.cookies.get('session') ?? ''
  const statusWith = async (cookies: string) =>
    (await fetch(`${again.url}/settings`, { headers: { Cookie: cookies, Accept: 'text/html' } })).status
  // The first page counts for the address.
  for (let page = 0; page < 4; page += 1) assert.equal(await statusWith(`session=${session}`), 200)
  const others = [
    `session=${session}`,
    `__Host-session=${'a'.repeat(43)}; session=${session}`,
    `theme=dark;\tsession=${session}`,
    `session =${session}`,
    `session=${session} ; theme=dark`,
  ]
  for (const cookies of others) assert.equal(await statusWith(cookies), 429, cookies.replaceAll(session, '…'))
})
