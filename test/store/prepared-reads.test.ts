import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { open, type Store } from '../../src/store/index.ts'
import { query } from '../../src/store/query.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'

// engine: sqlite

const division = query<{ by: number; text: string }, { share: number; text: string; nothing: null }>(
  param => sql`
    select 100 / cast(${param('by')} as bigint) as share, cast(${param('text')} as text) as text,
      cast(null as bigint) as nothing
    from generate_series(1, cast(${param('by')} as bigint) + 1)`,
)

testOnEmptyPostgres(
  'a read that failed works again on every connection, and gives numbers, texts and nulls',
  async ({ url }) => {
    const store = await open(url, { busyTimeoutMs: 4000 })
    try {
      for (const by of [0, 2, 0, 5]) {
        // More than there are connections.
        const reads = Array.from({ length: 25 }, async (_, index) => store.read(division, { by, text: `é ${index} '` }))
        const results = await Promise.allSettled(reads)
        for (const [index, result] of results.entries()) {
          if (by === 0) assert.equal(result.status, 'rejected')
          else {
            assert.ok(result.status === 'fulfilled', `${by}`)
            const row = { share: 100 / by, text: `é ${index} '`, nothing: null }
            assert.deepEqual(
              result.value,
              Array.from({ length: by + 1 }, () => row),
            )
          }
        }
      }
    } finally {
      await store.close()
    }
  },
)

const sum = query<{ one: number; other: number }, { sum: number }>(
  param => sql`select cast(${param('one')} as bigint) + cast(${param('other')} as bigint) as sum`,
)

/** What else was prepared on the connection that reads, by name. */
const prepared = query<object, { name: string }>(
  () => sql`select name from pg_prepared_statements where statement like '%as sum' order by name`,
)

/** Reads one after the other use the same connection. */
const run = (store: Store, statement: string) =>
  store.read(
    query<object, object>(() => sql.raw(statement)),
    {},
  )

const lost: readonly (readonly [what: string, lose: (store: Store, name: string) => Promise<void>])[] = [
  [
    'missing',
    async store => {
      await store.read(sum, { one: 1, other: 1 })
      await run(store, 'deallocate all')
    },
  ],
  [
    'there already',
    async (store, name) => {
      await run(store, `prepare "${name}" as select 'of another client' as sum`)
    },
  ],
  [
    'another one',
    async (store, name) => {
      await store.read(sum, { one: 1, other: 1 })
      await run(store, 'deallocate all')
      await run(store, `prepare "${name}" (bigint) as select $1 as sum`)
    },
  ],
]

for (const [what, lose] of lost) {
  testOnEmptyPostgres(
    `a read whose statement is ${what} is repeated and does not fail; later reads prepare theirs each time, and one message says so`,
    async ({ url }) => {
      const problems: Error[] = []
      const store = await open(url, { busyTimeoutMs: 4000, onProblem: problem => problems.push(problem) })
      try {
        const name = await nameOfSum(url)
        await lose(store, name)
        assert.deepEqual(await store.read(sum, { one: 1, other: 2 }), [{ sum: 3 }])
        const reads = Array.from({ length: 40 }, async (_, one) => store.read(sum, { one, other: 2 }))
        assert.deepEqual(
          (await Promise.all(reads)).flat().map(row => row.sum),
          Array.from({ length: 40 }, (_, one) => one + 2),
        )
        await run(store, 'deallocate all')
        await store.read(sum, { one: 1, other: 2 })
        assert.deepEqual(await store.read(prepared, {}), [])
        assert.deepEqual(
          problems.map(({ message }) => message),
          ['a pooler does not keep prepared statements: reads are prepared each time from now on'],
        )
      } finally {
        await store.close()
      }
    },
  )
}

/** The same in every process, so another store has it, too. */
async function nameOfSum(url: string): Promise<string> {
  const store = await open(url, { busyTimeoutMs: 4000 })
  try {
    await store.read(sum, { one: 1, other: 1 })
    const [row] = await store.read(prepared, {})
    const name = row?.name ?? ''
    assert.ok(name.length > 40 && Buffer.byteLength(name) <= 63, name)
    return name
  } finally {
    await store.close()
  }
}
