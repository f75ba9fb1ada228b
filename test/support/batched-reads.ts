import assert from 'node:assert/strict'
import fc from 'fast-check'
import type pg from 'pg'
import { sql } from 'kysely'
import { open, type Store, StoreUnavailableError } from '../../src/store/index.ts'
import { MAX_BATCH } from '../../src/store/postgres-read-queue.ts'
import { query } from '../../src/store/query.ts'
import { connect } from './postgres.ts'
import { until } from './waiting.ts'

interface Values {
  /** What each row says. */
  readonly text: string
  /** Whether the read waits for whoever holds the gate. */
  readonly waits?: 1
  /** The read fails with 0. */
  readonly divisor?: number
  /** The backend that ends when it runs the read. */
  readonly victim?: number
}

interface Row {
  readonly text: string
  readonly pid: number
  /** When the transaction that it ran in began. */
  readonly began: number
}

const GATE = 77

/** Statements of one row, of some, and of more bytes than the server collects before it sends: more than fit into one batch. */
const SIZES = [
  { rows: 1, repeats: 1 },
  { rows: 5, repeats: 1 },
  { rows: 3, repeats: 3000 },
  ...Array.from({ length: MAX_BATCH }, (_, index) => ({ rows: 1, repeats: 2 + index })),
]

const statements = SIZES.map(({ rows, repeats }) =>
  query<Values, Row>(
    param => sql`
      select repeat(cast(${param('text')} as text), ${sql.lit(repeats)}) as text, pg_backend_pid() as pid,
        cast(extract(epoch from now()) * 1000000 as bigint) as began,
        case cast(${param('waits')} as bigint) when 1 then cast(pg_advisory_xact_lock_shared(${sql.lit(GATE)}) as text) end as gate,
        100 / coalesce(cast(${param('divisor')} as bigint), 1) as share,
        case pg_backend_pid() when cast(${param('victim')} as bigint) then pg_terminate_backend(pg_backend_pid()) end as ended
      from generate_series(1, ${sql.lit(rows)})`,
  ),
)

/** Reads as one of the statements. */
async function readAs(store: Store, index: number, values: Values): Promise<readonly Row[]> {
  const [statement, size] = [statements[index], SIZES[index]]
  assert.ok(statement !== undefined && size !== undefined)
  const rows = await store.read(statement, values)
  const texts = Array.from({ length: size.rows }, () => values.text.repeat(size.repeats))
  assert.deepEqual(
    rows.map(({ text }) => text),
    texts,
  )
  return rows
}

/** Reads at the same time, as each statement in turn, with what is special about some of them. */
function readTogether(store: Store, count: number, special: Readonly<Record<number, Partial<Values>>> = {}) {
  return Array.from({ length: count }, (_, index) =>
    readAs(store, index % statements.length, { text: `é ${index} '`, ...special[index] }),
  )
}

/** Waits until each statement is known to be short, so that reads that come together are sent together. */
async function becomeShort(store: Store) {
  await until(async () => {
    const rows = (await Promise.all(readTogether(store, 60))).flat()
    return new Set(rows.map(({ pid, began }) => `${pid} ${began}`)).size <= 20
  })
}

interface Opened {
  readonly store: Store
  /** A session beside those of the store. */
  readonly other: pg.Client
}

/** What is true of reads that are sent together. */
interface Promised {
  readonly title: string
  readonly statementTimeoutMs?: number
  work(opened: Opened): Promise<void>
}

/** Tries it with a store at `address`, which has found out that its reads are short; `direct` is the server itself. */
export async function tryReads({ statementTimeoutMs, work }: Promised, address: string, direct = address) {
  const limit = statementTimeoutMs === undefined ? {} : { statementTimeoutMs }
  const store = await open(address, { busyTimeoutMs: 60_000, connectTimeoutMs: 60_000, ...limit })
  try {
    await using other = await connect(direct)
    await becomeShort(store)
    await work({ store, other })
  } finally {
    await store.close()
  }
}

export const promisedReads: readonly Promised[] = [
  {
    title: 'a thousand reads at the same time each get their own result',
    async work({ store }) {
      const reads = fc.array(
        fc.record({ index: fc.nat({ max: statements.length - 1 }), text: fc.string({ unit: 'binary', maxLength: 9 }) }),
        { minLength: 1000, maxLength: 1000 },
      )
      await fc.assert(
        fc.asyncProperty(reads, async all => {
          // A text of PostgreSQL has no zero byte.
          await Promise.all(all.map(({ index, text }) => readAs(store, index, { text: text.replaceAll('\0', '') })))
        }),
        { numRuns: 5 },
      )
    },
  },

  {
    title: 'a read that fails does not fail those that were sent with it, nor later ones',
    async work({ store }) {
      // More than one for each connection, among them the first that new connections get.
      const failing = Array.from({ length: 12 }, (_, index) => 1 + 13 * index)
      for (let round = 0; round < 5; round += 1) {
        const special = Object.fromEntries(failing.map(index => [index, { divisor: 0 }]))
        const results = await Promise.allSettled(readTogether(store, 160, special))
        const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))
        assert.deepEqual(failed, failing)
        await Promise.all(readTogether(store, 160))
        await becomeShort(store)
      }
    },
  },

  {
    title: 'a read that has to wait does not hold up those that were sent with it',
    async work({ store, other }) {
      await other.query(`select pg_advisory_lock(${GATE})`)
      const reads = readTogether(store, 30, { 1: { waits: 1 }, 20: { waits: 1 } })
      const ended: number[] = []
      for (const [index, read] of reads.entries()) read.then(() => ended.push(index)).catch(() => {})
      await Promise.all(reads.filter((_, index) => index !== 1 && index !== 20))
      assert.equal(ended.length, 28)
      await other.query(`select pg_advisory_unlock(${GATE})`)
      await Promise.all(reads)
    },
  },

  {
    title: 'a read that takes too long fails alone',
    async work({ store, other }) {
      await other.query(`select pg_advisory_lock(${GATE})`)
      const results = await Promise.allSettled(readTogether(store, 20, { 3: { waits: 1 } }))
      assert.deepEqual(
        results.flatMap(result =>
          result.status === 'rejected' ? [result.reason instanceof StoreUnavailableError] : [],
        ),
        [true],
      )
      assert.equal(results[3]?.status, 'rejected')
    },
    statementTimeoutMs: 4000,
  },

  {
    title: 'reads whose connection is lost on the way all get their result',
    async work({ store, other }) {
      const isThere = async (pid: number) =>
        (await other.query('select 1 from pg_stat_activity where pid = $1', [pid])).rowCount === 1
      for (let round = 0; round < 5; round += 1) {
        // Which connection gets a read is not known, but sooner or later it is one of those that had the latest.
        await until(async () => {
          const [victim] = (await Promise.all(readTogether(store, 60))).flat().slice(20)
          assert.ok(victim !== undefined)
          await Promise.all(readTogether(store, 40, { 5: { victim: victim.pid }, 25: { victim: victim.pid } }))
          return !(await isThere(victim.pid))
        })
        await becomeShort(store)
      }
    },
  },
]
