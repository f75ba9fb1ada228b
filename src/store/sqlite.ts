import { once } from 'node:events'
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  type SqliteStatement,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { type OpenOptions, type Store, StoreError, StoreUnavailableError, TooLongError } from './store.ts'
import { checkVersion } from './migrations.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

/** Opens the database file, or creates it if `create` allows it. Only the user that runs the program may read it. */
export function openSqlite(path: string, options: OpenOptions): Store {
  if (path === '') throw new StoreError('the database must be named as sqlite:<path>')
  const writer = openWriter(path, options)
  const db = new Kysely<Tables>({ dialect: dialectOf(adapt(writer), options.busyTimeoutMs) })
  const reader = makeReader(db, path)

  return {
    engine: 'sqlite',
    db,
    read: reader.read,
    async health() {
      await checkVersion(this)
      return 'ready'
    },
    snapshot: work =>
      options.exclusive === true || options.readOnly === true
        ? ownSnapshot(db, work)
        : readSnapshot(path, options, work),
    async locked(connection, work) {
      await sql`begin immediate`.execute(connection)
      try {
        const result = await work()
        await sql`commit`.execute(connection)
        return result
      } catch (error) {
        await sql`rollback`.execute(connection)
        throw error
      }
    },
    tryLock: async name => lockFile(`${path}.${name}`),
    // Nobody else can have opened it since this store did.
    requireAlone: async () => {},
    erase: () => eraseDeleted(path),
    async close() {
      reader.close()
      await db.destroy()
    },
  }
}

/** The path of a database that is in memory alone. */
const MEMORY = ':memory:'

const PAGE_SIZE = 8192

/** A page that is not in this cache costs a system call. */
const READ_CACHE_KIB = 16 * 1024

/** How long the engine itself waits for a lock; it blocks the event loop meanwhile. */
const BLOCKING_BUSY_TIMEOUT_MS = 100

/** The longest text that a read may return: any one record fits, a page of the largest records does not. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

/** Runs compiled queries as prepared statements on a connection that is opened with the first of them. */
function makeReader(db: Kysely<Tables>, path: string) {
  let connection: DatabaseSync | undefined
  const statements = new WeakMap<object, Compiled & { statement: StatementSync }>()

  const prepare = (query: Query<never, unknown>) => {
    connection ??= openReader(path)
    const compiled = compile(db, 'sqlite', query)
    const prepared = { ...compiled, statement: connection.prepare(compiled.sql) }
    statements.set(query, prepared)
    return prepared
  }

  return {
    read<Values extends object, Row>(query: Query<Values, Row>, values: Values): Row[] {
      try {
        const { statement, parameters } = statements.get(query) ?? prepare(query)
        // Parameters of a query are numbers and texts; its columns are those of its Row.
        return statement.all(...(parameters(values) as SQLInputValue[])) as Row[]
      } catch (error) {
        throw translate(error)
      }
    },
    close: () => connection?.close(),
  }
}

/** What an error of the engine means to the rest of the program. */
function translate(error: unknown): unknown {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
  if (code === TOO_BIG) return new TooLongError('the result is too long', { cause: error })
  return UNAVAILABLE.has(code) ? new StoreUnavailableError('the database does not answer', { cause: error }) : error
}

const TOO_BIG = 18

// Busy, locked, read-only, I/O error, corrupt, full, cannot open, protocol, not a database
const UNAVAILABLE = new Set([5, 6, 8, 10, 11, 13, 14, 15, 26])

function openWriter(path: string, options: OpenOptions): DatabaseSync {
  const { busyTimeoutMs, create = true, bulk = false, exclusive = false, readOnly = false } = options
  if (readOnly) return openFinished(path)
  const writer = connect(path, create, exclusive ? BLOCKING_BUSY_TIMEOUT_MS : busyTimeoutMs)
  try {
    configure(writer, path, { exclusive, bulk })
    return writer
  } catch (error) {
    writer.close()
    throw error instanceof StoreError || isBusy(error) ? error : cannotOpen(path, error)
  }
}

function configure(writer: DatabaseSync, path: string, { exclusive, bulk }: { exclusive: boolean; bulk: boolean }) {
  // The page size applies to new files only: records of a few kilobytes waste a third of pages of 4096 bytes. Without
  // synchronous = full, a commit that was acknowledged can be lost in a power failure.
  writer.exec(`pragma page_size = ${PAGE_SIZE}; pragma synchronous = full; pragma foreign_keys = on`)
  if (exclusive) keepOthersAway(writer, path)
  else writer.exec(`pragma journal_mode = wal; pragma busy_timeout = ${BLOCKING_BUSY_TIMEOUT_MS}`)
  if (bulk) {
    writer.exec(`pragma cache_size = -65536; pragma temp.page_size = ${PAGE_SIZE}; pragma temp.cache_size = -32768`)
  }
}

/** Opens a file that nobody writes any more, without locking it or creating anything beside it. */
function openFinished(path: string): DatabaseSync {
  const address = pathToFileURL(path)
  address.searchParams.set('immutable', '1')
  return new DatabaseSync(address, { readOnly: true })
}

/** The journal is not a write-ahead log meanwhile: rows that are written at once would be written twice. */
function keepOthersAway(writer: DatabaseSync, path: string) {
  try {
    writer.exec('pragma locking_mode = exclusive; pragma journal_mode = delete; begin exclusive; commit')
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new StoreError(`another process has the database at ${path} open: stop it first`, { cause: error })
  }
}

function connect(path: string, create: boolean, busyTimeoutMs: number): DatabaseSync {
  try {
    if (path === MEMORY) return new DatabaseSync(path)
    if (create && !existsSync(path)) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      closeSync(openSync(path, 'a', 0o600))
    } else if (!existsSync(path)) {
      throw new StoreError(`there is no database at ${path}`)
    }
    refuseForeignLog(path)
    // Another process that closes the last connection locks the whole file for a moment.
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    database.prepare('select count(*) from sqlite_schema').get()
    return database
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw cannotOpen(path, error)
  }
}

/** On a connection of its own, so that writers do not wait for what reads for long. */
async function readSnapshot<Result>(
  path: string,
  { busyTimeoutMs }: OpenOptions,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  const reader = new DatabaseSync(path)
  reader.exec(`pragma query_only = on; pragma busy_timeout = ${BLOCKING_BUSY_TIMEOUT_MS}`)
  const db = new Kysely<Tables>({ dialect: dialectOf(adapt(reader), busyTimeoutMs) })
  try {
    return await ownSnapshot(db, work)
  } finally {
    await db.destroy()
  }
}

/** The same on a connection of a store that lets no other connection in. */
function ownSnapshot<Result>(db: Kysely<Tables>, work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
  return db.connection().execute(async connection => {
    // The moment is that of the first read.
    await sql`begin deferred`.execute(connection)
    try {
      await sql`select count(*) from sqlite_schema`.execute(connection)
      return await work(connection)
    } finally {
      await sql`rollback`.execute(connection)
    }
  })
}

/**
 * A file that was put in the place of a database beside the log of that one: the engine would mix both. It can be told
 * from a file without a log of its own, such as a backup.
 */
function refuseForeignLog(path: string) {
  const { size } = statSync(`${path}-wal`, { throwIfNoEntry: false }) ?? { size: 0 }
  if (size === 0 || journalVersionOf(path) !== ROLLBACK_JOURNAL) return
  throw new StoreError(
    `${path}-wal is the log of another database that was in this place before: move it and ${path}-shm away if ${path} is the one to keep. A backup is put in place with \`lockstep restore\`.`,
  )
}

/** What the header of the file says of its log. */
function journalVersionOf(path: string): number | undefined {
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    return readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES ? undefined : header[READ_VERSION]
  } finally {
    closeSync(file)
  }
}

const HEADER_BYTES = 100
const READ_VERSION = 19
const ROLLBACK_JOURNAL = 1

function cannotOpen(path: string, error: unknown): StoreError {
  return new StoreError(`the database at ${path} cannot be opened: ${reasonOf(path) ?? messageOf(error)}`, {
    cause: error,
  })
}

/** Why the system does not let the file be opened, which the engine does not tell. */
function reasonOf(path: string): string | undefined {
  try {
    closeSync(openSync(path, 'r+'))
    accessSync(dirname(path), constants.W_OK)
    return undefined
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return REASONS[code]
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EROFS: 'the file system is read-only',
  EACCES: 'this user may not write the file or its folder',
  EMFILE: 'the process has too many files open: raise its limit (LimitNOFILE, ulimit -n)',
  ENFILE: 'the system has too many files open',
}

function openReader(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { limits: { length: MAX_TEXT_BYTES } })
  reader.exec(
    `pragma query_only = on; pragma busy_timeout = ${BLOCKING_BUSY_TIMEOUT_MS}; pragma cache_size = ${-READ_CACHE_KIB}`,
  )
  return reader
}

/**
 * Takes a lock on an empty file that is there for nothing else; the system releases it when the process ends. Returns
 * undefined when somebody else has it.
 */
export function lockFile(path: string): (() => Promise<void>) | undefined {
  for (;;) {
    closeSync(openSync(path, 'a', 0o600))
    const file = inodeOf(path)
    const lock = new DatabaseSync(path, { timeout: 0 })
    try {
      lock.exec('begin exclusive')
    } catch (error) {
      lock.close()
      if (isBusy(error)) return undefined
      throw error
    }
    if (file !== undefined && file === inodeOf(path)) return async () => releaseLock(lock, path)
    // Whoever had the lock has removed the file meanwhile: nobody else would see a lock on it.
    lock.close()
  }
}

/** The file is removed while nobody else can have the lock. A file that a killed process left is used again. */
function releaseLock(lock: DatabaseSync, path: string) {
  try {
    rmSync(path, { force: true })
  } catch {
    // Windows does not remove open files.
  }
  lock.close()
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino
}

/** In a thread of its own, because it takes seconds for a large file. Other writers wait for it, readers do not. */
async function eraseDeleted(path: string) {
  try {
    await once(new Worker(new URL('sqlite-eraser.ts', import.meta.url), { workerData: path }), 'exit')
  } catch (error) {
    throw new StoreError(`what was deleted is still in the file of the database: ${messageOf(error)}`, { cause: error })
  }
}

function adapt(database: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>()
  return {
    close: () => database.close(),
    prepare: text => {
      const known = statements.get(text)
      if (known !== undefined) return known
      const statement = adaptStatement(database.prepare(text))
      if (statements.size >= MAX_STATEMENTS) statements.clear()
      statements.set(text, statement)
      return statement
    },
  }
}

/** What a batch of records needs many times over. Texts of statements with values in them are few beside. */
const MAX_STATEMENTS = 200

function adaptStatement(statement: StatementSync): SqliteStatement {
  const bind = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: parameters => statement.all(...bind(parameters)),
    run: parameters => {
      const { changes, lastInsertRowid } = statement.run(...bind(parameters))
      return { changes, lastInsertRowid }
    },
    iterate: parameters => statement.iterate(...bind(parameters)),
  }
}

function dialectOf(database: SqliteDatabase, busyTimeoutMs: number): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new BusyRetryDriver(database, busyTimeoutMs),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/**
 * Waits for other writers without blocking the event loop. A transaction takes the write lock at its start: otherwise
 * one that reads before it writes would fail if another writer came in between.
 */
class BusyRetryDriver extends SqliteDriver {
  readonly #busyTimeoutMs: number

  constructor(database: SqliteDatabase, busyTimeoutMs: number) {
    super({ database })
    this.#busyTimeoutMs = busyTimeoutMs
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    const connection = await super.acquireConnection()
    return {
      executeQuery: query => retryWhileBusy(this.#busyTimeoutMs, () => connection.executeQuery(query)),
      streamQuery: connection.streamQuery.bind(connection),
    }
  }

  override async beginTransaction(connection: DatabaseConnection) {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

/** Retries while another writer has the lock. */
async function retryWhileBusy<Result>(busyTimeoutMs: number, work: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + busyTimeoutMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw translate(error)
      await sleep(20)
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
