import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { type OpenOptions, type Store, StoreError, StoreUnavailable } from './store.ts'
import { checkVersion } from './migrations.ts'
import { type Compiled, compile, type Query } from './query.ts'
import { watchReplicas } from './replicas.ts'
import type { Tables } from './tables.ts'

/**
 * Opens a PostgreSQL database. Nothing is asked of it before the first statement. Reads of records go to a replica that
 * is alive and current, where there is one, else to the primary; everything else goes to the primary.
 */
export function openPostgres(url: string, { patience, statementTimeout, readUrls = [] }: OpenOptions): Store {
  const timeouts = { statementTimeout, lockTimeout: patience }
  const pool = makePool(url, timeouts)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const readPrimary = makeReader(db, pool)
  const replicaPools = readUrls.map(readUrl => makePool(readUrl, timeouts))
  const replicas =
    replicaPools.length === 0
      ? undefined
      : watchReplicas(
          pool,
          replicaPools.map(replicaPool => ({ pool: replicaPool, reader: makeReader(db, replicaPool) })),
        )

  const readRecords: Reader = async (query, values) => {
    for (const replica of replicas?.current() ?? []) {
      try {
        return await replica.reader(query, values)
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        replica.fail()
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
      await sql`begin`.execute(connection)
      try {
        // One at a time; ordinary writers go on.
        await sql`select pg_advisory_xact_lock(${IMPORT_LOCK})`.execute(connection)
        const result = await work()
        await sql`commit`.execute(connection)
        return result
      } catch (error) {
        await sql`rollback`.execute(connection).catch(() => {})
        throw translate(error)
      }
    },
    backup: undefined,
    async close() {
      replicas?.close()
      await Promise.all(replicaPools.map(replicaPool => replicaPool.end()))
      // Kysely ends only a pool it has used.
      await db.destroy()
      if (!pool.ended) await pool.end()
    },
  }
}

type Reader = <Values extends object, Row>(query: Query<Values, Row>, values: Values) => Promise<Row[]>

interface PoolOptions {
  readonly statementTimeout: number | undefined
  readonly lockTimeout: number
}

/** Integers come as numbers: every one that is stored is exact. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
}

function makePool(url: string, { statementTimeout, lockTimeout }: PoolOptions): pg.Pool {
  if (URL.parse(url) === null) throw new StoreError('the database must be named as postgres://user@host:port/database')
  const pool = new pg.Pool({
    connectionString: url,
    types,
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: CONNECTION_TIMEOUT,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: 'lockstep',
    lock_timeout: lockTimeout,
    ...(statementTimeout === undefined
      ? {}
      : // The first asks the server to give up, the second gives up on the server.
        { statement_timeout: statementTimeout, query_timeout: statementTimeout + 500 }),
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

  return async <Values extends object, Row>(query: Query<Values, Row>, values: Values): Promise<Row[]> => {
    const { name, sql: text, parameters } = statements.get(query) ?? prepare(query as Query<never, unknown>)
    const statement = { name, text, values: parameters(values) }
    try {
      return await run<Row>(pool, statement)
    } catch (error) {
      if (!isConnectionLoss(error)) throw translate(error)
    }
    try {
      return await run<Row>(pool, statement)
    } catch (error) {
      throw translate(error)
    }
  }
}

async function run<Row>(pool: pg.Pool, statement: pg.QueryConfig<unknown[]>): Promise<Row[]> {
  // The rows of a query are what its Row says.
  const { rows } = (await pool.query(statement)) as unknown as { rows: Row[] }
  return rows
}

const MOST_CONNECTIONS = 10
const CONNECTION_TIMEOUT = 2000
const IMPORT_LOCK = 5625_002

/** What an error of the engine means to the rest of the program. */
function translate(error: unknown): unknown {
  return isConnectionLoss(error) || AWAY.has(codeOf(error)) || isTimeout(error)
    ? new StoreUnavailable('the database does not answer', { cause: error })
    : error
}

/** The statement may not have run, so a read can be tried again on another connection. */
function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error)
  return (
    code.startsWith('08') ||
    LOST.has(code) ||
    (error instanceof Error && /^(Connection terminated|Client has encountered a connection error)/.test(error.message))
  )
}

// Shut down by an administrator, crashed, starting up; and the same as sockets tell it.
const LOST = new Set(['57P01', '57P02', '57P03', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOENT'])

// Wrong password or role, database missing, read-only, out of connections, memory or disk, cancelled, lock not had.
const AWAY = new Set([
  '28P01',
  '28000',
  '3D000',
  '25006',
  '53000',
  '53100',
  '53200',
  '53300',
  '53400',
  '57014',
  '55P03',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EACCES',
])

function isTimeout(error: unknown): boolean {
  return error instanceof Error && /^(timeout exceeded when trying to connect|Query read timeout)/.test(error.message)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
