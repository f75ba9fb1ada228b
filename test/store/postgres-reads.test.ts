import assert from 'node:assert/strict'
import fc from 'fast-check'
import { sql } from 'kysely'
import { open, type Store, StoreUnavailableError } from '../../src/store/index.ts'
import { query } from '../../src/store/query.ts'
import { characters } from '../support/characters.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'
import { connect } from '../support/postgres.ts'

// engine: sqlite

interface Values {
  readonly text: string
  readonly by: number
}

/** Statements that give numbers, texts and nulls in different columns, and as many rows as they are asked for. */
const divisions = Array.from({ length: 5 }, (_, index) =>
  query<Values, Record<string, unknown>>(
    param => sql`
      select 100 / cast(${param('by')} as bigint) as ${sql.ref(`share_${index}`)}, cast(${param('text')} as text) as text,
        cast(null as bigint) as nothing
      from generate_series(0, cast(${param('by')} as bigint))`,
  ),
)

async function assertRead(store: Store, index: number, { text, by }: Values) {
  const division = divisions[index % divisions.length]
  assert.ok(division !== undefined)
  const row = { [`share_${index % divisions.length}`]: Math.trunc(100 / by), text, nothing: null }
  assert.deepEqual(
    await store.read(division, { text, by }),
    Array.from({ length: by + 1 }, () => row),
  )
}

testOnEmptyPostgres('a thousand reads at the same time each get their own result', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 60_000, connectTimeoutMs: 60_000 })
  const read = fc.record({ text: fc.string({ unit: characters, maxLength: 9 }), by: fc.integer({ min: 1, max: 9 }) })
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(read, { minLength: 1000, maxLength: 1000 }), async reads => {
        // A text of PostgreSQL has no zero byte.
        await Promise.all(
          reads.map(({ text, by }, index) => assertRead(store, index, { text: text.replaceAll('\0', ''), by })),
        )
      }),
      { numRuns: 1 },
    )
  } finally {
    await store.close()
  }
})

testOnEmptyPostgres('reads that fail or take too long fail alone; their connections go on', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 5000, connectTimeoutMs: 60_000, statementTimeoutMs: 1000 })
  try {
    await using other = await connect(url)
    await other.query('select pg_advisory_lock(77)')
    const waiting = query<object, object>(() => sql`select pg_advisory_xact_lock_shared(77)`)
    for (const zero of [true, false]) {
      // More than there are connections.
      const reads = Array.from({ length: 45 }, async (_, index) =>
        index % 15 === 7
          ? store.read(waiting, {})
          : assertRead(store, index, { text: `é ${index} '`, by: zero && index % 3 === 0 ? 0 : 2 }),
      )
      for (const [index, result] of (await Promise.allSettled(reads)).entries()) {
        const fails = index % 15 === 7 || (zero && index % 3 === 0)
        assert.equal(result.status, fails ? 'rejected' : 'fulfilled', `${index}`)
        if (result.status === 'rejected' && index % 15 === 7) assert.ok(result.reason instanceof StoreUnavailableError)
      }
    }
  } finally {
    await store.close()
  }
})

const sum = query<{ one: number; other: number }, { sum: number }>(
  param => sql`select cast(${param('one')} as bigint) + cast(${param('other')} as bigint) as sum`,
)

/** What is prepared on the connection that reads. */
const prepared = query<object, { name: string }>(
  () => sql`select name from pg_prepared_statements where statement like '%as sum'`,
)

/** Reads one after the other use the same connection. */
const run = (store: Store, statement: string) =>
  store.read(
    query<object, object>(() => sql.raw(statement)),
    {},
  )

const confusions: readonly (readonly [what: string, confuse: (store: Store, name: string) => Promise<void>])[] = [
  ['missing', async store => void (await run(store, 'deallocate all'))],
  [
    'one of another client',
    async (store, name) => {
      await run(store, 'deallocate all')
      await run(store, `prepare "${name}" (bigint) as select $1 as sum`)
    },
  ],
]

for (const [what, confuse] of confusions) {
  testOnEmptyPostgres(
    `a read whose prepared statement is ${what} fails with the reason or is done again, and the next one works`,
    async ({ url }) => {
      const store = await open(url, { busyTimeoutMs: 4000 })
      try {
        await store.read(sum, { one: 1, other: 1 })
        const [row] = await store.read(prepared, {})
        const name = row?.name ?? ''
        assert.ok(name.length > 40 && Buffer.byteLength(name) <= 63, name)
        await confuse(store, name)
        const result = await Promise.resolve(store.read(sum, { one: 1, other: 2 })).catch((error: unknown) => error)
        if (result instanceof StoreUnavailableError)
          assert.match(result.message, /^a pooler loses the prepared statements/)
        else assert.deepEqual(result, [{ sum: 3 }])
        assert.deepEqual(await store.read(sum, { one: 2, other: 2 }), [{ sum: 4 }])
      } finally {
        await store.close()
      }
    },
  )
}
