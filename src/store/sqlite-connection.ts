import { accessSync, closeSync, constants, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import { makeFolders, syncFolder, withFile } from './disk-sync.ts'
import { type OpenOptions, StoreError, StoreLocationError } from './store.ts'

/** Opens the database for writing, or creates it if `create` allows it. Throws StoreError. */
export function openWriter(path: string, options: OpenOptions): DatabaseSync {
  const { busyTimeoutMs, create = true, bulk = false, exclusive = false } = options
  if (options.inspect === true) return openToInspect(path)
  const writer = openConnection(path, create, exclusive ? BLOCKING_BUSY_TIMEOUT_MS : busyTimeoutMs)
  try {
    configure(writer, path, { exclusive, bulk })
    return writer
  } catch (error) {
    writer.close()
    throw error instanceof StoreError || isBusy(error) ? error : cannotOpen(path, error)
  }
}

function configure(writer: DatabaseSync, path: string, { exclusive, bulk }: { exclusive: boolean; bulk: boolean }) {
  // Without synchronous = full, a commit that was acknowledged can be lost in a power failure.
  writer.exec('pragma synchronous = full; pragma foreign_keys = on')
  if (exclusive) keepOthersAway(writer, path)
  else {
    const { journal_mode: mode } = writer.prepare('pragma journal_mode = wal').get() ?? {}
    writer.exec(`pragma journal_size_limit = ${MAX_LOG_BYTES}; pragma busy_timeout = ${BLOCKING_BUSY_TIMEOUT_MS}`)
    // A restore that is killed early leaves a journal with old pages. The engine has rolled it back, if there was something to; nobody
    // can begin another one while this process uses the log.
    if (mode === 'wal') rmSync(`${path}-journal`, { force: true })
  }
  if (bulk) {
    // With auto_vacuum, temporary tables that are dropped give their space back at once.
    writer.exec(
      `pragma cache_size = -16384; pragma temp.page_size = ${PAGE_SIZE}; pragma temp.cache_size = -8192; pragma temp.auto_vacuum = full`,
    )
  }
}

/** Opens a file that nobody writes any more, without locking it or creating anything beside it. */
function openFinished(path: string): DatabaseSync {
  const address = pathToFileURL(path)
  address.searchParams.set('immutable', '1')
  return new DatabaseSync(address, { readOnly: true })
}

/** Without a log nobody has the file open. With one, the engine finds it and its index there, and creates neither. */
function openToInspect(path: string): DatabaseSync {
  if (!exists(path)) throw new StoreLocationError(`there is no database at ${path}`)
  refuseEmptied(path)
  refuseForeignLog(path)
  try {
    const database = existsSync(`${path}-wal`) ? new DatabaseSync(path, { readOnly: true }) : openFinished(path)
    database.prepare('select count(*) from sqlite_schema').get()
    return database
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

/** Locks the file, and uses a rollback journal meanwhile: with a write-ahead log, many rows at once would be written twice. */
function keepOthersAway(writer: DatabaseSync, path: string) {
  try {
    writer.exec('pragma locking_mode = exclusive; pragma journal_mode = delete; begin exclusive; commit')
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new StoreError(`another process has the database at ${path} open: stop it first`, { cause: error })
  }
}

function openConnection(path: string, create: boolean, busyTimeoutMs: number): DatabaseSync {
  let database: DatabaseSync | undefined
  try {
    if (path === MEMORY) return new DatabaseSync(path)
    if (!exists(path)) {
      if (!create) throw new StoreLocationError(`there is no database at ${path}`)
      makeFolders(dirname(path))
      startCreating(path)
    }
    if (existsSync(markOf(path))) finishCreating(path, busyTimeoutMs)
    refuseEmptied(path)
    refuseForeignLog(path)
    // Another process that closes the last connection locks the whole file for a moment.
    database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    database.prepare('select count(*) from sqlite_schema').get()
    return database
  } catch (error) {
    database?.close()
    if (error instanceof StoreError) throw error
    throw cannotOpen(path, error)
  }
}

/** Creates a new file with an empty database in it, in a folder that exists. */
export function createDatabaseFile(path: string) {
  closeSync(openSync(path, 'wx', 0o600))
  writeFirstPage(path, 0)
}

/**
 * A file beside the database says that it is being created. So a file of 0 bytes is known to be new: without that mark it is a
 * database that lost its content. If a process is killed meanwhile, the mark stays, and the next process completes the database.
 */
function startCreating(path: string) {
  closeSync(openSync(markOf(path), 'a', 0o600))
  try {
    syncFolder(dirname(path))
    closeSync(openSync(path, 'a', 0o600))
  } catch (error) {
    if (!existsSync(path)) rmSync(markOf(path), { force: true })
    throw error
  }
}

function finishCreating(path: string, busyTimeoutMs: number) {
  try {
    closeSync(openSync(path, 'a', 0o600))
    writeFirstPage(path, busyTimeoutMs)
    syncFolder(dirname(path))
    rmSync(markOf(path), { force: true })
  } catch (error) {
    // Another process may be creating it.
    if (isBusy(error)) throw error
    if (statSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path)
    rmSync(markOf(path), { force: true })
    throw error
  }
}

function markOf(path: string): string {
  return `${path}.new`
}

function writeFirstPage(path: string, timeout: number) {
  using database = new DatabaseSync(path, { timeout })
  // The page size applies to new files only: records of a few kilobytes waste a third of pages of 4096 bytes.
  database.exec(
    `pragma page_size = ${PAGE_SIZE}; pragma synchronous = full; begin immediate; pragma user_version = 0; commit`,
  )
}

function refuseEmptied(path: string) {
  // Another process may create it right now.
  if (statSync(path).size > 0 || existsSync(markOf(path)) || statSync(path).size > 0) return
  throw new StoreError(
    `the file of the database at ${path} is empty (0 bytes): its content is lost, or something else created it. Restore a backup with \`lockstep restore\`, or remove the file to begin with a new database.`,
  )
}

/**
 * Throws StoreError if a file has replaced a database whose log is still there: the engine would mix both. Only files
 * whose header says that they have no such log, such as backups, are noticed.
 */
function refuseForeignLog(path: string) {
  const { size } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? { size: 0 }
  if (size === 0 || journalVersionOf(path) !== ROLLBACK_JOURNAL) return
  throw new StoreError(
    `${path}-wal is the log of another database that was in this place before: move it and ${path}-shm away if ${path} is the one to keep. A backup is put in place with \`lockstep restore\`.`,
  )
}

function journalVersionOf(path: string): number | undefined {
  return withFile(path, 'r', file => {
    const header = Buffer.alloc(HEADER_BYTES)
    return readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES ? undefined : header[READ_VERSION]
  })
}

const HEADER_BYTES = 100
const READ_VERSION = 19
const ROLLBACK_JOURNAL = 1

function cannotOpen(path: string, error: unknown): StoreError {
  return new StoreError(`the database at ${path} cannot be opened: ${reasonOf(path) ?? messageOf(error)}`, {
    cause: error,
  })
}

/** Throws StoreError if this user cannot see whether there is such a file. */
function exists(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EACCES')
      throw new StoreError(`this user may not enter the folder of the database at ${path}`, { cause: error })
    return false
  }
}

/** Why the system refuses to open the file, which the engine does not say. */
function reasonOf(path: string): string | undefined {
  try {
    closeSync(openSync(path, 'r+'))
    accessSync(dirname(path), constants.W_OK)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The path of a database that is in memory alone. */
export const MEMORY = ':memory:'

/** How long the engine itself waits for a lock; it blocks the event loop meanwhile. */
export const BLOCKING_BUSY_TIMEOUT_MS = 100

const PAGE_SIZE = 8192

/** A longer log is truncated to this size once its content is in the database. */
const MAX_LOG_BYTES = 16 * 1024 * 1024
