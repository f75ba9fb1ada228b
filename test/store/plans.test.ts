import assert from 'node:assert/strict'
import { constants, DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { after, test } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { lockRecords, someLocks } from '../../src/stats/lock-queries.ts'
import { trainingRecords } from '../../src/stats/training-queries.ts'
import { compile, type Query } from '../../src/store/query.ts'
import { idsOf } from '../support/responses.ts'
import { listValues } from '../support/parameters.ts'
import { spreadRecords } from '../support/query-plans.ts'
import { startService, unlimited } from '../support/service.ts'

// engine: sqlite

/** Rows of each kind in the store, over as many accounts. */
const ROWS = 12_000
const ACCOUNTS = 400

/** The most owners whose rows are merged from an index; see the end of this file for more. */
const MAX_MERGED_OWNERS = 100

/** How many accounts each caller reads, itself included: the caller and all of a lower id. */
const ownerCounts = [1, 2, 5, MAX_MERGED_OWNERS]

const service = await startService([], unlimited)
after(() => service[Symbol.asyncDispose]())
const { store } = service
const readers = [...ownerCounts, MAX_MERGED_OWNERS + 1]
const [document, summary] = ["json_set(document, '$.id', n)", "json_set(summary, '$.id', n)"]
await spreadRecords(store, { rows: ROWS, owners: ACCOUNTS, readers, changed: { document, summary } })
const tokens = new Map<number, Promise<string>>()

/** All reads of the store since the list was last emptied. */
const asked: { query: Query<never, unknown>; values: object }[] = []
const { read } = store
Object.assign(store, {
  version: undefined,
  read: <Values extends object, Row>(query: Query<Values, Row>, values: Values) => {
    asked.push({ query, values })
    return read(query, values)
  },
})

/** A value for each parameter of a list. */
const values = listValues(
  { offset: '10', from: '1970-01-01', to: '1970-01-01T00:00:09Z', lockState: 'completed' },
  right => right,
)

const valueOf = (path: string, name: string) =>
  name === 'include' && path.includes('/lkbx/') ? 'template' : values[name]

/** Parameters that cannot be sent together. */
const conflicts = (names: readonly string[]) => names.includes('ownerId') && names.includes('targetUserId')

/** Every combination of so many parameters of every endpoint, and each page also by cursor. */
function* addresses(most: number): Generator<string> {
  for (const { path, query } of Object.values<Endpoint>(api)) {
    // Statistics take days, and filter what they read.
    const names = 'bucket' in query ? ['ownerId'] : Object.keys(query).filter(name => name in values)
    for (let chosen = 0; chosen < 2 ** names.length; chosen += 1) {
      const sent = names.filter((_, index) => (chosen >> index) % 2 === 1)
      if (sent.length > most || conflicts(sent)) continue
      const pairs = sent.map(name => `${name}=${valueOf(path, name)}`)
      if ('limit' in query) pairs.push('limit=20')
      const address = `${path.replace(':id', '1')}?${pairs.join('&')}`
      yield address
      if ('cursor' in query && !address.includes('offset=')) yield `${address}&cursor=`
    }
  }
}

/** A step of a plan that reads everything: allowed for the rows of the page, and for rows made of constants. */
const SCAN = /^SCAN (?!(?:position|page|CONSTANT ROW|\d+ CONSTANT ROWS)$)/
const SORT = /USE TEMP B-TREE/

const queries = new Map<Query<never, unknown>, object>()

test('every address of the API is read with few queries', async () => {
  for (const owners of ownerCounts) {
    const token = await tokenOf(owners)
    // Which query is run is decided by two of them at most.
    for (const address of addresses(owners === 1 ? Infinity : 2)) {
      asked.length = 0
      const { status, text, headers } = await service.fetch(address, token)
      assert.equal(status, 200, `${address}: ${text}`)
      assert.ok(asked.length > 0 && asked.length <= mostReads(address), `${address} asks ${asked.length} times`)
      const next = /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1]
      if (next !== undefined) assert.equal((await service.fetch(next, token)).status, 200)
      for (const { query, values } of asked) queries.set(query, values)
    }
  }
  // Each list has its queries for 1, 2, 5 and 100 accounts.
  assert.ok(queries.size > 50, `${queries.size} queries`)
})

for (const analyzed of [false, true]) {
  const given = analyzed ? ', also when the engine knows what its tables hold' : ''
  test(`every query finds its rows by an index and in order, without a scan or a sort${given}`, async () => {
    if (analyzed) await sql`analyze`.execute(store.db)
    for (const [query, values] of queries) {
      const { text, steps } = await planOf(query, values)
      for (const step of steps) {
        assert.doesNotMatch(step, SCAN, text)
        assert.doesNotMatch(step, SORT, text)
      }
    }
  })
}

test('a query that is run again is not compiled again', () => {
  using database = new DatabaseSync(service.databaseUrl.slice('sqlite:'.length))
  let compilations = 0
  database.setAuthorizer(() => {
    compilations += 1
    return constants.SQLITE_OK
  })
  for (const [query, values] of queries) {
    const { sql: text, parameters } = compile(store.db, 'sqlite', query)
    const statement = database.prepare(text)
    const run = () => statement.all(...(parameters(values) as SQLInputValue[]))
    assert.ok(compilations > 0)
    run()
    compilations = 0
    run()
    assert.equal(compilations, 0, text)
  }
})

/** Statistics read the time zone of the caller, the sessions, and whether the cached ones are still valid. */
function mostReads(address: string): number {
  return /\/stat(?:us|s)\?/.test(address) ? 6 : 3
}

const byIndex: readonly { address: string; step: string }[] = [
  {
    address: '/lkbx/templates',
    step: 'SEARCH lock_template USING COVERING INDEX lock_template_by_time (owner_id=?)',
  },
  {
    address: '/lkbx/sessions?from=1970-01-01&to=1970-01-02',
    step: 'SEARCH lock_session USING COVERING INDEX lock_session_by_time (owner_id=? AND at>? AND at<?)',
  },
  {
    address: '/lkbx/sessions?lockState=completed&from=1970-01-01&to=1970-01-02',
    step: 'SEARCH lock_session USING COVERING INDEX lock_session_by_state (owner_id=? AND lock_state=? AND at>? AND at<?)',
  },
  { address: '/lkbx/sessions/latest', step: 'SEARCH record USING INDEX lock_session_by_time (owner_id=?)' },
  {
    address: '/lkbx/session/current',
    step: 'SEARCH record USING INDEX lock_session_active (owner_id=? AND is_active=?)',
  },
  {
    address: '/lkbx/templates/active',
    step: 'SEARCH lock_session USING INDEX lock_session_active (owner_id=? AND is_active=? AND at>?)',
  },
  { address: '/lkbx/sessions/1', step: 'SEARCH record USING INTEGER PRIMARY KEY (rowid=?)' },
  {
    address: '/dtt/templates',
    step: 'SEARCH training_template USING COVERING INDEX training_template_by_time (owner_id=?)',
  },
  {
    address: '/dtt/templates/active',
    step: 'SEARCH record USING INDEX training_template_active (owner_id=? AND is_active=?)',
  },
  { address: '/dtt/templates/1', step: 'SEARCH record USING INTEGER PRIMARY KEY (rowid=?)' },
  {
    address: '/dtt/sessions?from=1970-01-01&to=1970-01-02',
    step: 'SEARCH training_session USING COVERING INDEX training_session_by_time (owner_id=? AND at>? AND at<?)',
  },
  {
    address: '/dtt/sessions?passed=false&from=1970-01-01&to=1970-01-02',
    step: 'SEARCH training_session USING COVERING INDEX training_session_by_result (owner_id=? AND passed=? AND at>? AND at<?)',
  },
  {
    address: '/dtt/sessions/latest',
    step: 'SEARCH record USING INDEX training_session_by_time (owner_id=?)',
  },
  { address: '/dtt/sessions/1', step: 'SEARCH record USING INTEGER PRIMARY KEY (rowid=?)' },
  { address: '/lkbx', step: 'SEARCH lock_device USING COVERING INDEX lock_device_by_owner (owner_id=? AND id>?)' },
  {
    address: '/dtt',
    step: 'SEARCH training_device USING COVERING INDEX training_device_by_owner (owner_id=? AND id>?)',
  },
  {
    address: '/me/reads?readerId=1',
    step: 'SEARCH read_log USING INDEX read_log_by_reader (owner_id=? AND reader_id=? AND hour>? AND hour<?)',
  },
]

/** Parameters of many lists: the page, its owners and times, and what is added to each record. */
const OF_MANY_LISTS = new Set(['limit', 'offset', 'cursor', 'ownerId', 'targetUserId', 'from', 'to', 'include'])

const filters = Object.values<Endpoint>(api).flatMap(({ path, query }) =>
  'cursor' in query
    ? Object.keys(query)
        .filter(name => !OF_MANY_LISTS.has(name))
        .map(name => ({ path, name }))
    : [],
)

test('the index that each filter of a list uses is known', () => {
  for (const { path, name } of filters) {
    const isThere = byIndex.some(({ address }) => `/api/v1${address}`.startsWith(`${path}?${name}=`))
    assert.ok(isThere, `${path}?${name}`)
  }
})

test('each filter shows some of the rows that queries are explained for, and leaves others out', async () => {
  const token = await tokenOf(MAX_MERGED_OWNERS)
  for (const { path, name } of filters) {
    // The log of reads is empty.
    if (path === '/api/v1/me/reads') continue
    const all = idsOf(await service.fetch(`${path}?limit=100`, token))
    const shown = idsOf(await service.fetch(`${path}?limit=100&${name}=${valueOf(path, name)}`, token))
    assert.ok(shown.length > 0, `${path}?${name} shows none`)
    assert.notDeepEqual(shown, all, `${path}?${name} shows all`)
  }
})

test('filters are conditions on an index, once for each account', async () => {
  for (const owners of [1, 5]) {
    const token = await tokenOf(owners)
    for (const { address, step } of byIndex) {
      asked.length = 0
      await service.fetch(`/api/v1${address}`, token)
      const plans = await Promise.all(asked.map(({ query, values }) => planOf(query, values)))
      const steps = plans.flatMap(({ steps }) => steps)
      const isList = /^\/(?:lkbx|dtt)(?:\/templates|\/sessions)(?:\?|$)/.test(address)
      // The range of one account is read directly; those of several are merged from the index.
      const expected =
        isList && owners === 1
          ? step.replace(/SEARCH (\w+_(?:session|template)) USING COVERING/, 'SEARCH record USING')
          : step
      assert.equal(steps.filter(one => one === expected).length, isList ? owners : 1, `${address}\n${steps.join('\n')}`)
    }
  }
})

test('for more accounts than are merged, lists sort what the index finds, and nothing is scanned', async () => {
  const token = await tokenOf(MAX_MERGED_OWNERS + 1)
  for (const address of ['/lkbx/templates', '/lkbx', '/dtt/sessions?passed=true', '/dtt/sessions/1', '/users']) {
    asked.length = 0
    assert.equal((await service.fetch(`/api/v1${address}`, token)).status, 200)
    for (const { query, values } of asked) {
      const { text, steps } = await planOf(query, values)
      // The accounts themselves come as the rows of a list.
      for (const step of steps) if (!step.startsWith('SCAN json_each ')) assert.doesNotMatch(step, SCAN, text)
    }
  }
})

test('a download finds each of its records by its identifier, however many the account has', async () => {
  const access = { owner: 1, start: 0 }
  const ids = [1, 1 + ACCOUNTS]
  const reads = [
    async () => [...(await trainingRecords(store, access, ids)).keys()],
    async () => [...(await lockRecords(store, access, ids)).keys()],
    async () => (await someLocks(store, access, ids, 0)).map(({ id }) => id),
  ]
  for (const readRecords of reads) {
    asked.length = 0
    assert.deepEqual(await readRecords(), ids)
    const plans = await Promise.all(asked.map(({ query, values }) => planOf(query, values)))
    const [step] = plans.flatMap(({ steps }) => steps)
    assert.match(step ?? '', /^SEARCH \w+ USING INTEGER PRIMARY KEY \(rowid=\?\)$/)
  }
})

async function planOf(query: Query<never, unknown>, values: object) {
  const { sql: text, parameters } = compile(store.db, 'sqlite', query)
  const plan = CompiledQuery.raw(`explain query plan ${text}`, parameters(values))
  const { rows } = await store.db.executeQuery<{ detail: string }>(plan)
  return { text, steps: rows.map(({ detail }) => detail) }
}

/** A token of the account that reads this number of accounts. */
function tokenOf(owners: number): Promise<string> {
  const known = tokens.get(owners)
  const token = known ?? service.token(`user-${owners}`)
  tokens.set(owners, token)
  return token
}
