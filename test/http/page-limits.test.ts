import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/http/limits.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { allowSignIn, visitor, visitorAs } from '../support/dashboard.ts'
import { open } from '../support/raw.ts'
import { world } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { gatedStore, startSecondServer } from '../support/second-server.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

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

test('three pages of a session are made at once, some wait, and more are refused', async () => {
  await using service = await withAnn()
  const gate = gatedStore(service.store)
  gate.open()
  await using again = await startSecondServer(service, {}, { store: gate.store })
  const [ann, other] = [visitor(again.url), visitor(again.url)]
  await ann.signIn('ann')
  await other.signIn('ann')
  gate.isClosed = true
  const { pagesInWork, waitingPages } = limits
  const requests = Array.from({ length: pagesInWork.max + waitingPages.max + 2 }, () => ann.get('/settings'))
  const refused = await Promise.all([
    Promise.race(requests),
    until(async () => gate.waiting.length === pagesInWork.max),
  ])
  assert.equal(refused[0].status, 429)
  assert.equal(gate.waiting.length, pagesInWork.max)
  // Others do not wait for them.
  const page = other.get('/settings')
  await until(async () => gate.waiting.length === pagesInWork.max + 1)
  gate.open()
  assert.equal((await page).status, 200)
  const statuses = (await Promise.all(requests)).map(({ status }) => status)
  assert.equal(statuses.filter(status => status === 200).length, pagesInWork.max + waitingPages.max)
  assert.equal(statuses.filter(status => status === 429).length, 2)
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

test('pages whose readers have gone leave their places to others of the session', async () => {
  await using service = await withAnn()
  const gate = gatedStore(service.store)
  gate.open()
  await using again = await startSecondServer(service, {}, { store: gate.store })
  const ann = await visitorAs(again.url, 'ann')
  gate.isClosed = true
  const request = lines('GET /settings HTTP/1.1', 'Host: 127.0.0.1', `Cookie: session=${ann.cookies.get('session')}`)
  const { pagesInWork, waitingPages } = limits
  const connections = Array.from({ length: pagesInWork.max + waitingPages.max + 1 }, () => open(again.port))
  for (const connection of connections) connection.send(request)
  const answers = connections.map(connection => connection.answer())
  for (const answer of answers) answer.catch(() => {})
  assert.equal((await Promise.race(answers)).status, 429)
  for (const { socket } of connections) socket.resetAndDestroy()
  gate.isClosed = false
  await until(async () => (await ann.get('/settings')).status === 200)
  gate.open()
})
