import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresCursor, PostgresPool, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import { isInDoubt, isOutOfRoom, translate, unavailable } from './postgres-errors.ts'
import type { PrimaryLocator } from './primary-locator.ts'
import { StoreError, type StoreUnavailableError } from './store.ts'

export interface PoolOptions {
  /** For one statement; unlimited if undefined. */
  readonly statementTimeoutMs: number | undefined
  readonly lockTimeoutMs: number
  readonly connectTimeoutMs?: number
  readonly minConnections?: number
  readonly maxConnections: number
  readonly applicationName?: string
  /** Settings of the server for each session. */
  readonly settings?: Readonly<Record<string, string>>
  /** Runs on each new connection. */
  readonly prepare?: (client: pg.ClientBase) => Promise<void>
}

/** The name under which the server lists the connections of this program. */
export const APPLICATION_NAME = 'lockstep'

/** A pool of connections to a server, or to the one of several that accepts writes. */
export function makePool(server: string | PrimaryLocator, options: PoolOptions): pg.Pool {
  const {
    statementTimeoutMs,
    lockTimeoutMs,
    connectTimeoutMs = 2000,
    minConnections = 0,
    maxConnections,
    settings = {},
    prepare = async () => {},
  } = options
  const pool = new pg.Pool({
    ...(typeof server === 'string'
      ? { connectionString: withSettings(server, settings), verify: withCallback(prepare) }
      : toLocatedServer(server, settings, prepare)),
    types,
    min: minConnections,
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: options.applicationName ?? APPLICATION_NAME,
    lock_timeout: lockTimeoutMs,
    ...(statementTimeoutMs === undefined
      ? {}
      : // The server cancels the statement after the first; the client stops waiting for the server after the second.
        { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + 300 }),
  })
  // Without these listeners, losing an idle connection would end the process.
  pool.on('error', () => {})
  const clients = new Set<pg.PoolClient>()
  pool.on('connect', client => {
    clients.add(client)
    client.on('error', () => {})
  })
  pool.on('remove', client => clients.delete(client))
  open.set(pool, clients)
  return pool
}

function withSettings(url: string, settings: NonNullable<PoolOptions['settings']>): string {
  const address = URL.parse(url)
  if (address === null) throw new StoreError('the database must be named as postgres://user@host:port/database')
  for (const [name, value] of Object.entries(settings)) {
    address.searchParams.set('options', `${address.searchParams.get('options') ?? ''} -c ${name}=${value}`)
  }
  return address.href
}

/** Options of a pool whose connections go to the server that accepts writes when they are opened. */
function toLocatedServer(
  locator: PrimaryLocator,
  settings: NonNullable<PoolOptions['settings']>,
  prepare: NonNullable<PoolOptions['prepare']>,
): pg.PoolConfig {
  class LocatedClient extends pg.Client {
    readonly server: string

    constructor(config?: pg.ClientConfig) {
      const server = locator.url
      super({ ...config, connectionString: withSettings(server, settings), stream: () => locator.openSocket(server) })
      this.server = server
    }
  }
  return {
    Client: LocatedClient,
    verify: withCallback(async client => {
      if (client instanceof LocatedClient) await locator.verify(client, client.server)
      await prepare(client)
    }),
  }
}

/** Adapts an asynchronous function to the pool, which passes a callback. */
function withCallback(work: (client: pg.PoolClient) => Promise<void>): NonNullable<pg.PoolConfig['verify']> {
  return (client, done) => void work(client).then(() => done(), done)
}

/**
 * A connection of the pool. Where the server has no room for another one, waits for one of its own, or takes one of the pool that
 * `lend` has named if it has none. With none at all it tries again for two seconds: the server counts a connection for a moment
 * after it was closed. Throws StoreUnavailableError if there is none, for whatever reason.
 */
export async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  const lender = lenders.get(pool)
  const deadline = performance.now() + FULL_MS
  for (;;) {
    if (lender !== undefined && full.has(pool) && openCount(pool) === 0) return connect(lender)
    try {
      return await pool.connect()
    } catch (error) {
      if (!isOutOfRoom(error) || performance.now() > deadline) throw unavailable(error)
      openNoMore(pool, error)
      if (lender === undefined && openCount(pool) === 0) await sleep(RETRY_INTERVAL_MS)
    }
  }
}

/** For a while, lets whoever needs a connection of the pool wait for one that is open. */
function openNoMore(pool: pg.Pool, cause: unknown) {
  const { options } = pool
  if (!full.has(pool)) {
    const { max } = options
    full.add(pool)
    problems.get(pool)?.(new StoreError(TOO_FEW, { cause }))
    problems.delete(pool)
    setTimeout(() => {
      options.max = max
      full.delete(pool)
    }, FULL_MS).unref()
  }
  options.max = Math.max(1, openCount(pool))
}

/** Lets a pool use the connections of another one while it has none, and reports once that the server has no room. */
export function lend(pool: pg.Pool, to: pg.Pool, onProblem: (problem: Error) => void) {
  lenders.set(to, pool)
  problems.set(to, onProblem)
}

function openCount(pool: pg.Pool): number {
  return open.get(pool)?.size ?? 0
}

/** The open connections of each pool; it counts those as well that are being opened, which can fail. */
const open = new WeakMap<pg.Pool, Set<pg.PoolClient>>()
const lenders = new WeakMap<pg.Pool, pg.Pool>()
const problems = new WeakMap<pg.Pool, (problem: Error) => void>()
/** Pools that open no connection now. */
const full = new WeakSet<pg.Pool>()
const FULL_MS = 2000
const RETRY_INTERVAL_MS = 50

const TOO_FEW =
  'the server of the database has no room for a further connection of this role: the service goes on with those it has, and needs two at least. Raise the connection limit of the role, or max_connections'

/** The pool as Kysely uses it: errors are translated, and a connection that may be broken is not used again. */
export function guarded(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await connect(pool)
      let doubt: StoreUnavailableError | undefined
      const run = async (text: string, values: readonly unknown[]) => {
        // Later statements, such as a rollback, would only time out as well.
        if (doubt !== undefined) throw doubt
        try {
          const result = await client.query<object>(text, [...values])
          const { command, rowCount, rows } = result
          // The driver keeps the results of queries for a while: rows left in them would live until a full collection, as 60 %
          // of what an export read did.
          result.rows = []
          return { command, rowCount, rows }
        } catch (error) {
          if (!isInDoubt(error)) throw translate(error)
          doubt = unavailable(error)
          throw doubt
        }
      }
      function query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>
      function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>
      function query(text: unknown, values: readonly unknown[] = []): unknown {
        if (typeof text !== 'string') throw new TypeError('no cursor is configured')
        return run(text, values)
      }
      return {
        query,
        release: discard => client.release(discard === true || doubt !== undefined),
      }
    },
  }
}

/** Integers are read as numbers: every stored one is within the safe integers. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(type, format) as (text: string) => unknown),
}
