// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { listKeys, MAX_ACTIVE_KEYS } from '../../src/accounts/api-keys.ts'
import { MAX_EVENTS_PER_HOUR } from '../../src/accounts/event-counter.ts'
import { limits } from '../../src/http/limits.ts'
import { allowSignIn, visitor, type Visitor } from '../support/dashboard.ts'
import { answersTo } from '../support/raw.ts'
import { world } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { type Outcome, serve, type Serving, startLoad, tally } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

/** Guessers of passwords, and holders of keys, in numbers: what they get from a service of several processes. */

const WORKERS = 2
const ATTEMPTS = 300
const AT_ONCE = 20
/** How long somebody may wait. These tests alone depend on time. */
const MAX_WAIT_MS = 5000
const MAX_LOG_MS = 1000

/** A service in processes of its own on the records of another one, where Ann and Ben have passwords. */
async function serveWorld(workers: number) {
  const here = await startService(world)
  for (const username of ['ann', 'ben']) await allowSignIn(here, username)
  const args = workers === 1 ? [] : ['--workers', String(workers)]
  const settings = { LOCKSTEP_TRUSTED_PROXIES: '127.0.0.1', LOCKSTEP_INSECURE_HTTP: 'on' }
  const service = await serve(here.databaseUrl, { args, settings })
  return {
    here,
    service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await here[Symbol.asyncDispose]()
    },
  }
}

/** Tries to sign in on a new connection; returns the status. */
async function attempt({ url }: Serving, username: string, address: string, password = 'a wrong password') {
  const { host, port } = new URL(url)
  const body = new URLSearchParams({ username, password }).toString()
  const head = lines(
    'POST /signin HTTP/1.1',
    `Host: ${host}`,
    'Sec-Fetch-Site: same-origin',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    `X-Forwarded-For: ${address}`,
    'Connection: close',
  )
  const [answer] = await answersTo(Number(port), head + body, ['POST'])
  return answer?.status ?? 0
}

async function signedIn({ url }: Serving, username: string): Promise<Visitor> {
  const browser = visitor(url, { 'X-Forwarded-For': '192.0.2.1' })
  assert.equal((await browser.signIn(username)).status, 303)
  return browser
}

/** How often each status came. */
async function attackWith(work: (index: number) => Promise<number>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {}
  for (let start = 0; start < ATTEMPTS; start += AT_ONCE) {
    for (const status of await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => work(start + index)))) {
      counts[status] = (counts[status] ?? 0) + 1
    }
  }
  return counts
}

/** Addresses in as many networks. */
const addressOf = (index: number) =>
  index % 3 === 0 ? `2001:db8:${index.toString(16)}:2::7` : `198.${18 + (index >> 8)}.${index & 255}.7`

const guessers: Readonly<Record<string, (index: number) => [username: string, address: string]>> = {
  'one account from many addresses': index => ['ann', addressOf(index)],
  'many accounts from one address': index => [index % 2 === 0 ? 'ann' : `nobody ${index}`, '192.0.2.1'],
}

for (const [what, guess] of Object.entries(guessers)) {
  test(`of ${ATTEMPTS} guesses at ${what}, each process checks as many as documented, and known browsers sign in`, async t => {
    await using scene = await serveWorld(WORKERS)
    const { service } = scene
    const owners = { ann: await signedIn(service, 'ann'), ben: await signedIn(service, 'ben') }
    const start = performance.now()
    const counts = await attackWith(index => attempt(service, ...guess(index)))
    t.diagnostic(`${JSON.stringify(counts)} in ${Math.round(performance.now() - start)} ms`)
    const checked = counts[403] ?? 0
    assert.ok(checked >= limits.attempts.max && checked <= limits.attempts.max * WORKERS, JSON.stringify(counts))
    assert.equal(checked + (counts[429] ?? 0) + (counts[503] ?? 0), ATTEMPTS, JSON.stringify(counts))
    for (const [username, browser] of Object.entries(owners)) {
      for (let time = 0; time < 5; time += 1) {
        const began = performance.now()
        assert.equal((await browser.signIn(username)).status, 303, username)
        assert.ok(performance.now() - began < MAX_WAIT_MS)
      }
    }
  })
}

for (const workers of [1, WORKERS]) {
  test(`after all keys are revoked none of them reads, beside 50 requests in flight (processes: ${workers})`, async t => {
    await using scene = await serveWorld(workers)
    const { here, service } = scene
    const ann = await signedIn(service, 'ann')
    for (let round = 0; round < (workers === 1 ? 5 : 1); round += 1) {
      const keys: string[] = []
      while (keys.length < MAX_ACTIVE_KEYS) keys.push(await here.token('ann'))
      const loads = keys.map(key => startLoad(`${service.url}/api/v1/me`, key, { clients: 10 }))
      await Promise.all(loads.map(load => load.more(20)))
      const ids = (await listKeys(here.store, 1)).filter(key => key.revoked_at === null).map(({ id }) => id)
      for (const id of ids) assert.equal((await ann.post(`/keys/${id}/revoke`)).status, 303)
      // Another process may use what it knows for a moment.
      const revokedAt = performance.now() + (workers === 1 ? 0 : MAX_WAIT_MS)
      await until(async () => performance.now() > revokedAt)
      await Promise.all(loads.map(load => load.more(20)))
      const outcomes = (await Promise.all(loads.map(load => load.stop()))).flat()
      const later: Outcome[] = outcomes.filter(({ at }) => at > revokedAt)
      t.diagnostic(`all: ${JSON.stringify(tally(outcomes))}, after it: ${JSON.stringify(tally(later))}`)
      assert.deepEqual(tally(later), { 401: later.length })
    }
  })
}

test(`of ${ATTEMPTS} networks that guess, the log has a bounded number of rows and no address, and is shown in time`, async t => {
  // More guesses are checked than an hour may have rows.
  const workers = 3
  await using scene = await serveWorld(workers)
  const { here, service } = scene
  const ann = await signedIn(service, 'ann')
  const guesses = await attackWith(index => attempt(service, 'ann', addressOf(index)))
  assert.equal((await ann.signIn('ann')).status, 303)
  const rowsOf = (kind: string) =>
    here.store.db.selectFrom('account_event').selectAll().where('kind', '=', kind).execute()
  await until(async () => (await rowsOf('sign-in-failed')).reduce((sum, { times }) => sum + times, 0) === guesses[403])
  const rows = await rowsOf('sign-in-failed')
  const hours = new Set(rows.map(({ at }) => at)).size
  assert.ok(rows.length <= (MAX_EVENTS_PER_HOUR + 1) * hours, `${rows.length} rows in ${hours} h`)
  assert.equal((await rowsOf('signed-in-password')).length, 2)
  const stored = JSON.stringify(await here.store.db.selectFrom('account_event').selectAll().execute())
  for (let index = 0; index < ATTEMPTS; index += 1) assert.ok(!stored.includes(`"${addressOf(index)}"`))
  assert.ok(!stored.includes('192.0.2.1"'))

  // The same for a year.
  await sql`
    insert or ignore into account_event (account_id, at, kind, actor, subject, subject_id, network, browser, times)
    with recursive hour(number) as (select 1 union all select number + 1 from hour where number < 8700)
    select account_id, at - 3600000 * hour.number, kind, actor, subject, subject_id, network, browser, times
    from account_event, hour where kind = 'sign-in-failed'`.execute(here.store.db)
  for (const path of ['', '?page=7000'].map(query => `/settings/events${query}`)) {
    const times: number[] = []
    for (let visit = 0; visit < 3; visit += 1) {
      const start = performance.now()
      const { status, text } = await ann.get(path)
      times.push(Math.round(performance.now() - start))
      assert.equal(status, 200)
      assert.match(text, /Wrong password entered/, path)
    }
    t.diagnostic(`${path} with the attacks of a year: ${times.join(', ')} ms`)
    assert.ok(Math.min(...times) < MAX_LOG_MS, times.join())
  }
})
