import type pg from 'pg'
import { StoreUnavailableError } from './store.ts'

/**
 * Throws StoreUnavailableError where a new connection does not lead to the primary. A server that is promoted begins a new timeline,
 * so one with a lower timeline than this process has seen is a former primary: what is written there is lost, and API keys that were
 * revoked since are valid there. The statement is prepared, so that a pooler that loses or confuses those of its clients is found out.
 */
export async function requirePrimary(client: pg.ClientBase) {
  const { rows } = await client.query<ServerRow>({ name: 'lockstep_server', text: SERVER, ...CHECK_TIMEOUT })
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

interface ServerRow {
  readonly system: string
  readonly timeline: string | null
}

/** The name of the file that the next log record goes to begins with the timeline, in hexadecimal. A replica has no such file. */
const SERVER = `select (select system_identifier::text from pg_control_system()) as system,
  case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`

/** Commands have no other timeout. */
const CHECK_TIMEOUT = { query_timeout: 2000 }

/** The highest timeline that this process has seen, by database system: an address leads to another one after a restore. */
const timelines = new Map<string, number>()
