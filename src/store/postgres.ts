import { Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import pg from 'pg'
import { type OpenOptions, type Store, StoreError, StoreUnavailableError } from './store.ts'
import { checkVersion } from './migrations.ts'
import { type Compiled, compile, type Query } from './query.ts'
import { watchPrimary } from './primary-health.ts'
import { watchReplicas } from './replicas.ts'
import type { Tables } from './tables.ts'

/**
 * Opens a PostgreSQL database. Nothing is asked of it before the first statement. Reads of records go to a replica that
 * is alive and current, where there is one, else to the primary; everything else goes to the primary.
 */
export function openPostgres(url: string, { busyTimeoutMs, statementTimeout, readUrls = [] }: OpenOptions): Store {
  const limits = { statementTimeout, lockTimeout: busyTimeoutMs }
  const pool = makePool(url, { ...limits, most: 5 })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: guarded(pool) }) })
  const reads = makePool(url, { ...limits, ...READING })
  const readPrimary = makeReader(db, reads)
  const replicas =
    readUrls.length === 0
      ? undefined
      : watchReplicas(
          makePool(url, WATCHING),
          readUrls.map(readUrl => {
            const replicaPool = makePool(readUrl, { ...ON_REPLICA, ...READING })
            return {
              watch: makePool(readUrl, WATCHING),
              read: makeReader(db, replicaPool),
              close: () => replicaPool.end(),
            }
          }),
        )

  const reach = watchPrimary(makePool(url, WATCHING))

  const readRecords: Reader = async (query, values) => {
    for (const replica of replicas?.current() ?? []) {
      try {
        return await replica.read(query, values)
      } catch (error) {
        // Whatever is wrong with a replica, the primary can still answer. A query that took too long says nothing of it.
        if (!isCancelled(error)) replica.fail()
      }
    }
    return readPrimary(query, values)
  }

  return {
    engine: 'postgres',
    db,
    read: (query, values) => (query.onlyRecords ? readRecords(query, values) : readPrimary(query, values)),
    async health() {
      try {
        await checkVersion({ read: readPrimary })
        return 'ready'
      } catch (error) {
        if (replicas === undefined || replicas.current().length === 0) throw error
        return 'degraded'
      }
    },
    snapshot: work => db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work),
    async locked(connection, work) {
      // What others have stored while this waited for the lock must be seen, whatever the default.
      await sql`begin isolation level read committed`.execute(connection)
      try {
        // One at a time; ordinary writers go on.
        await sql`select pg_advisory_xact_lock(${IMPORT_LOCK})`.execute(connection)
        const result = await work()
        await sql`commit`.execute(connection)
        return result
      } catch (error) {
        await sql`rollback`.execute(connection).catch(() => {})
        throw error
      }
    },
    backup: undefined,
    reach,
    async close() {
      await Promise.all([replicas?.close(), reach.close(), reads.end()])
      // Kysely ends only a pool it has used.
      await db.destroy()
      if (!pool.ended) await pool.end()
    },
  }
}

export type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

interface PoolOptions {
  /** Milliseconds for one statement; any time if not given. */
  readonly statementTimeout: number | undefined
  readonly lockTimeout: number
  /** Milliseconds to wait for a connection. */
  readonly connectTimeout?: number
  readonly most: number
  /** Of the server, for each session. */
  readonly settings?: Readonly<Record<string, string>>
}

/**
 * What compiled reads ask of the planner. They have one plan that is right whatever the tables hold: along an index, in
 * order. Left alone, the planner now and then sorts all that an account has: by what it guesses of new tables, or of a
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

const READING = { most: 10, settings: { ...planning, default_transaction_read_only: 'on' } }

// What a replica does not answer in a third of the time is asked of the primary, which has the rest.
const ON_REPLICA = { statementTimeout: 1200, lockTimeout: 1200, connectTimeout: 500 }

// On a connection of its own, or a pool in full use would look like a database that is gone.
const WATCHING = { statementTimeout: 800, lockTimeout: 800, connectTimeout: 800, most: 1 }

/** Integers come as numbers: every one that is stored is exact. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(type, format) as (text: string) => unknown),
}

function makePool(
  url: string,
  { statementTimeout, lockTimeout, connectTimeout = 2000, most, settings = {} }: PoolOptions,
): pg.Pool {
  const address = URL.parse(url)
  if (address === null) throw new StoreError('the database must be named as postgres://user@host:port/database')
  for (const [name, value] of Object.entries(settings)) {
    address.searchParams.set('options', `${address.searchParams.get('options') ?? ''} -c ${name}=${value}`)
  }
  const pool = new pg.Pool({
    connectionString: address.href,
    types,
    max: most,
    connectionTimeoutMillis: connectTimeout,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: 'lockstep',
    lock_timeout: lockTimeout,
    ...(statementTimeout === undefined
      ? {}
      : // The first asks the server to give up, the second gives up on the server.
        { statement_timeout: statementTimeout, query_timeout: statementTimeout + 300 }),
  })
  // Without listeners, a connection that is lost while nobody uses it ends the process.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

/** Runs compiled reads on a pool, as prepared statements; once more where the connection was lost. */
function makeReader(db: Kysely<Tables>, pool: pg.Pool): Reader {
  const statements = new WeakMap<object, Compiled & { readonly name: string }>()
  let prepared = 0

  const prepare = (query: Query<never, unknown>) => {
    const statement = { ...compile(db, 'postgres', query), name: `read_${(prepared += 1)}` }
    statements.set(query, statement)
    return statement
  }

  const run = async <Row>(statement: pg.QueryConfig<unknown[]>): Promise<Row[]> => {
    const client = await connect(pool)
    let failure: unknown
    try {
      // The rows of a query are what its Row says.
      const result = (await client.query(statement)) as unknown as { rows: Row[] }
      const { rows } = result
      // What waited for the rows is old by now, and would keep them until all of the heap is swept.
      result.rows = []
      return rows
    } catch (error) {
      failure = error
      throw error
    } finally {
      client.release(isInDoubt(failure))
    }
  }

  return async <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const { name, sql: text, parameters } = statements.get(query) ?? prepare(query)
    const statement = { name, text, values: parameters(values) }
    try {
      return await run<Row>(statement).catch((error: unknown) => {
        if (isLost(error)) return run<Row>(statement)
        throw error
      })
    } catch (error) {
      throw translate(error)
    }
  }
}

/** The pool as Kysely uses it: errors are told in our words, and a connection that is in doubt is not used again. */
function guarded(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await connect(pool)
      let doubt: StoreUnavailableError | undefined
      const query = async (text: string, values: readonly unknown[]) => {
        // What comes after would only wait for the same silence.
        if (doubt !== undefined) throw doubt
        try {
          return await client.query(text, [...values])
        } catch (error) {
          if (!isInDoubt(error)) throw translate(error)
          doubt = unavailable(error)
          throw doubt
        }
      }
      return {
        // Kysely asks for a cursor only where one was configured.
        query: query as never,
        release: discard => client.release(discard === true || doubt !== undefined),
      }
    },
  }
}

/** A connection of the pool. Throws StoreUnavailable where none is to be had, whatever the reason. */
async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw unavailable(error)
  }
}

const IMPORT_LOCK = 5625_002

/** What an error of the engine means to the rest of the program. */
function translate(error: unknown): unknown {
  const code = codeOf(error)
  if (CONFLICT.test(code)) return new StoreUnavailableError('another change came in between', { cause: error })
  if (code === FORBIDDEN) return new StoreError(`the role of the database may not do this: ${messageOf(error)}`)
  return isInDoubt(error) || AWAY.test(code) ? unavailable(error) : error
}

function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  return new StoreUnavailableError(`the database does not answer: ${messageOf(error)}`, { cause: error })
}

/** Whether the connection is gone. The statement may not have run, so a read can be tried again on another one. */
function isLost(error: unknown): boolean {
  return LOST.test(codeOf(error)) || (error instanceof Error && ('syscall' in error || CLOSED.test(error.message)))
}

/** Whether the connection cannot be trusted with another statement. */
function isInDoubt(error: unknown): boolean {
  return isLost(error) || (error instanceof Error && error.message === 'Query read timeout')
}

/** Whether the server gave up on a statement because it took too long. */
function isCancelled(error: unknown): boolean {
  return error instanceof StoreUnavailableError && codeOf(error.cause) === '57014'
}

// Connection trouble; shut down by an administrator, crashed, starting up, idle for too long.
const LOST = /^(08...|57P0[1235])$/

// As the driver tells it.
const CLOSED = /^(Connection terminated|Client (has encountered a connection error|was closed))/

// Wrong password or role, database missing or dropped, read-only, out of something, cancelled, lock not had, i/o error.
const AWAY = /^(28...|3D000|25006|53...|55P03|57...|58...)$/

// Somebody else was first: a key that is taken or gone since it was looked at, a deadlock, a replica that had to go on.
const CONFLICT = /^(23503|23505|40...)$/

const FORBIDDEN = '42501'

/** Several addresses that were tried in vain have a code, and no message. */
function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : codeOf(error)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
