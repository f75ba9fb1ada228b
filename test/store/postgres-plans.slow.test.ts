import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { sql } from 'kysely'
import { defaultScopes, type Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import * as lockQueries from '../../src/stats/lock-queries.ts'
import * as programQueries from '../../src/stats/program-queries.ts'
import * as trainingQueries from '../../src/stats/training-queries.ts'
import * as lockTemplateQueries from '../../src/stats/lock-template-queries.ts'
import { listReads } from '../../src/accounts/read-log-queries.ts'
import { listAccess } from '../../src/accounts/access-lists.ts'
import { findSession } from '../../src/accounts/browser-sessions.ts'
import { open } from '../../src/store/index.ts'
import { planning } from '../../src/store/postgres.ts'
import { query, type Query } from '../../src/store/query.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { addresses } from '../support/addresses.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startPostgres, testOnPostgres } from '../support/postgres.ts'
import {
  type RecordedRead,
  connectAsReader,
  nodesOf,
  type Plan,
  planOf,
  spreadRecords,
  watch,
} from '../support/query-plans.ts'
import { startProxy } from '../support/proxy.ts'
import { unlimited } from '../support/service.ts'

// engine: any

/** Rows of each kind in the store, over as many accounts. */
const ROWS = 45_000
const ACCOUNTS = 500

/** The most owners whose rows are merged from an index. */
const MAX_MERGED_OWNERS = 100

/** How many accounts each caller reads, itself included: the caller and all of a lower id. */
const ownerCounts = [1, 5, MAX_MERGED_OWNERS]

/** A text that names its row. */
const DOCUMENT = `'{"id":' || n || '}'`

const OFFSET = 10
const LIMIT = 20

const values = {
  offset: [String(OFFSET)],
  cursor: [''],
  ownerId: ['1'],
  targetUserId: ['1'],
  from: ['1970-01-01'],
  to: ['1970-01-01T00:00:09Z'],
  passed: ['true'],
  lockState: ['completed'],
  include: ['owner', 'template'],
  // Any index does while the log is short.
  readerId: [],
}

let started: ReturnType<typeof startAll> | undefined
const everything = () => (started ??= startAll())
after(async () => (await started)?.end())

testOnPostgres('without statistics of the engine, every query finds its rows by an index', () => explainAll([5]))

testOnPostgres('with statistics, too: a page reads only the rows it shows, and only a page is sorted', async () => {
  const { store } = await everything()
  await sql`analyze`.execute(store.db)
  await explainAll(ownerCounts)
})

testOnPostgres('for more accounts than are merged, lists sort what the index finds, without a scan', async () => {
  const { token, asked, ask, plan } = await everything()
  for (const path of ['/lkbx/templates', '/lkbx', '/dtt/sessions?passed=true', '/dtt/sessions/1', '/users']) {
    asked.length = 0
    assert.equal((await ask(`/api/v1${path}`, await token(MAX_MERGED_OWNERS + 1))).status, 200)
    for (const one of asked) {
      for (const node of nodesOf(await plan(one))) assert.notEqual(node['Node Type'], 'Seq Scan', path)
    }
  }
})

testOnPostgres('the queries of the dashboard look at no rows but those of its accounts', async () => {
  const { watched, asked, plan } = await everything()
  const mine = { owner: 1, start: 0 }
  const all = { owners: [1, 2, 5], starts: [0, 0, 0] }
  const hash = randomBytes(32).toString('base64url')
  const pages: readonly (() => Promise<unknown>)[] = [
    () => trainingQueries.trainingSessions(watched, mine),
    () => trainingQueries.trainingSession(watched, all, 1),
    () => programQueries.programsOf(watched, all),
    () => trainingQueries.trainingRecords(watched, mine, [1, 501]),
    () => lockQueries.locksSince(watched, mine, 0),
    () => lockQueries.newestLock(watched, mine, 10, 0),
    () => lockQueries.activeLock(watched, mine, 0),
    () => lockQueries.lockSession(watched, all, 1, 0),
    () => lockQueries.lockRecords(watched, mine, [1, 501]),
    () => lockTemplateQueries.lockTemplates.all(watched, all),
    () => lockTemplateQueries.withUses(watched, [], all),
    () => programQueries.programs.find(watched, all, [1]),
    () => lockTemplateQueries.lockTemplates.find(watched, all, [1]),
    () => findSession(watched, hash, 0),
    () => listAccess(watched, 5, 0),
    () => listReads(watched, 1, { limit: 10 }),
    () => listReads(watched, 1, { readerId: 2, limit: 10 }),
  ]
  for (const page of pages) {
    asked.length = 0
    await page()
    for (const one of asked) {
      for (const node of nodesOf(await plan(one))) {
        const shown = `${page.toString()}: ${JSON.stringify(node, undefined, 1)}`
        assert.notEqual(node['Node Type'], 'Seq Scan', shown)
        assert.ok(node['Actual Rows'] * node['Actual Loops'] <= all.owners.length * (ROWS / ACCOUNTS), shown)
      }
    }
  }
})

testOnPostgres('a read of records takes one round trip with a cached API key, and two without', async () => {
  const { store, proxy, ask, newToken } = await everything()
  // The reads of one account, with something to answer each.
  for (const { path } of Object.values<Endpoint>(api)) {
    if (!isOfRecords(path)) continue
    const address = path.replace(':id', '1')
    const tripsOfThree = async () => {
      const token = await newToken(1)
      const counts: number[] = []
      for (let time = 0; time < 3; time += 1) {
        const before = proxy.roundTrips
        assert.equal((await ask(address, token)).status, 200, address)
        counts.push(proxy.roundTrips - before)
      }
      await store.db.deleteFrom('token').where('name', '=', 'short').execute()
      return counts
    }
    let counts = await tripsOfThree()
    // A token is cached for less than a second, which may be over on a slow machine.
    for (let tries = 0; tries < 10 && counts.join() !== '2,1,1'; tries += 1) counts = await tripsOfThree()
    assert.deepEqual(counts, [2, 1, 1], address)
  }
})

testOnPostgres('a refused API key takes one round trip, and a malformed one none', async () => {
  const { proxy, ask, newToken } = await everything()
  const token = await newToken(1)
  const unknown = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
  const before = proxy.roundTrips
  assert.equal((await ask('/api/v1/me', unknown)).status, 401)
  assert.equal(proxy.roundTrips, before)
  const { store } = await everything()
  await store.db.deleteFrom('token').where('name', '=', 'short').execute()
  assert.equal((await ask('/api/v1/me', token)).status, 401)
  assert.equal(proxy.roundTrips, before + 1)
})

testOnPostgres('reads are planned as these tests plan them, and cannot write', async () => {
  const { store } = await everything()
  for (const [name, value] of Object.entries({ ...planning, default_transaction_read_only: 'on' })) {
    const setting = query<object, { value: string }>(() => sql`select current_setting(${sql.lit(name)}) as value`)
    assert.deepEqual(await store.read(setting, {}), [{ value }])
  }
})

/** Whether it is no address of the status or of statistics, which are made of all sessions of one account. */
function isOfRecords(address: string): boolean {
  return !/\/(stats|status)(\?|$)/.test(address)
}

/** Explains every query of every endpoint for records as the service has it planned. */
async function explainAll(ownerCounts: readonly number[]) {
  const { ask, asked, token, plan } = await everything()
  for (const owners of ownerCounts) {
    const queries = new Map<Query<never, unknown>, { values: object; address: string }>()
    for (const address of addresses(values, ['1'])) {
      if (!isOfRecords(address) || (address.includes('offset') && address.includes('cursor'))) continue
      // The log of reads is written meanwhile, and any index does while it is short; the queries of the dashboard are below.
      if (address.startsWith('/api/v1/me/access')) continue
      asked.length = 0
      const limited = /[?]/.test(address) ? `${address}&limit=${LIMIT}` : address
      const { status, text } = await ask(
        /offset|cursor|from|to|passed|lockState/.test(address) ? limited : address,
        await token(owners),
      )
      assert.equal(status, 200, `${address}: ${text}`)
      for (const { query, values } of asked) queries.set(query, { values, address })
    }
    assert.ok(queries.size >= 25, `${queries.size} queries`)
    for (const [query, { values, address }] of queries) {
      assertFrugal(await plan({ query, values }), owners, `${address} for ${owners} accounts`)
    }
  }
}

function assertFrugal(plan: Plan, owners: number, what: string) {
  // One row more tells whether a page follows; of each account one is looked at that is not shown.
  const most = owners + OFFSET + 51
  for (const node of nodesOf(plan)) {
    const shown = `${what}: ${JSON.stringify(node, undefined, 1)}`
    assert.notEqual(node['Node Type'], 'Seq Scan', shown)
    assert.ok(node['Actual Rows'] * node['Actual Loops'] <= most, shown)
    assert.ok((node['Rows Removed by Filter'] ?? 0) * node['Actual Loops'] <= owners, shown)
  }
}

async function startAll() {
  const server = await startPostgres({ settings: { max_wal_size: '4GB', shared_buffers: '256MB' } })
  const proxy = await startProxy(server.port)
  const store = await open(proxy.urlOf(server.url), { busyTimeoutMs: 4000 })
  const readers = [...ownerCounts, MAX_MERGED_OWNERS + 1]
  // A short text favours reading all of it.
  const changed = { document: DOCUMENT, summary: DOCUMENT }
  await spreadRecords(store, { rows: ROWS, owners: ACCOUNTS, readers, changed })
  const { watched, asked } = watch(store)
  const service = await startSecondServer({ store: watched }, unlimited)
  const client = await connectAsReader(server.url)
  const tokens = new Map<number, Promise<string>>()
  const newToken = (accountId: number) =>
    createKey(store, { accountId, name: 'short', scopes: defaultScopes, expiresAt: null }, Date.now())
  return {
    store,
    proxy,
    plan: (one: RecordedRead) => planOf(client, store, one),
    asked,
    watched,
    newToken,
    /** A token of the account that reads this number of accounts. */
    token(owners: number): Promise<string> {
      const known = tokens.get(owners) ?? newToken(owners)
      tokens.set(owners, known)
      return known
    },
    async ask(path: string, token: string) {
      const response = await fetch(service.url + path, { headers: { Authorization: `Bearer ${token}` } })
      return { status: response.status, text: await response.text() }
    },
    async end() {
      await client.end()
      await service.close()
      await store.close()
      await proxy[Symbol.asyncDispose]()
      server.remove()
    },
  }
}
