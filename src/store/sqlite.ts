import { once } from 'node:events'
import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import {
  type OpenOptions,
  type Store,
  StoreBusyError,
  StoreFullError,
  StoreError,
  StoreLocationError,
  StoreUnavailableError,
  TooLongError,
  runTransaction,
} from './store.ts'
import { checkReadiness } from './migrations.ts'
import { BLOCKING_BUSY_TIMEOUT_MS, isBusy, MEMORY, messageOf, openWriter } from './sqlite-connection.ts'
import { makeExecutor, type SqliteExecutor } from './sqlite-executor.ts'
import { startWriterThread } from './sqlite-thread.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

/** Opens the database file, or creates it if `create` allows it. Only the user that runs the program may read it. */
export function openSqlite(path: string, options: OpenOptions): Store {
  if (path === '') throw new StoreLocationError('the database must be named as sqlite:<path>')
  const isAlone = path === MEMORY || options.exclusive === true || options.inspect === true
  const writer = makeWriter(path, options)
  const reader = isAlone ? undefined : openReader(path)
  const shared = new SharedReads(reader)
  const db = new Kysely<Tables>({ dialect: dialectOf(shared.endingAround(writer), options.busyTimeoutMs) })
  const reads = reader ? new Kysely<Tables>({ dialect: dialectOf(makeExecutor(reader), options.busyTimeoutMs) }) : db

  return {
    engine: 'sqlite',
    db,
    reads,
    read: makeReader(db, reader, shared),
    async health() {
      await checkReadiness(this)
    },
    snapshot: work => (isAlone ? ownSnapshot(db, work) : readSnapshot(path, options, work)),
    locked: (connection, work) => runTransaction(connection, sql`begin immediate`, work),
    // Nobody else can have opened it since this store did.
    requireAlone: async () => {},
    erase: () => eraseDeleted(path),
    async close() {
      reader?.close()
      await db.destroy()
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
  }
}

/** A page that is not in this cache costs a system call. */
const READ_CACHE_KIB = 16 * 1024

/** The longest text that a read may return: any one record fits, a page of the largest records does not. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

function makeWriter(path: string, options: OpenOptions): SqliteExecutor {
  const writer = openWriter(path, options)
  if (options.writerThread !== true) return makeExecutor(writer)
  // It was opened only to report here what is wrong with the file.
  writer.close()
  return startWriterThread({ path, options })
}

/** The transaction that the reads of one turn of the event loop share: SQLite locks the file for each, which takes as long as a short read. */
class SharedReads {
  readonly #reader: DatabaseSync | undefined
  #isOpen = false

  constructor(reader: DatabaseSync | undefined) {
    this.#reader = reader
  }

  begin() {
    if (this.#isOpen) return
    this.#reader?.exec('begin')
    this.#isOpen = true
    setImmediate(() => this.#end())
  }

  #end() {
    this.#isOpen = false
    // Some errors of the engine have ended it already.
    if (this.#reader?.isOpen === true && this.#reader.isTransaction) this.#reader.exec('commit')
  }

  /** Ends it around each statement, so that what is read next sees what the statement wrote. */
  endingAround({ execute, close }: SqliteExecutor): SqliteExecutor {
    return {
      execute: (statement, parameters) => {
        this.#end()
        const result = execute(statement, parameters)
        return result instanceof Promise ? result.finally(() => this.#end()) : result
      },
      close,
    }
  }
}

function makeReader(db: Kysely<Tables>, reader: DatabaseSync | undefined, shared: SharedReads) {
  const statements = new WeakMap<object, Compiled & { statement: StatementSync }>()

  const prepare = (query: Query<never, unknown>) => {
    if (reader === undefined) throw new Error('this store has no connection for reads')
    const compiled = compile(db, 'sqlite', query)
    return { ...compiled, statement: reader.prepare(compiled.sql) }
  }

  return <Values extends object, Row>(query: Query<Values, Row>, values: Values): Row[] => {
    try {
      shared.begin()
      const { statement, parameters } = statements.getOrInsertComputed(query, () => prepare(query))
      // Parameters of a query are numbers and texts; its columns are those of its Row.
      return statement.all(...(parameters(values) as SQLInputValue[])) as Row[]
    } catch (error) {
      throw translate(error)
    }
  }
}

/** What an error of the engine means to the rest of the program. */
function translate(error: unknown): unknown {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
  if (code === TOO_BIG) return new TooLongError('the result is too long', { cause: error })
  if (!UNAVAILABLE.has(code)) return error
  if (code === BUSY) return new StoreBusyError('another program is writing to the database', { cause: error })
  const reason = code === READ_ONLY ? 'its file or its file system is read-only' : messageOf(error)
  const StoreProblem = code === FULL ? StoreFullError : StoreUnavailableError
  return new StoreProblem(`the database is unavailable: ${reason}`, { cause: error })
}

const BUSY = 5
const TOO_BIG = 18
const READ_ONLY = 8
const FULL = 13

// Busy, locked, read-only, I/O error, corrupt, full, cannot open, protocol, not a database
const UNAVAILABLE = new Set([5, 6, 8, 10, 11, 13, 14, 15, 26])

/** On a connection of its own, so that writers do not wait for long reads. */
async function readSnapshot<Result>(
  path: string,
  { busyTimeoutMs }: OpenOptions,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  const reader = new DatabaseSync(path)
  reader.exec(`pragma query_only = on; pragma busy_timeout = ${BLOCKING_BUSY_TIMEOUT_MS}`)
  const db = new Kysely<Tables>({ dialect: dialectOf(makeExecutor(reader), busyTimeoutMs) })
  try {
    return await ownSnapshot(db, work)
  } finally {
    await db.destroy()
  }
}

/** The same on the only connection of a store. */
function ownSnapshot<Result>(db: Kysely<Tables>, work: (db: Kysely<Tables>) => Promise<Result>): Promise<Result> {
  return db.connection().execute(async connection => {
    // The snapshot is taken with the first read.
    await sql`begin deferred`.execute(connection)
    try {
      await sql`select count(*) from sqlite_schema`.execute(connection)
      return await work(connection)
    } finally {
      await sql`rollback`.execute(connection)
    }
  })
}

function openReader(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { limits: { length: MAX_TEXT_BYTES } })
  reader.exec(
    `pragma query_only = on; pragma busy_timeout = ${BLOCKING_BUSY_TIMEOUT_MS}; pragma cache_size = ${-READ_CACHE_KIB}`,
  )
  return reader
}

/**
 * Takes a lock on an empty file that exists only for this; the system releases it when the process ends. Returns
 * undefined when somebody else has it.
 */
export function lockFile(path: string): (() => Promise<void>) | undefined {
  for (;;) {
    const isNew = createEmpty(path)
    let lock: DatabaseSync | undefined
    try {
      const file = inodeOf(path)
      lock = new DatabaseSync(path, { timeout: 0 })
      // A journal on the disk would be left by a process that is killed after the file was removed.
      lock.exec('pragma journal_mode = memory; begin exclusive')
      const locked = lock
      if (file !== undefined && file === inodeOf(path)) return async () => releaseLock(locked, path)
      // Whoever had the lock has removed the file meanwhile: nobody else would see a lock on it.
      lock.close()
    } catch (error) {
      lock?.close()
      if (isBusy(error)) return undefined
      if (isNew) rmSync(path, { force: true })
      throw error
    }
  }
}

/** As `lockFile`, asked for again until a time has passed: a sweep of what killed processes left holds a lock for a moment. */
export async function waitForLock(path: string, maxWaitMs = 5000): Promise<(() => Promise<void>) | undefined> {
  const deadline = performance.now() + maxWaitMs
  for (;;) {
    const release = lockFile(path)
    if (release !== undefined || performance.now() > deadline) return release
    await sleep(50)
  }
}

/** Creates an empty file; returns whether there was none. An existing file is not opened: closing it would release a lock of this process. */
function createEmpty(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
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
    throw new StoreError(
      `deleted rows are still in the file of the database: ${messageOf(error)}. The next start of the service erases them.`,
      { cause: error },
    )
  }
}

function dialectOf(executor: SqliteExecutor, busyTimeoutMs: number): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => driverOf(executor, busyTimeoutMs),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/**
 * Waits for other writers without blocking the event loop. A transaction takes the write lock at its start: otherwise
 * one that reads before it writes would fail if another writer came in between.
 */
function driverOf(executor: SqliteExecutor, busyTimeoutMs: number): Driver {
  const connection: DatabaseConnection = {
    executeQuery: query => retryWhileBusy(busyTimeoutMs, () => run(executor, query)),
    streamQuery() {
      throw new Error('statements of SQLite return all rows at once')
    },
  }
  const execute = async (text: string) => void (await connection.executeQuery(CompiledQuery.raw(text)))
  return {
    async init() {},
    /** Kysely gives it to one user at a time. */
    acquireConnection: async () => connection,
    async releaseConnection() {},
    beginTransaction: () => execute('begin immediate'),
    commitTransaction: () => execute('commit'),
    /** On a full disk the engine has rolled back already; the first error is the one to report. */
    rollbackTransaction: () => execute('rollback').catch(() => {}),
    destroy: async () => executor.close(),
  }
}

async function run<Row>(executor: SqliteExecutor, { sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
  const { rows, changes, lastInsertRowid } = await executor.execute(sql, parameters)
  return {
    // The caller knows the columns of its statement.
    rows: rows as Row[],
    ...(changes === undefined ? {} : { numAffectedRows: BigInt(changes) }),
    ...(lastInsertRowid === undefined ? {} : { insertId: BigInt(lastInsertRowid) }),
  }
}

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
