import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { isInDoubt, translate, unavailable } from './postgres-errors.ts'
import { parseAddress } from './postgres-address.ts'
import { requirePrimary } from './postgres-primary.ts'
import type { OpenOptions, StoreUnavailableError } from './store.ts'

interface PoolOptions extends pg.PoolConfig {
  /** Settings of the server for each session. */
  readonly settings: Readonly<Record<string, string>>
  /** Runs on each new connection. */
  readonly prepare?: (client: pg.ClientBase) => Promise<void>
}

/** The name under which the server lists the connections of this program. */
export const APPLICATION_NAME = 'lockstep'

/** A pool of connections to the primary at an address. */
export function makePool(
  url: string,
  { busyTimeoutMs, statementTimeoutMs, connectTimeoutMs = 2000, exclusive = false }: OpenOptions,
  { settings, prepare = async () => {}, ...size }: PoolOptions,
): pg.Pool {
  const address = parseAddress(url)
  const flags = Object.entries(settings).map(([name, value]) => ` -c ${name}=${value}`)
  const pool = new pg.Pool({
    async onConnect(client) {
      await requirePrimary(client)
      await prepare(client)
    },
    types,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    application_name: exclusive ? `${APPLICATION_NAME} alone` : APPLICATION_NAME,
    lock_timeout: busyTimeoutMs,
    ...(statementTimeoutMs === undefined
      ? {}
      : // The server cancels the statement after the first; the client stops waiting for the server after the second.
        { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + 300 }),
    ...size,
    ...address,
    options: (address.options ?? '') + flags.join(''),
  })
  // Without these listeners, losing an idle connection would end the process.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}

/** A connection of the pool. Throws StoreUnavailableError if there is none, for whatever reason. */
export async function takeClient(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw unavailable(error)
  }
}

/** The pool as Kysely uses it: errors are translated, and a connection that may be broken is not used again. */
export function guarded(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await takeClient(pool)
      let doubt: StoreUnavailableError | undefined
      const query = async (text: string, values: readonly unknown[] = []) => {
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
      return {
        // No cursor is configured, so none is asked for.
        query: query as PostgresPoolClient['query'],
        release: discard => client.release(discard === true || doubt !== undefined),
      }
    },
  }
}

/** Integers are read as numbers: every stored one is within the safe integers. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(type, format) as (text: string) => unknown),
}
