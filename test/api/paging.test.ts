// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { noteChangedRecords } from '../../src/archive/revisions.ts'
import { assertRefused, idsOf } from '../support/responses.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  partnership,
  trainingDevice,
  trainingSession,
  trainingTemplate,
  world,
} from '../support/records.ts'
import { postgresUrl } from '../support/databases.ts'
import { type TestResponse, startService, type TestService, unlimited } from '../support/service.ts'

// Order

/** The lists that are newest first, and the field that says when. */
const dated: readonly { path: string; record: (id: number, owner: number, at: string) => object }[] = [
  { path: '/api/v1/lkbx/templates', record: (id, owner, createdAt) => lockTemplate(id, owner, { createdAt }) },
  { path: '/api/v1/lkbx/sessions', record: (id, owner, startDate) => lockSession(id, owner, { startDate }) },
  {
    path: '/api/v1/dtt/templates',
    record: (id, owner, createdDate) => trainingTemplate(id, owner, { createdDate, updatedAt: '2026-01-01T00:00:00Z' }),
  },
  { path: '/api/v1/dtt/sessions', record: (id, owner, created_at) => trainingSession(id, owner, { created_at }) },
]

for (const { path, record } of dated) {
  test(`${path} is newest first, and of records of one instant the highest id comes first`, async () => {
    await using service = await startService([
      ...world,
      record(4, 1, '2026-02-02T00:00:00Z'),
      record(10, 2, '2026-02-02T00:00:00Z'),
      record(9, 1, '2026-02-02T01:00:00+01:00'),
      record(1, 2, '2026-02-02T00:00:00.001Z'),
      record(11, 1, '2026-02-01T23:59:59.999Z'),
      record(2, 1, '1969-12-31T23:59:59Z'),
      record(3, 2, '9999-12-31T23:59:59.999Z'),
      record(12, 3, '2026-02-02T00:00:00Z'),
    ])
    const expected = [3, 1, 10, 9, 4, 11, 2]
    assert.deepEqual(idsOf(await service.fetch(path, 'ben')), expected)
    assert.deepEqual(await walk(service, `${path}?limit=1`, 'ben'), expected)
    assert.deepEqual(await walk(service, `${path}?limit=1&cursor=`, 'ben'), expected)
  })
}

test('devices and people are listed by id', async () => {
  const ids = [4, 10, 9, 1, 11, 2]
  await using service = await startService([
    ...world,
    ...ids.flatMap(id => [lockDevice(id, 2), trainingDevice(id, 2)]),
    ...[11, 4, 10].flatMap(id => [account(id, `user-${id}`), partnership(2, id)]),
  ])
  for (const [path, expected] of [
    ['/api/v1/lkbx', [1, 2, 4, 9, 10, 11]],
    ['/api/v1/dtt', [1, 2, 4, 9, 10, 11]],
    ['/api/v1/users', [1, 2, 4, 10, 11]],
  ] as const) {
    assert.deepEqual(idsOf(await service.fetch(path, 'ben')), expected)
    assert.deepEqual(await walk(service, `${path}?limit=2`, 'ben'), expected)
    assert.deepEqual(await walk(service, `${path}?limit=2&cursor=`, 'ben'), expected)
  }
})

// Pages

/** Ann's sessions 1 to count, one a minute: the highest id is the newest. */
const sessions = (count: number, owner = 1) =>
  Array.from({ length: count }, (_, index) =>
    trainingSession(index + 1, owner, { created_at: minute(index), passed: index % 2 === 0 }),
  )

test('a page has 50 records by default, and says which limit and offset were applied', async () => {
  await using service = await startService([...world, ...sessions(120)])
  for (const [query, first, length, limit, offset] of [
    ['', 120, 50, 50, 0],
    ['?limit=100', 120, 100, 100, 0],
    ['?limit=1&offset=119', 1, 1, 1, 119],
    ['?offset=120', undefined, 0, 50, 120],
    ['?limit=7&offset=1000000', undefined, 0, 7, 1_000_000],
  ] as const) {
    const answer = await service.fetch(`/api/v1/dtt/sessions${query}`, 'ann')
    const ids = idsOf(answer)
    assert.deepEqual([ids[0], ids.length], [first, length], query)
    assert.equal(JSON.stringify(answer.body.data.pagination), `{"limit":${limit},"offset":${offset}}`)
  }
})

/** The queries behind the links of an answer, for a list of 10. */
const links: readonly { query: string; next?: string; prev?: string }[] = [
  { query: '' },
  { query: 'limit=9', next: 'limit=9&offset=9' },
  { query: 'limit=3&offset=0', next: 'limit=3&offset=3' },
  { query: 'limit=3&offset=2', next: 'limit=3&offset=5', prev: 'limit=3&offset=0' },
  { query: 'offset=3&limit=3', next: 'limit=3&offset=6', prev: 'limit=3&offset=0' },
  { query: 'limit=3&offset=7', prev: 'limit=3&offset=4' },
  { query: 'limit=3&offset=12', prev: 'limit=3&offset=9' },
  { query: 'limit=3&offset=13' },
  { query: 'limit=3&offset=5&passed=true', prev: 'limit=3&passed=true&offset=2' },
  { query: 'ownerId=me&limit=9', next: 'ownerId=me&limit=9&offset=9' },
  {
    query: 'ownerId=1&from=2026-01-01T01:00:00%2B01:00&include=owner&limit=4&offset=1',
    next: 'ownerId=1&from=2026-01-01T01%3A00%3A00%2B01%3A00&include=owner&limit=4&offset=5',
    prev: 'ownerId=1&from=2026-01-01T01%3A00%3A00%2B01%3A00&include=owner&limit=4&offset=0',
  },
  { query: '&limit=9&&', next: 'limit=9&offset=9' },
]

for (const publicUrl of ['', 'https://history.example/lockstep']) {
  const where = publicUrl === '' ? 'as paths' : 'on LOCKSTEP_PUBLIC_URL'
  test(`the links of a page lead ${where} to existing pages, and keep limit and filters`, async () => {
    await using service = await startService([...world, ...sessions(10)], { LOCKSTEP_PUBLIC_URL: publicUrl })
    const forwarded = { 'X-Forwarded-Host': 'elsewhere', 'X-Forwarded-Proto': 'gopher' }
    for (const { query, next, prev } of links) {
      const { headers } = await service.fetch(`/api/v1/dtt/sessions?${query}`, 'ann', forwarded)
      const expected = Object.entries({ next, prev })
        .filter(([, turned]) => turned !== undefined)
        .map(([rel, turned]) => `<${publicUrl}/api/v1/dtt/sessions?${turned}>; rel="${rel}"`)
      assert.equal(headers.get('Link'), expected.length === 0 ? null : expected.join(', '), query)
    }
  })
}

test('a page by cursor returns the next cursor, also as its only link, and null at the end', async () => {
  await using service = await startService([...world, ...sessions(3)])
  const first = await service.fetch('/api/v1/dtt/sessions?passed=true&limit=1&cursor=', 'ann')
  const { nextCursor } = first.body.data.pagination
  assert.match(nextCursor, /^[A-Za-z0-9_-]+$/)
  assert.equal(JSON.stringify(first.body.data.pagination), `{"limit":1,"nextCursor":"${nextCursor}"}`)
  const link = `</api/v1/dtt/sessions?passed=true&limit=1&cursor=${nextCursor}>; rel="next"`
  assert.equal(first.headers.get('Link'), link)
  const last = await service.fetch(`/api/v1/dtt/sessions?passed=true&limit=1&cursor=${nextCursor}`, 'ann')
  assert.deepEqual(idsOf(last), [1])
  assert.equal(JSON.stringify(last.body.data.pagination), '{"limit":1,"nextCursor":null}')
  assert.equal(last.headers.get('Link'), null)
})

test('an empty list has one page, without links', async () => {
  await using service = await startService(world)
  const { text, headers } = await service.fetch('/api/v1/dtt/sessions?cursor=', 'ann')
  assert.equal(text, '{"ok":true,"data":{"data":[],"pagination":{"limit":50,"nextCursor":null}}}')
  assert.equal(headers.get('Link'), null)
})

// Cursors

const lists = [...dated.map(({ path }) => path), '/api/v1/lkbx', '/api/v1/dtt', '/api/v1/users']

/** Six records of each kind, half of Ann's and half of Ben's, who reads Ann's; six devices of Ben's; six people whom Ben can see. */
const six: readonly object[] = [
  ...world,
  ...[1, 2, 3, 4, 5, 6].flatMap(id => [
    ...dated.map(({ record }) => record(id, (id % 2) + 1, minute(id % 3))),
    lockDevice(id, 2),
    trainingDevice(id, 2),
  ]),
  ...[4, 5, 6, 7].flatMap(id => [account(id, `user-${id}`), partnership(id, 2)]),
]

const cursorAfter = async (service: TestService, path: string, token: string): Promise<string> => {
  const { body } = await service.fetch(path, token)
  const { nextCursor } = body.data.pagination as { nextCursor: unknown }
  assert.ok(typeof nextCursor === 'string', path)
  return nextCursor
}

test('a cursor belongs to its path and is refused on every other list', async () => {
  await using service = await startService(six)
  for (const path of lists) {
    const cursor = await cursorAfter(service, `${path}?limit=1&cursor=`, 'ben')
    for (const other of lists) {
      const answer = await service.fetch(`${other}?cursor=${cursor}`, 'ben')
      if (other === path) assert.equal(idsOf(answer).length, 5)
      else assertBadCursor(answer)
    }
  }
})

test('a cursor is refused if a filter was added, changed or left out', async () => {
  await using service = await startService([...world, ...sessions(20), ...sessions(0, 2)])
  const path = '/api/v1/dtt/sessions'
  const filters = [
    '',
    'ownerId=1',
    'passed=true',
    'passed=false',
    'from=2026-01-01',
    'to=2026-01-01',
    'ownerId=1&passed=true',
  ]
  for (const filter of filters) {
    const cursor = await cursorAfter(service, `${path}?${filter}&limit=1&cursor=`, 'ben')
    for (const other of filters) {
      const answer = await service.fetch(`${path}?${other}&cursor=${cursor}`, 'ben')
      if (other === filter) assert.ok(idsOf(answer).length > 5)
      else assertBadCursor(answer)
    }
  }
})

test('a cursor works with any limit, inclusion, API key and process', async () => {
  await using service = await startService([...world, ...sessions(6)])
  await using other = await startService([], {}, service)
  const [token, second] = [await service.token('ben'), await service.token('ben')]
  const path = '/api/v1/dtt/sessions'
  const cursor = await cursorAfter(service, `${path}?limit=4&cursor=`, token)
  for (const query of ['limit=1', 'limit=100', 'include=owner', '']) {
    for (const answer of [
      await service.fetch(`${path}?${query}&cursor=${cursor}`, second),
      await other.fetch(`${path}?${query}&cursor=${cursor}`, token),
    ]) {
      assert.equal(idsOf(answer)[0], 2)
    }
  }
})

const damaged: readonly { title: string; damage: (cursor: string) => string }[] = [
  { title: 'text that is no cursor', damage: () => 'next' },
  { title: 'a cursor cut short', damage: cursor => cursor.slice(0, -1) },
  { title: 'a cursor twice', damage: cursor => cursor + cursor },
  { title: 'a cursor moved to another record', damage: cursor => rewritten(cursor, /\.\d+\./, '.2.') },
  { title: 'a cursor with another notation of its time', damage: cursor => rewritten(cursor, /^/, '+') },
]

test('a cursor is bound to the account that a filter names, however it is named', async () => {
  await using service = await startService([...world, ...sessions(5), ...sessions(0, 2)])
  const path = '/api/v1/dtt/sessions'
  const names = ['ownerId=1', 'targetUserId=1', 'ownerId=me', 'targetUserId=me']
  for (const name of names) {
    const cursor = await cursorAfter(service, `${path}?${name}&limit=1&cursor=`, 'ann')
    for (const other of names) {
      assert.deepEqual(idsOf(await service.fetch(`${path}?${other}&cursor=${cursor}`, 'ann')), [4, 3, 2, 1])
    }
    assert.deepEqual(idsOf(await service.fetch(`${path}?ownerId=1&cursor=${cursor}`, 'ben')), [4, 3, 2, 1])
    assertBadCursor(await service.fetch(`${path}?ownerId=me&cursor=${cursor}`, 'ben'))
    assertBadCursor(await service.fetch(`${path}?cursor=${cursor}`, 'ann'))
  }
})

test('text that is not a cursor of the list is refused', async () => {
  await using service = await startService(six)
  for (const path of lists) {
    const cursor = await cursorAfter(service, `${path}?limit=1&cursor=`, 'ben')
    for (const { title, damage } of damaged) {
      assertBadCursor(await service.fetch(`${path}?cursor=${damage(cursor)}`, 'ben'), `${title} at ${path}`)
    }
  }
})

test('a cursor and an offset together are refused, whatever they are', async () => {
  await using service = await startService(six)
  for (const path of lists) {
    const cursor = await cursorAfter(service, `${path}?limit=1&cursor=`, 'ben')
    for (const query of ['cursor=&offset=0', `cursor=${cursor}&offset=0`, `offset=1&cursor=${cursor}`]) {
      assertRefused(await service.fetch(`${path}?${query}`, 'ben'), 400, 'invalid_parameter', {
        fieldErrors: [{ field: 'cursor', message: 'must not be combined with offset' }],
      })
    }
  }
})

// More in the slow tests.
for (const width of process.env['PAGING_RUNS'] === undefined ? [1, 2, 100, 101] : [1, 2, 5, 100, 101, 150]) {
  test(`a walk over the records of ${width} ${width === 1 ? 'account' : 'accounts'} shows each once, whatever is added meanwhile`, async () => {
    const owners = Array.from({ length: width }, (_, index) => index + 1)
    const many = width > 10
    const rows = owners.flatMap(owner =>
      Array.from({ length: many ? 2 : 12 }, (_, index) => ({ id: owner * 1000 + index * 10, owner, at: index % 3 })),
    )
    await using service = await startService(
      [
        ...owners.map(owner => account(owner, `owner-${owner}`)),
        ...owners.slice(1).map(owner => partnership(owner, 1)),
        account(900, 'stranger'),
        ...rows.map(({ id, owner, at }) => trainingSession(id, owner, { created_at: minute(10 + at) })),
        ...rows.map(({ id, owner }) => lockDevice(id, owner)),
        trainingSession(900_000, 900, { created_at: minute(11) }),
        lockDevice(900_000, 900),
      ],
      unlimited,
    )
    let added = 0
    // Before, after and among the existing records, also at the same instants.
    const add = async () => {
      added += 1
      const owner = owners[added % width] ?? 1
      const lines = [0, 10, 11, 12, 20].flatMap((at, index) => [
        trainingSession(added * 10 + index + 1, owner, { created_at: minute(at) }),
        trainingSession(500_000 + added * 10 + index, owner, { created_at: minute(at) }),
      ])
      await service.import([...lines, lockDevice(added, 1), lockDevice(500_000 + added, 1)])
    }
    const newest = rows.toSorted((a, b) => b.at - a.at || b.id - a.id).map(({ id }) => id)
    const byId = rows.flatMap(({ id, owner }) => (owner === 1 ? [id] : []))
    const original = new Set(newest)
    const limit = many ? 60 : 5
    for (const [path, expected] of [
      ['/api/v1/dtt/sessions', newest],
      ['/api/v1/lkbx', byId],
    ] as const) {
      assert.deepEqual(await walk(service, `${path}?limit=${limit}`, 'owner-1'), expected)
      assert.deepEqual(await walk(service, `${path}?limit=${limit}&cursor=`, 'owner-1'), expected)
      const seen = await walk(service, `${path}?limit=${limit}&cursor=`, 'owner-1', add)
      const kept = seen.filter(id => original.has(id))
      assert.deepEqual(kept, expected)
      assert.equal(new Set(seen).size, seen.length)
      assert.ok(added > 1 && !seen.includes(900_000))
      await removeAdded(service, original)
    }
  })
}

// Random lists

const row = fc.record({
  id: fc.integer({ min: 1, max: 99 }),
  owner: fc.integer({ min: 1, max: 4 }),
  at: fc.integer({ min: 0, max: 4 }),
  passed: fc.boolean(),
})

const asked = fc.record({
  rows: fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 40 }),
  limit: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 7, max: 100 })),
  offset: fc.integer({ min: 0, max: 45 }),
  ownerId: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  passed: fc.option(fc.boolean(), { nil: undefined }),
  from: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
  to: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
})

test('pages, links and cursors show what a plain sort of the records shows', async () => {
  // The caller is owner 2, who also reads 1 and 3; 4 is a stranger.
  await using service = await startService([...world, account(4, 'dee'), partnership(3, 2)], unlimited)
  const property = fc.asyncProperty(asked, async ({ rows, limit, offset, ownerId, passed, from, to }) => {
    await removeAdded(service, new Set())
    await service.import(
      rows.flatMap(({ id, owner, at, passed }) => [
        trainingSession(id, owner, { created_at: minute(at), passed }),
        trainingDevice(id, owner),
      ]),
    )
    const [start = 0, end = 9] =
      from !== undefined && to !== undefined ? [from, to].toSorted((a, b) => a - b) : [from, to]
    const mine = rows.filter(({ owner }) => (ownerId === undefined ? owner !== 4 : owner === ownerId))
    const filters = {
      ownerId,
      passed,
      from: from === undefined ? undefined : minute(start),
      to: to === undefined ? undefined : minute(end),
    }
    const found = mine
      .filter(one => (passed === undefined || one.passed === passed) && one.at >= start && one.at < end)
      .toSorted((a, b) => b.at - a.at || b.id - a.id)
      .map(({ id }) => id)
    const query = `limit=${limit}&${queryOf(filters)}`
    await agree(`/api/v1/dtt/sessions?${query}`, found, offset)
    const devices = rows.flatMap(({ id, owner }) => (owner === (ownerId ?? 2) ? [id] : [])).toSorted((a, b) => a - b)
    await agree(`/api/v1/dtt?limit=${limit}&${queryOf({ ownerId })}`, devices, offset)
  })

  const agree = async (path: string, expected: readonly number[], offset: number) => {
    const limit = Number(/limit=(\d+)/.exec(path)?.[1])
    assert.deepEqual(
      idsOf(await service.fetch(`${path}&offset=${offset}`, 'ben')),
      expected.slice(offset, offset + limit),
    )
    assert.deepEqual(await walk(service, path, 'ben'), expected)
    assert.deepEqual(await walk(service, `${path}&cursor=`, 'ben'), expected)
    const back = await walk(service, `${path}&offset=${expected.length}`, 'ben', undefined, 'prev')
    assert.deepEqual(new Set(back), new Set(expected))
  }

  // Many more in the slow tests.
  await fc.assert(property, { numRuns: Number(process.env['PAGING_RUNS'] ?? (postgresUrl === undefined ? 40 : 15)) })
})

/** Identifiers on all pages from an address on, as the links lead; `between` runs before the next page is fetched. */
async function walk(
  service: TestService,
  path: string,
  token: string,
  between?: (page: readonly number[]) => Promise<void>,
  rel: 'next' | 'prev' = 'next',
): Promise<number[]> {
  const ids: number[] = []
  let place: string | undefined = path
  for (let pages = 0; place !== undefined; pages += 1) {
    assert.ok(pages < 1000, 'the walk has no end')
    const answer = await service.fetch(place, token)
    const page = idsOf(answer)
    ids.push(...page)
    place = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(answer.headers.get('Link') ?? '')?.[1]
    const { nextCursor } = answer.body.data.pagination as { nextCursor?: string | null }
    if (nextCursor !== undefined) assert.equal(nextCursor !== null, place !== undefined)
    await between?.(page)
  }
  return ids
}

async function removeAdded({ store: { db } }: TestService, original: ReadonlySet<number>) {
  const kept = [...original, 0]
  for (const table of ['training_session', 'training_device', 'lock_device'] as const) {
    await db.deleteFrom(table).where('id', 'not in', kept).execute()
    await noteChangedRecords(db, table, sql`select id from account`)
  }
}

function assertBadCursor(answer: TestResponse, title = 'a cursor of another list') {
  assert.equal(answer.status, 400, title)
  const message = 'must be empty or a nextCursor of this path with these filters'
  assertRefused(answer, 400, 'invalid_parameter', {
    error: `cursor ${message}`,
    fieldErrors: [{ field: 'cursor', message }],
  })
}

/** A cursor with something changed in what it encodes. */
function rewritten(cursor: string, part: RegExp, replacement: string): string {
  const plain = Buffer.from(cursor, 'base64url').toString()
  return Buffer.from(plain.replace(part, replacement)).toString('base64url')
}

function minute(count: number): string {
  return new Date(Date.UTC(2026, 0, 1, 0, count)).toISOString()
}

function queryOf(values: Readonly<Record<string, string | number | boolean | undefined>>): string {
  return Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
    .join('&')
}
