import assert from 'node:assert/strict'
import { sql } from '../../src/vendor/kysely.js'
import { open } from '../../src/store/index.ts'
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
