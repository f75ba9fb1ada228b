import { setTimeout as sleep } from 'node:timers/promises'
import { hash } from 'node:crypto'
import { Kysely, PostgresDialect, sql } from 'kysely'
import type pg from 'pg'
import { allowDistributedPlans, requireOneServer } from './distributed.ts'
import { checkReadiness } from './migrations.ts'
import { APPLICATION_NAME, guarded, makePool, takeClient } from './postgres-pool.ts'
import { type OpenOptions, type Store, StoreError, runTransaction } from './store.ts'
import type { Tables } from './tables.ts'
import { isConnectionLost, isInDoubt, translate } from './postgres-errors.ts'
import { compile, type Query } from './query.ts'

/** Opens a PostgreSQL database. Throws StoreUnavailableError if it is away, or behind a pooler that loses prepared statements. */
export async function openPostgres(url: string, options: OpenOptions): Promise<Store> {
  let isDistributed = false
  const prepare = async (client: pg.ClientBase) => void (isDistributed = await allowDistributedPlans(client))
  const pool = makePool(url, options, { min: 1, max: 5, settings: NOTICING_DEATH })
  const reading = makePool(url, options, { max: 10, settings: READING, prepare })
  const end = () => Promise.all([pool, reading].map(each => each.end()))
  try {
    // One after the other, so that a pooler uses one connection for both.
    for (const each of options.exclusive === true ? [pool] : [pool, reading]) (await takeClient(each)).release()
  } catch (error) {
    await end()
    throw error
  }
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: guarded(pool) }) })
  const read = makeReader(db, reading, () => isDistributed)

  return {
    engine: 'postgres',
    db,
    reads: db,
    read,
    health: () => checkReadiness({ read }),
    snapshot: work => db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work),
    locked: runLocked,
    async requireAlone() {
      await requireOneServer(db)
      await requireAlone(db)
    },
    erase: undefined,
    close: async () => void (await end()),
    [Symbol.asyncDispose]: async () => void (await end()),
  }
}

/**
 * How the planner is to treat compiled reads. One plan is right for them whatever the tables hold: along an index, in
 * order. By default the planner sometimes sorts all rows of an account instead, because it misjudges new tables or a
 * limit that it does not know yet.
 */
export const planning = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
}

/** Within a minute after a machine has died, the server ends its sessions, with their locks: by default it takes two hours. */
const NOTICING_DEATH = {
  tcp_keepalives_idle: '15',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '35000',
}

const READING = { ...planning, default_transaction_read_only: 'on' }

/** Throws StoreError if another process of this program uses the database. Other programs, such as a monitor, do not matter. */
async function requireAlone(db: Kysely<Tables>) {
  // The server notices a little later that a process has ended.
  const deadline = performance.now() + 2000
  for (;;) {
    const { rows } = await sql`select pid from pg_stat_activity
      where datname = current_database() and application_name = ${APPLICATION_NAME}`.execute(db)
    if (rows.length === 0) return
    if (performance.now() > deadline) throw new StoreError('another process has the database open: stop it first')
    await sleep(50)
  }
}

const WRITE_LOCK = 5625_002

/** Runs work in a transaction; one at a time in all processes, while ordinary writers continue. */
async function runLocked<Result>(connection: Kysely<Tables>, work: () => Promise<Result>): Promise<Result> {
  // Whatever the default of the database: changes committed while this waits for the lock must be seen.
  return runTransaction(connection, sql`begin isolation level read committed`, async () => {
    await sql`select pg_advisory_xact_lock(${WRITE_LOCK})`.execute(connection)
    return work()
  })
}

/** Runs compiled queries on a pool, as prepared statements; once more where the connection was lost before there was an answer. */
function makeReader(db: Kysely<Tables>, pool: pg.Pool, isDistributed: () => boolean) {
  const prepare = (query: Query<never, unknown>) => {
    const { sql: text, parameters } = compile(db, 'postgres', query, isDistributed())
    // The same name for the same text in every process: a pooler may give one process the statements of another.
    return { name: `lockstep_${hash('sha256', text, 'base64url')}`, text, parameters }
  }
  const statements = new WeakMap<object, ReturnType<typeof prepare>>()

  return async <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const { name, text, parameters } = statements.getOrInsertComputed(query, () => prepare(query))
    const statement = { name, text, values: parameters(values) }
    try {
      return await run<Row>(pool, statement).catch((error: unknown) => {
        if (isConnectionLost(error)) return run<Row>(pool, statement)
        throw error
      })
    } catch (error) {
      throw translate(error)
    }
  }
}

async function run<Row>(pool: pg.Pool, statement: pg.QueryConfig): Promise<Row[]> {
  const client = await takeClient(pool)
  let failure: unknown
  try {
    const { rows } = await client.query(statement)
    // The columns of a query are those of its Row.
    return rows as Row[]
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.release(isInDoubt(failure))
  }
}
