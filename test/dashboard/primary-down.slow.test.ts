import assert from 'node:assert/strict'
import { after, describe } from 'node:test'
import { endGiven, listGiven } from '../../src/accounts/given-access.ts'
import { listEvents } from '../../src/accounts/events.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { allReads } from '../../src/accounts/read-log-queries.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { PASSWORD, type Seen, startSession, type Visitor, visitor } from '../support/dashboard.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { pageAddresses } from '../support/page-addresses.ts'
import {
  type PostgresServer,
  runSql,
  sharedServer,
  startPostgres,
  testOnPostgres,
  waitForReplica,
} from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import { account, lockSession, partnership, trainingSession, world } from '../support/records.ts'
import { archiveOf, inBrowser } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

/** A primary that holds records, and its replica, for all tests: each leaves both running. */
let started: ReturnType<typeof startServers> | undefined
const everything = () => (started ??= startServers())
after(async () => {
  const { primary, replica } = (await started) ?? {}
  replica?.remove()
  primary?.remove()
})

const NOTICE = /The primary database cannot be reached\. This page is from a replica, as of <time/
const REFUSED = /The primary database cannot be reached\. Nothing was changed/
const READABLE = /until then, people who are signed in can read pages from a replica/

testOnPostgres('pages come from a replica while the primary is down, and forms say why they wait', async () => {
  const { primary, replica } = await everything()
  const settings = { LOCKSTEP_DATABASE_READ_URLS: replica.url, LOCKSTEP_PRIMARY_GRACE: '600' }
  await using service = await serve(primary.url, { settings })
  const [ann, ben, cas, left] = [visitor(service.url), visitor(service.url), visitor(service.url), visitor(service.url)]
  for (const [somebody, name] of [
    [ann, 'ann'],
    [ben, 'ben'],
    [cas, 'cas'],
    [left, 'ann'],
  ] as const) {
    await until(async () => (await somebody.signIn(name)).status === 303)
  }
  await ben.post('/subject', { subject: '1' })
  await cas.post('/subject', { subject: '1' })
  assert.match((await cas.get('/training')).text, /Showing ann’s records/)
  await inStore(primary, endAccessOfCas)
  const ended = new Map(left.cookies)
  await left.post('/signout')
  for (const [name, value] of ended) left.cookies.set(name, value)
  assert.doesNotMatch((await ann.get('/')).text, NOTICE)
  await waitForReplica(primary, replica)

  await using outage = await kill(primary)
  for (const path of PAGES) assertRead(await ann.get(path), path)
  for (const [path, content] of DOWNLOADS) {
    const { status, text } = await ann.get(path)
    assert.equal(status, 200, path)
    assert.match(text, content)
  }
  assert.equal((await ann.get('/training/404')).status, 404)

  // Access that was ended before stays ended.
  assert.match((await ben.get('/training')).text, /Showing ann’s records/)
  assert.match((await cas.get('/training')).text, /Your access to these records has ended/)
  assert.deepEqual([(await left.get('/')).status, (await left.get('/')).to], [303, '/signin'])

  for (const [path, fields] of FORMS) assertRefused(await ann.post(path, fields), path)
  assertRefused(await visitor(service.url).signIn('ann'), 'sign-in')
  assertRefused(await visitor(service.url).get('/signin'), 'the page of the sign-in')
  assert.doesNotMatch((await visitor(service.url).get('/signin')).text, /<form/)
  const asked = await ann.post('/keys', {}, { Accept: '*/*' })
  assert.deepEqual([asked.status, JSON.parse(asked.text).code], [503, 'unavailable'])
  // Settings that only this browser keeps can be changed.
  assert.equal((await ann.post('/display', { theme: 'dark' })).status, 303)
  assert.equal(ann.cookies.get('theme'), 'dark')

  await outage.end()
  await backFor(ann)
  assert.doesNotMatch((await ann.get('/settings')).text, /Lost/)
  assert.doesNotMatch((await ann.get('/keys')).text, /Lost/)
  assert.equal((await ann.post('/settings', { ...SETTINGS, displayName: 'Kept' })).status, 303)
  assert.match((await ann.get('/settings')).text, /Kept/)
  assert.equal((await visitor(service.url).signIn('ann')).status, 303)
  assert.equal((await ann.post('/signout')).to, '/signin')
  // Reads of that time are logged later.
  service.process.kill('SIGTERM')
  await service.ended
  const reads = await inStore(primary, store => Array.fromAsync(allReads(store, 1)))
  assert.ok(reads.some(({ reader, kind }) => reader === 'ben' && kind === 'list'))
  const exports = await inStore(primary, store => listEvents(store, 1, { group: 'exports', limit: 10 }))
  assert.equal(exports.length, 1, 'the export of that time, too')
})

describe('in a browser', needsChromium, () => {
  testOnPostgres('a page that is open shows that the primary is down, and no longer when it is back', async () => {
    const { primary, replica } = await everything()
    const settings = { LOCKSTEP_DATABASE_READ_URLS: replica.url, LOCKSTEP_PRIMARY_GRACE: '600' }
    await using service = await serve(primary.url, { settings })
    await using browser = await openPage()
    const { page } = browser
    await page.clock.install()
    let moment = 'up'
    const refused: string[] = []
    page.on('response', response => {
      if (response.status() === 503) refused.push(`${new URL(response.url()).pathname}, ${moment}`)
    })
    await until(async () => (await visitor(service.url).signIn('ann')).status === 303)
    await startSession(page, service.url, 'ann')
    await waitForReplica(primary, replica)
    const first = page.waitForResponse(response => response.url().endsWith('/live'))
    await page.goto(service.url)
    await first
    const notice = page.locator('#primary-down', { hasText: 'The primary database cannot be reached' })
    assert.equal(await notice.count(), 0)

    moment = 'going'
    await using outage = await kill(primary)
    await until(async () => {
      await page.clock.fastForward(61_000)
      return (await notice.count()) === 1
    })
    moment = 'down'
    await outage.end()
    await until(async () => {
      await page.clock.fastForward(61_000)
      return (await notice.count()) === 0
    })
    // The replica may be slow to say that it has everything. Open pages do not show that, and ask again a minute later.
    assert.ok(refused.length <= 1 && refused.every(one => one === '/live, going'), refused.join(' '))
    const problems = browser.problems.filter(problem => !/^console: .* status of 503 /.test(problem))
    assert.deepEqual([problems, browser.problems.length], [[], refused.length])
  })
})

testOnPostgres('pages are read from a replica for the grace period and no longer', async () => {
  const { primary, replica } = await everything()
  await using service = await serve(primary.url, {
    settings: { LOCKSTEP_DATABASE_READ_URLS: replica.url, LOCKSTEP_PRIMARY_GRACE: '8' },
  })
  const ann = visitor(service.url)
  await ann.signIn('ann')
  await waitForReplica(primary, replica)
  await using outage = await kill(primary)
  const killed = performance.now()
  // A page can also be refused because the replica is slow.
  let first = await ann.get('/')
  await until(async () => {
    if (first.status === 503) first = await ann.get('/')
    return first.status !== 503
  })
  assertRead(first, '/')
  let lastRead = 0
  await until(async () => {
    const asked = performance.now() - killed
    const { status } = await ann.get('/')
    if (status === 200) lastRead = asked
    return asked > 12_000 && status === 503
  })
  assert.ok(lastRead > 4000 && lastRead < 8000, `${lastRead}`)
  const { text, headers } = await ann.get('/')
  assert.equal(headers.get('Retry-After'), '1')
  assert.match(text, REFUSED)
  assert.doesNotMatch(text, READABLE)
  await outage.end()
  await backFor(ann)
})

testOnPostgres('a replica that lacks anything the primary had when it last responded is not read', async () => {
  const { primary, replica } = await everything()
  await using service = await serve(primary.url, {
    settings: { LOCKSTEP_DATABASE_READ_URLS: replica.url, LOCKSTEP_PRIMARY_GRACE: '600' },
  })
  const [ann, ended] = [visitor(service.url), visitor(service.url)]
  await Promise.all([ann.signIn('ann'), ended.signIn('cas')])
  await waitForReplica(primary, replica)
  await runSql(replica.url, 'select pg_wal_replay_pause()')
  await runSql(primary.url, 'delete from browser_session where account_id = 3')
  assert.equal((await ended.get('/')).status, 303)
  await noticed(primary)
  await using outage = await kill(primary)
  for (const one of [ann, ended, ann]) {
    const { status, text } = await one.get('/')
    assert.equal(status, 503)
    assert.match(text, REFUSED)
    assert.doesNotMatch(text, READABLE)
  }
  await runSql(replica.url, 'select pg_wal_replay_resume()')
  await until(async () => (await ann.get('/')).status === 200)
  assert.equal((await ended.get('/')).status, 303)
  await outage.end()
  await backFor(ann)
})

testOnPostgres('while the primary does not respond, pages come from a replica within their time limit', async () => {
  const { primary, replica } = await everything()
  await using proxy = await startProxy(primary.port)
  await using service = await serve(proxy.urlOf(primary.url), {
    settings: { LOCKSTEP_DATABASE_READ_URLS: replica.url, LOCKSTEP_PRIMARY_GRACE: '600' },
  })
  const ann = visitor(service.url)
  await ann.signIn('ann')
  await waitForReplica(primary, replica)
  await noticed(primary)
  proxy.silence()
  for (const path of PAGES) assertRead(await ann.get(path), path)
  assertRefused(await ann.post('/settings', { ...SETTINGS, displayName: 'Lost' }), '/settings')
  proxy.resume()
  await backFor(ann)
  assert.doesNotMatch((await ann.get('/settings')).text, /Lost/)
})

const PAGES = [
  ...pageAddresses({
    '/year/:id': new Date().getUTCFullYear(),
    '/training/:id': 1,
    '/programs/:id': 'has none',
    '/locks/:id': 1,
    '/lock-templates/:id': 'has none',
  }),
  '/training/1?tab=json',
]

const DOWNLOADS = [
  ['/training.csv?range=all', /2026-02-16/],
  ['/locks.ndjson?range=all', /Lock 1/],
  ['/settings/export', /Session 1/],
] as const

const SETTINGS = { timeZone: 'UTC', units: 'metric' }

const FORMS: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['/settings', { ...SETTINGS, displayName: 'Lost' }],
  ['/keys', { name: 'Lost', scope: 'dtt:read', expires: '30d' }],
  ['/people/give', { username: 'cas', areas: 'dtt' }],
  ['/settings/sessions', {}],
  ['/confirm', { confirm: PASSWORD }],
  ['/signout', {}],
]

function assertRead({ status, text, headers }: Seen, path: string) {
  assert.equal(status, 200, path)
  assert.match(text, NOTICE, path)
  assert.equal(headers.get('Cache-Control'), 'no-store')
}

function assertRefused({ status, text, headers }: Seen, what: string) {
  assert.deepEqual([status, headers.get('Retry-After')], [503, '1'], what)
  assert.match(text, REFUSED, what)
  assert.match(text, READABLE, what)
}

/** Stops a server as a crash would, until the outage ends. */
async function kill(server: PostgresServer) {
  await server.stop('immediate')
  let isDown = true
  const end = async () => {
    if (isDown) await server.start()
    isDown = false
  }
  return { end, [Symbol.asyncDispose]: end }
}

/** Waits until pages come from the primary again. */
function backFor(somebody: Visitor) {
  return until(async () => {
    const { status, text } = await somebody.get('/')
    return status === 200 && !NOTICE.test(text)
  })
}

async function startServers() {
  const primary = await sharedServer()
  await inStore(primary, async store => {
    await importArchive(
      store,
      archiveOf([...world, account(4, 'dan'), partnership(1, 3), trainingSession(1, 1), lockSession(1, 1)]),
    )
    for (const id of [1, 2, 3]) await setPassword(store, id, PASSWORD)
  })
  return { primary, replica: await startPostgres({ follows: primary }) }
}

async function endAccessOfCas(store: Store) {
  const given = (await listGiven(store, 1, Date.now())).find(({ username }) => username === 'cas')
  assert.ok(given !== undefined)
  await endGiven(store, 1, given, Date.now(), inBrowser)
}

async function inStore<Result>(server: PostgresServer, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await open(server.url, { busyTimeoutMs: 5000 })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Waits until the service has read the log position of the primary after the last write. */
async function noticed(primary: PostgresServer) {
  const [{ now } = {}] = await runSql(primary.url, 'select clock_timestamp()::text as now')
  await until(async () => {
    const asked = await runSql(
      primary.url,
      `select 1 from pg_stat_activity where query like 'select pg_current_wal_%' and state = 'idle' and query_start > '${String(now)}'`,
    )
    return asked.length > 0
  })
}
