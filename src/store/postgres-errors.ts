import { StoreBusyError, StoreError, StoreFullError, StoreUnavailableError } from './store.ts'

/** What errors of PostgreSQL and of its driver mean to the rest of the program. */

export function translate(error: unknown): unknown {
  const code = errorCode(error)
  if (CONFLICT.test(code))
    return new StoreUnavailableError('another change came in between: try again', { cause: error })
  if (code === LOCK_TIMEOUT)
    return new StoreBusyError('another transaction has locked what this one writes', { cause: error })
  if (code === FORBIDDEN) {
    return new StoreError(
      `the database role lacks a privilege: ${errorMessage(error)} (postgresql.md lists what to grant)`,
    )
  }
  return isInDoubt(error) || UNAVAILABLE.test(code) || MISSING.test(code) ? unavailable(error) : error
}

export function unavailable(error: unknown): StoreUnavailableError {
  if (error instanceof StoreUnavailableError) return error
  if (isStatementLost(error)) return new StoreUnavailableError(STATEMENT_LOST, { cause: error })
  const StoreProblem = errorCode(error) === DISK_FULL ? StoreFullError : StoreUnavailableError
  const hint = STARTUP_PARAMETER.test(errorMessage(error)) ? POOLER_HINT : ''
  return new StoreProblem(`the database is unavailable: ${errorMessage(error)}${hint}`, { cause: error })
}

/**
 * Whether a prepared statement is missing, exists already, or takes other parameters than it did: a pooler gave the connection to
 * another client in between.
 */
function isStatementLost(error: unknown): boolean {
  if (POOLER_ERROR.test(errorCode(error))) return true
  return errorCode(error) === '08P01' && error instanceof Error && 'routine' in error && error.routine === BINDING
}

/** Whether the connection was lost. The statement may not have run, so a read can be retried on another one. */
export function isConnectionLost(error: unknown): boolean {
  return (
    CONNECTION_LOST.test(errorCode(error)) ||
    (error instanceof Error && ('syscall' in error || CLOSED_MESSAGE.test(error.message)))
  )
}

export function isInDoubt(error: unknown): boolean {
  const isSilent = error instanceof Error && error.message === 'Query read timeout'
  return isSilent || isConnectionLost(error) || isStatementLost(error)
}

// Connection errors; shut down by an administrator, crashed, starting up, idle for too long.
const CONNECTION_LOST = /^(08...|57P0[1235])$/

// The driver has no codes for these.
const CLOSED_MESSAGE = /^(Connection terminated|Client (has encountered a connection error|was closed))/

// Wrong password or role, database missing or dropped, read-only, out of resources, cancelled, I/O error.
const UNAVAILABLE = /^(28...|3D000|25006|53...|57...|58...)$/

// A table or column that is not there: the database is empty until it is restored, or has an older schema.
const MISSING = /^(42P01|42703)$/

// A key that was taken or removed in the meantime, a deadlock.
const CONFLICT = /^(23503|23505|40...)$/

// A prepared statement is missing or exists already.
const POOLER_ERROR = /^(26000|42P05)$/

// Where the server compares the number of parameters with the statement. Poolers use the code for much else.
const BINDING = 'exec_bind_message'

const STARTUP_PARAMETER = /^unsupported startup parameter/

const STATEMENT_LOST =
  'a pooler loses the prepared statements of its clients: use PgBouncer 1.21 or later with max_prepared_statements, or pool by session'

const POOLER_HINT =
  ' (a pooler is in between: it must pool by transaction or by session, with the settings that postgresql.md names)'

const FORBIDDEN = '42501'
const LOCK_TIMEOUT = '55P03'
const DISK_FULL = '53100'

/** If a host has several addresses and all fail, the error has a code and no message. */
function errorMessage(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : errorCode(error)
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
