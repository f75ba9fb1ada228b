import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { type OpenOptions, type Store, StoreError, StoreUnavailableError, TooLongError } from './store.ts'
import { checkVersion } from './migrations.ts'
import { type Compiled, compile, type Query } from './query.ts'
import type { Tables } from './tables.ts'

/** Opens (and makes, if `create` allows it) the database file; only its owner may read it. */
export function openSqlite(path: string, { busyTimeoutMs, create = true, bulk = false }: OpenOptions): Store {
  if (path === '') throw new StoreError('the database must be named as sqlite:<path>')
  const writer = connect(path, create, busyTimeoutMs)
  // Records of a few kilobytes waste a third of the pages of 4096 bytes. Only a new file takes the size. Without FULL, a
  // commit that was acknowledged can be lost when the machine loses power.
  writer.exec(`pragma page_size = ${PAGE_SIZE}; pragma journal_mode = wal; pragma synchronous = full;
    pragma foreign_keys = on; pragma busy_timeout = ${BUSY_TIMEOUT}`)
  if (bulk) {
    writer.exec(`pragma cache_size = -65536; pragma temp.page_size = ${PAGE_SIZE}; pragma temp.cache_size = -32768`)
  }
  const db = new Kysely<Tables>({ dialect: dialectOf(adapt(writer), busyTimeoutMs) })
  let reader: DatabaseSync | undefined
  const statements = new WeakMap<object, Compiled & { statement: StatementSync }>()

  const prepare = (query: Query<never, unknown>) => {
    reader ??= openReader(path)
    const compiled = compile(db, 'sqlite', query)
    const prepared = { ...compiled, statement: reader.prepare(compiled.sql) }
    statements.set(query, prepared)
    return prepared
  }

  return {
    engine: 'sqlite',
    db,
    read<Values extends object, Row>(query: Query<Values, Row>, values: Values) {
      try {
        const { statement, parameters } = statements.get(query) ?? prepare(query)
        // Parameters of a query are numbers and text; its rows are what its Row says.
        return statement.all(...(parameters(values) as SQLInputValue[])) as Row[]
      } catch (error) {
        throw translate(error)
      }
    },
    async health() {
      await checkVersion(this)
      return 'ready'
    },
    snapshot: work =>
      db.connection().execute(async connection => {
        await sql`begin deferred`.execute(connection)
        try {
          return await work(connection)
        } finally {
          await sql`rollback`.execute(connection)
        }
      }),
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
    backup: file => copy(path, file),
    async close() {
      reader?.close()
      await db.destroy()
    },
  }
}

const PAGE_SIZE = 8192

/** KiB of the file that a reader keeps: what is not kept costs a call to the system for each page of it. */
const READ_CACHE = 16 * 1024

/** Milliseconds that the engine itself waits for a lock; it does so inside the event loop. */
const BUSY_TIMEOUT = 100

/** Bytes of the longest text that a read may make: any one record fits, a page of the largest does not. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024

/** What an error of the engine means to the rest of the program. */
function translate(error: unknown): unknown {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
  if (code === TOO_BIG) return new TooLongError('the answer is too long', { cause: error })
  return AWAY.has(code) ? new StoreUnavailableError('the database does not answer', { cause: error }) : error
}

const TOO_BIG = 18

// busy, locked, read-only, i/o error, corrupt, full, cannot open, protocol, not a database
const AWAY = new Set([5, 6, 8, 10, 11, 13, 14, 15, 26])

function connect(path: string, create: boolean, busyTimeoutMs: number): DatabaseSync {
  try {
    if (create && !existsSync(path)) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      closeSync(openSync(path, 'a', 0o600))
    } else if (!existsSync(path)) {
      throw new StoreError(`there is no database at ${path}`)
    }
    // Whoever closes the last connection holds the whole file for a moment.
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs })
    database.prepare('select count(*) from sqlite_schema').get()
    return database
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError(`the database at ${path} cannot be opened: ${messageOf(error)}`, { cause: error })
  }
}

function openReader(path: string): DatabaseSync {
  const reader = new DatabaseSync(path, { limits: { length: MAX_TEXT_BYTES } })
  reader.exec(`pragma query_only = on; pragma busy_timeout = ${BUSY_TIMEOUT}; pragma cache_size = ${-READ_CACHE}`)
  return reader
}

async function copy(path: string, file: string) {
  // Complete or not there at all: the copy gets its name when it is verified.
  const unfinished = `${file}.unfinished`
  // Made here, or somebody else's: that one stays.
  closeSync(openSync(unfinished, 'wx', 0o600))
  try {
    const from = openReader(path)
    try {
      // Without a view of one moment, the copy would begin anew with each write of another program.
      from.exec('begin; select count(*) from sqlite_schema')
      await backup(from, unfinished)
    } finally {
      from.close()
    }
    chmodSync(unfinished, 0o600)
    const copied = new DatabaseSync(unfinished)
    try {
      const found = copied.prepare('pragma integrity_check').all()
      if (found.length !== 1 || found[0]?.['integrity_check'] !== 'ok') throw new StoreError('the copy is damaged')
      copied.exec('pragma journal_mode = delete')
    } finally {
      copied.close()
    }
    renameSync(unfinished, file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}

function adapt(database: DatabaseSync): SqliteDatabase {
  return {
    close: () => database.close(),
    prepare: text => {
      const statement = database.prepare(text)
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
    },
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
 * Waits for another writer without holding up the event loop. A transaction takes the write lock at its start: one that
 * reads before it writes could otherwise find that another came between.
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

/** Tries again for so many milliseconds while another writer has the lock. */
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
