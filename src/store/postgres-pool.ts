import type { PostgresPool, PostgresPoolClient } from 'kysely'
import pg from 'pg'
import { isInDoubt, translate, unavailable } from './postgres-errors.ts'
import { parseAddress } from './postgres-address.ts'
import { type OpenOptions, StoreUnavailableError } from './store.ts'

interface PoolOptions extends pg.PoolConfig {
  readonly settings: Readonly<Record<string, string>>
  readonly prepare?: (client: pg.ClientBase) => Promise<void>
}

/** The name under which the server lists the connections of this program. */
export const APPLICATION_NAME = 'lockstep'

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

/**
 * Throws StoreUnavailableError where a new connection does not lead to the primary. A server that is promoted begins a new timeline,
 * so one with a lower timeline than this process has seen is a former primary: what is written there is lost, and API keys that were
 * revoked since are valid there. The statement is prepared, so that a pooler that loses or confuses those of its clients is found out.
 */
async function requirePrimary(client: pg.ClientBase) {
  const { rows } = await client.query<{ system: string; timeline: string | null }>({
    name: 'lockstep_server',
    text: SERVER,
    ...CHECK_TIMEOUT,
  })
  const { system = '', timeline = null } = rows[0] ?? {}
  if (timeline === null) throw new StoreUnavailableError('the database server is a replica')
  const number = Number.parseInt(timeline, 16)
  const highest = timelines.get(system) ?? 0
  if (number < highest) {
    throw new StoreUnavailableError(
      `the database server is a former primary: its timeline is ${number}, not ${highest}`,
    )
  }
  timelines.set(system, number)
}

/** The name of the file that the next log record goes to begins with the timeline, in hexadecimal. A replica has no such file. */
const SERVER = `select (select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`

/** Commands have no other timeout. */
const CHECK_TIMEOUT = { query_timeout: 2000 }

/** The highest timeline that this process has seen, by database system: an address leads to another one after a restore. */
const timelines = new Map<string, number>()
