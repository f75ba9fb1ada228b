import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { readChecked } from '../../src/accounts/access.ts'
import { noteGrantChange } from '../../src/accounts/grants.ts'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { pages } from '../../src/dashboard/routes.ts'
import { pageQueries } from '../../src/resources/lists/page-queries.ts'
import type { Store } from '../../src/store/index.ts'
import type { Query } from '../../src/store/query.ts'
import { records, views } from '../support/all-responses.ts'
import { allowSignIn, visitorAs } from '../support/dashboard.ts'
import { lockSession, lockTemplate, trainingTemplate } from '../support/records.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, unlimited } from '../support/service.ts'
import { ask } from '../support/serving.ts'

// What a mistake in a query, in a driver or in a pooler could do: rows that were not asked for.

const service = await startService([
  ...records,
  lockTemplate(20, 2),
  lockSession(20, 2, { lockState: 'locked', isActive: true }, { templateId: 20 }),
  trainingTemplate(20, 2, { isActive: true }),
])
after(() => service[Symbol.asyncDispose]())
for (const owner_id of [1, 2, 3]) {
  const read = { owner_id, hour: 0, reader_id: 1, token_name: '', area: 'dtt', kind: 'list', reads: 1 }
  await service.store.db
    .insertInto('read_log')
    .values({ ...read, via: 'dashboard' })
    .execute()
}

type Row = Readonly<Record<string, unknown>>
type Read = Query<object, unknown>
/** What is returned instead of the rows of a read. */
type Change = (read: Read, rows: readonly Row[]) => readonly Row[]

const tokens: Record<string, Promise<string>> = {}

/** A server whose store can return wrong rows, and somebody with an API key and a session who reads from it. */
async function startWrong(username: string) {
  let change: Change = (_, rows) => rows
  let isChanged = false
  let revision = 0
  const changed = (query: Read, rows: readonly Row[]) => {
    const returned = change(query, rows)
    if (returned !== rows) isChanged = true
    // Nothing comes from a cache.
    return returned.map(row => ('revision' in row ? { ...row, revision: `${(revision += 1)}` } : row))
  }
  const read = (query: Read, values: object) => {
    const rows = service.store.read(query, values) as Row[] | Promise<Row[]>
    return rows instanceof Promise ? rows.then(all => changed(query, all)) : changed(query, rows)
  }
  const store = { ...service.store, read: read as Store['read'] }
  const server = await startSecondServer(service, { ...unlimited, LOCKSTEP_ACCESS_LOG: 'off' }, { store })
  const url = `http://127.0.0.1:${server.port}`
  const token = await (tokens[username] ??= service.token(username))
  await allowSignIn(service, username)
  const browser = await visitorAs(url, username)
  /** The status of a response; 500 also if it was cut off. */
  const statusOf = async (address: string) => {
    if (address.startsWith('/api/')) return (await ask(url + address, token)).status
    return browser.get(address).then(
      ({ status }) => status,
      () => 500,
    )
  }
  return {
    server,
    /** Requests an address while the rows of reads are changed. Returns the status, and whether rows were changed. */
    async ask(address: string, changing: Change) {
      noteGrantChange()
      ;[change, isChanged] = [changing, false]
      return { status: await statusOf(address), isChanged }
    },
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** Addresses of every endpoint and every page, with the identifiers of some records. */
async function* addresses(account: number, ids: readonly string[]): AsyncGenerator<string> {
  yield* views
  for (const { path } of pages.filter(({ method }) => method !== 'POST')) {
    for (const id of path.includes(':id') ? ids : ['']) yield path.replace(':id', id)
  }
  yield `/people/reads.csv?reader=1`
  yield `/invitation/${await createInvitation(service.store, { accountId: account }, Date.now())}`
}

/** Every read of a request, with an address that needs it and the rows that it returned; without those that found none. */
async function allReads(username: string, account: number, ids: readonly string[]) {
  const found = new Map<Read, { readonly address: string; readonly rows: readonly Row[] }>()
  await using wrong = await startWrong(username)
  for await (const address of addresses(account, ids)) {
    await wrong.ask(address, (query, rows) => {
      if (rows.length > 0 && !found.has(query)) found.set(query, { address, rows })
      return rows
    })
  }
  return found
}

const reads = await allReads('ben', 2, ['8', '20'])
const ofStranger = await allReads('cas', 3, ['9', '10'])

test('every row that is read for a request says which query it answers, and whose it is', () => {
  assert.ok(reads.size > 80, `${reads.size}`)
  const names = new Set<unknown>()
  for (const { address, rows } of reads.values()) {
    const [name] = new Set(rows.map(({ query }) => query))
    assert.ok(typeof name === 'string' && !names.has(name), `${address}: ${String(name)}`)
    names.add(name)
    for (const row of rows) {
      assert.equal(row['query'], name)
      assert.equal(['owner_id', 'owners', 'hash'].filter(column => column in row).length, 1, name)
    }
  }
})

const wrongRows: readonly (readonly [
  what: string,
  /** The rows in place of those of a read; undefined if there are none. */
  rowsFor: (index: number, read: Read, rows: readonly Row[]) => readonly Row[] | undefined,
])[] = [
  ...[1, 23].map(
    distance =>
      [
        `another query (${distance})`,
        (index: number) => [...reads.values()][(index + distance) % reads.size]?.rows,
      ] as const,
  ),
  ['the same query for a stranger', (_, read) => ofStranger.get(read)?.rows],
  [
    'the same query, one of them for a stranger',
    (_, read, rows) => {
      const [last] = ofStranger.get(read)?.rows ?? []
      return last && [...rows.slice(0, -1), last]
    },
  ],
]

for (const [what, rowsFor] of wrongRows) {
  test(`rows of ${what} are never sent, whatever was asked: the response is 500`, async () => {
    await using wrong = await startWrong('ben')
    let count = 0
    for (const [index, [read, { address, rows }]] of [...reads].entries()) {
      const instead = rowsFor(index, read, rows)
      if (instead === undefined) continue
      const { status, isChanged } = await wrong.ask(address, (query, found) => (query === read ? instead : found))
      assert.ok(isChanged, address)
      assert.equal(status, 500, `${address}: ${JSON.stringify(instead)} in place of ${JSON.stringify(rows)}`)
      count += 1
    }
    assert.ok(count > 30, `${count}`)
    await wrong.server.close()
    const line = /"message":"the query \\"[^"]+\\" returned a row of (another query|somebody else)"/
    assert.equal(
      wrong.server.log
        .join('')
        .split('\n')
        .filter(text => line.test(text)).length,
      count,
    )
  })
}

test('a row of a stranger anywhere among those of a page is noticed, for one owner and for several', async () => {
  const read = async (owners: readonly number[], allowed: readonly number[]) => {
    const rows = owners.map(owner => `(${owner}, 'd', 'e', 1, '0.1')`).join()
    const { page } = pageQueries<{ readonly owners: readonly number[] }>({
      name: 'some lock templates',
      rows: () =>
        sql`with found (owner_id, document, etag, size, position) as (values ${sql.raw(rows)}) select * from found`,
      row: () => sql`select 1`,
      ofOneOwner: allowed.length === 1,
    })
    return readChecked(service.store, page, { owners: allowed })
  }
  for (const shown of [
    [5, 5, 5],
    [1, 5, 1],
  ]) {
    const allowed = [...new Set(shown)]
    assert.equal((await read(shown, allowed))[0]?.count, 3)
    for (const place of shown.keys()) {
      for (const stranger of [4, 6]) {
        await assert.rejects(read(shown.with(place, stranger), allowed), /a row of somebody else/)
      }
    }
  }
})
