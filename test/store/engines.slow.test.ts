import assert from 'node:assert/strict'
import { after } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { open, type Store } from '../../src/store/index.ts'
import { createKey, listKeys } from '../../src/accounts/api-keys.ts'
import { addresses, type Values } from '../support/addresses.ts'
import { type SecondServer, startSecondServer } from '../support/second-server.ts'
import { withoutRequest } from '../support/responses.ts'
import { newSqlite, type TestDatabase } from '../support/databases.ts'
import { emptyPostgres } from '../support/engines.ts'
import { runSql, testOnPostgres } from '../support/postgres.ts'
import {
  account,
  lockDevice,
  lockSegment,
  lockSession,
  lockTemplate,
  partnership,
  trainerSegment,
  trainingDevice,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { equalizeRevisions } from '../support/revisions.ts'
import { atOneTime } from '../support/waiting.ts'
import { archiveOf, unlimited } from '../support/service.ts'
import { exportOf } from '../support/archives.ts'

// engine: any

const LARGEST = Number.MAX_SAFE_INTEGER

/** Text that engines, drivers or encodings could change on the way. */
const AWKWARD = `'"\\ $1 ? :x {} %s \u{1F512} \u0001\u007f\u2028 é e\u0301 \ufeff ﷽ \u202e ${'long '.repeat(2000)}`

/** More accounts than a list is put together from one by one. */
const crowd = Array.from({ length: 110 }, (_, index) => 2000 + index)

/** Records with extreme values. */
const edges: readonly object[] = [
  account(1000, 'edge', {
    profileTitle: AWKWARD,
    totalPoints: LARGEST,
    subscriptionEndsAt: '9999-12-31T23:59:59.999Z',
  }),
  account(LARGEST, 'Größte 账户'),
  partnership(LARGEST, 1000),
  ...crowd.flatMap(id => [account(id, `one-of-${id}`), partnership(id, 1000)]),
  ...crowd.map(id => lockTemplate(id, id, { createdAt: '2026-03-03T03:03:03.003Z' })),
  ...crowd.map(id => trainingDevice(id, id)),
  lockTemplate(LARGEST, LARGEST, { name: AWKWARD, duration: 0 }),
  lockTemplate(1000, 1000, { createdAt: '0001-01-01T00:00:00Z', name: '' }),
  lockTemplate(1001, 1000, { createdAt: '9999-12-31T23:59:59.999Z', isPublic: true }),
  lockDevice(LARGEST, LARGEST, { bubbleId: AWKWARD, hueShift: -360 }),
  lockDevice(1000, 1000),
  trainingTemplate(LARGEST, LARGEST, { isPublic: true, name: AWKWARD, Segment: [] }),
  trainingTemplate(1000, 1000, { isActive: true, Segment: [] }),
  ...[1000, 1001, 1002].map(id => lockSession(id, 1000, { isActive: true }, { templateId: id })),
  lockSession(LARGEST, LARGEST, { lockState: AWKWARD.slice(0, 300), LockSegment: [] }),
  lockSession(1003, 1000, {
    lockState: 'no such state',
    LockSegment: Array.from({ length: 500 }, (_, index) =>
      lockSegment(index + 1, 'break', `2026-01-01T00:00:0${index % 10}.${100 + index}Z`, index % 2 === 0),
    ),
  }),
  ...[1000, 1001, 1002, LARGEST].map(id =>
    trainingSession(id, 1000, {
      created_at: '2026-02-16T18:00:00.001Z',
      passed: id % 2 === 0,
      TrainerSegment: [trainerSegment(7)],
    }),
  ),
  trainingSession(1003, 1000, {
    TrainerSegment: [
      trainerSegment(1, { distanceTravelled: 1e-6, speedMeasured: 33.333333333333336, points: -1 }),
      trainerSegment(2, { distanceTravelled: 123456789.123456, strokeLength: 1e-7, type: AWKWARD.slice(0, 60) }),
    ],
  }),
  trainingSession(1004, 1000, { TrainerSegment: [] }, { legacyUpload: true }),
]

const values: Values = {
  limit: ['7', '100', '0'],
  offset: ['3', '0', '100000', String(LARGEST), '3000000000'],
  cursor: ['', 'x'],
  ownerId: ['1', '1000', '2001', '3000000000', String(LARGEST), '99999999999999999999'],
  targetUserId: ['1', '1000', '3000000000', String(LARGEST)],
  from: ['2026-02-01', '0001-01-01', '9999-12-31T23:59:59.999Z', '2026-02-16T18:00:00.001Z'],
  to: ['2026-11-15', '0001-01-01T00:00:00Z', '9999-12-31', '2026-02-16T18:00:00.001Z'],
  passed: ['true', 'false'],
  lockState: ['completed', 'no%20such%20state', encodeURIComponent(AWKWARD.slice(0, 300)), '%27'],
  include: ['owner', 'template'],
}

const ids = [
  '1',
  '2',
  '1000',
  '1003',
  '1004',
  '2001',
  '3000000000',
  String(LARGEST),
  '9007199254740992',
  '99999999999999999999',
]

// What has been read grows with each request, and is written from time to time.
const compared = [...addresses(values, ids)].filter(address => !address.startsWith('/api/v1/me/reads'))
const everyNth = (n: number) => compared.filter((_, index) => index % n === 0)

/** A store with everything in it, served. */
interface Served {
  readonly store: Store
  readonly service: SecondServer
  end(): Promise<void>
}

const callers = ['alex', 'robin', 'sam', 'edge', 'Größte 账户']
/** A token for each caller, the same in every store. */
const tokens: string[] = []

const database = newSqlite()
const reference = await serveAll(await open(database.url, { busyTimeoutMs: 5000 }), () => database.remove())
after(() => reference.end())

/** Defaults of a role that change how the server reads or writes values as text. */
const UNUSUAL = {
  datestyle: 'SQL, DMY',
  timezone: 'Pacific/Chatham',
  intervalstyle: 'sql_standard',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  backslash_quote: 'off',
  client_encoding: 'LATIN1',
  default_transaction_isolation: 'serializable',
  transform_null_equals: 'on',
}

testOnPostgres('PostgreSQL gives the same responses as SQLite, byte for byte, with validators and links', async t => {
  const empty = await emptyPostgres()
  for (const [name, value] of Object.entries(UNUSUAL)) {
    await runSql(empty.url, `alter database ${new URL(empty.url).pathname.slice(1)} set ${name} = '${value}'`)
  }
  const other = await serveAll(await open(empty.url, { busyTimeoutMs: 5000 }), () => empty.remove())
  try {
    await t.test('every endpoint with every parameter', () => compareAnswers(other, everyNth(1), ['edge']))
    await t.test('some of them for every caller', () => compareAnswers(other, everyNth(9)))
    await t.test('exports, of everything and of one account', async () => {
      const whole = await exportOf(reference.store)
      assert.ok(whole.length > 100_000)
      assert.equal(await exportOf(other.store), whole)
      assert.equal(await exportOf(other.store, 1000), await exportOf(reference.store, 1000))
    })
  } finally {
    await other.end()
  }
})

async function serveAll(store: Store, remove: TestDatabase['remove'] = async () => {}): Promise<Served> {
  const lines = [...sampleArchive(Date.UTC(2026, 10, 20, 15)), ...edges]
  await importArchive(store, archiveOf(lines))
  await equalizeRevisions(store)
  if (tokens.length === 0) await makeTokens(store)
  else await copyTokens(store)
  const service = await startSecondServer({ store }, unlimited)
  return {
    store,
    service,
    async end() {
      await service.close()
      await store.close()
      await remove()
    },
  }
}

async function makeTokens(store: Store) {
  for (const username of callers) {
    const { id } = await store.db
      .selectFrom('account')
      .select('id')
      .where('username', '=', username)
      .executeTakeFirstOrThrow()
    const request = {
      accountId: id,
      name: AWKWARD.slice(0, 20),
      scopes: ['lkbx:read', 'dtt:read', 'shared:access'],
      expiresAt: null,
    }
    tokens.push(await createKey(store, request, Date.now()))
  }
  // From the first response on.
  await store.db.updateTable('token').set({ last_used_at: Date.now() }).execute()
}

async function copyTokens(store: Store) {
  const rows = await reference.store.db.selectFrom('token').selectAll().execute()
  await store.db.insertInto('token').values(rows).execute()
  assert.equal((await listKeys(store)).length, callers.length)
}

/** Asks both the same, and each page's next one too. */
async function compareAnswers(other: Served, asked: readonly string[], names: readonly string[] = callers) {
  const statuses = new Map<number, number>()
  for (const name of names) {
    for (const address of asked) {
      let next: string | undefined = address
      for (let pages = 0; next !== undefined && pages < 3; pages += 1) {
        const path: string = next
        const [expected, found]: Answered[] = await atOneTime(
          () => answer(reference, path, name),
          () => answer(other, path, name),
        )
        assert.deepEqual(found, expected, `${name} asks ${next}`)
        const status = expected?.status ?? 0
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        const link: string = expected?.headers.find(([header]) => header === 'link')?.[1] ?? ''
        next = /<([^>]*)>; rel="next"/.exec(link)?.[1]
      }
    }
  }
  // Not only errors were compared.
  assert.deepEqual(
    [...statuses.keys()].toSorted((a, b) => a - b),
    [200, 400, 403, 404],
  )
  assert.ok((statuses.get(200) ?? 0) > asked.length / 3)
}

type Answered = ReturnType<typeof withoutRequest>

/** Without what tells when it was asked: the last use of the token, and the validator of a response that holds it. */
async function answer({ service }: Served, path: string, caller: string): Promise<Answered> {
  const authorization = `Bearer ${tokens[callers.indexOf(caller)]}`
  const response = await fetch(service.url + path, { headers: { Authorization: authorization } })
  const whole = await response.text()
  const text = whole.replace(/"lastUsedAt":"[^"]*"/, '"lastUsedAt":""')
  const headers = new Headers(response.headers)
  if (text !== whole) headers.delete('ETag')
  return withoutRequest({ status: response.status, headers, text, body: undefined })
}
