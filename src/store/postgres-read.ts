import type pg from 'pg'
import { translate } from './postgres-errors.ts'
import { types } from './postgres-pool.ts'
import type { Compiled } from './query.ts'

/**
 * A statement that is prepared on each connection that runs it, and described once: the driver asks for the columns with each
 * run and makes objects for what is not used here, which takes a fifth of the CPU time of a short read.
 */
export class PreparedStatement {
  readonly name: string
  readonly sql: string
  readonly parameters: Compiled['parameters']
  /** Known after the first run. */
  columns: readonly Column[] | undefined
  /** The moving average of what the latest runs took, in milliseconds. */
  #typicalMs = 0
  /** Where it is prepared; false where a run has failed, so that it may be or not. */
  readonly #isPreparedOn = new WeakMap<pg.Connection, boolean>()

  constructor({ sql, parameters }: Compiled, name: string) {
    this.sql = sql
    this.parameters = parameters
    this.name = name
  }

  /** Whether it is known to be short, so that others can wait for it. */
  get isShort(): boolean {
    return this.columns !== undefined && this.#typicalMs < MAX_SHORT_MS
  }

  prepareOn(connection: pg.Connection) {
    const isPrepared = this.#isPreparedOn.get(connection)
    if (isPrepared === true) return
    // It is no error to close a statement that is not there.
    if (isPrepared === false) connection.close({ type: 'S', name: this.name }, true)
    connection.parse({ name: this.name, text: this.sql, types: [] }, true)
    this.#isPreparedOn.set(connection, true)
  }

  fail(connection: pg.Connection) {
    this.#isPreparedOn.set(connection, false)
  }

  describe(fields: readonly pg.FieldDef[]) {
    this.columns = fields.map(({ name, dataTypeID }) => ({
      name,
      // Rows come as text.
      parse: types.getTypeParser(dataTypeID, 'text') as Column['parse'],
    }))
  }

  /** Notes what a run took. */
  took(milliseconds: number) {
    this.#typicalMs += (milliseconds - this.#typicalMs) / LATEST_RUNS
  }

  /** Notes that a run takes too long for others to wait for it. */
  tookLong() {
    this.#typicalMs = LONG_MS
  }
}

const MAX_SHORT_MS = 2
/** About 25 short runs later the average is below MAX_SHORT_MS again. */
const LONG_MS = 50
const LATEST_RUNS = 8

interface Column {
  readonly name: string
  readonly parse: (text: string) => unknown
}

/** A read that somebody waits for. */
export class Read {
  readonly statement: PreparedStatement
  readonly values: (string | null)[]
  readonly resolve: (rows: unknown[]) => void
  readonly #reject: (error: unknown) => void
  /** More than one where it was sent again before the result of the first. */
  #runs = 1
  #error: unknown

  constructor(
    statement: PreparedStatement,
    values: object,
    resolve: (rows: unknown[]) => void,
    reject: (error: unknown) => void,
  ) {
    this.statement = statement
    this.values = statement.parameters(values).map(textOf)
    this.resolve = resolve
    this.#reject = reject
  }

  /** Notes that it is sent once more. */
  repeat() {
    this.#runs += 1
  }

  /** Ends one run without a result, for a reason unless it is that of another read. It fails with its last run. */
  fail(error?: unknown) {
    this.#error = error ?? this.#error
    this.#runs -= 1
    if (this.#runs === 0) this.#reject(translate(this.#error))
  }
}

/** Reads that are sent together, as the driver calls them: see its documentation of `Submittable`. */
export class ReadBatch implements pg.Submittable {
  /** The driver replaces it to stop its timer. */
  callback: (error: Error | null) => void
  readonly #reads: readonly Read[]
  /** How many have their result. */
  #done = 0
  #rows: unknown[] = []

  constructor(reads: readonly Read[], callback: ReadBatch['callback']) {
    this.#reads = reads
    this.callback = callback
  }

  /** The reads without a result; the first of them is the one that runs, or failed. */
  get unfinished(): readonly Read[] {
    return this.#reads.slice(this.#done)
  }

  submit(connection: pg.Connection) {
    // In one write.
    connection.stream.cork()
    for (const { statement, values } of this.#reads) {
      statement.prepareOn(connection)
      connection.bind({ portal: '', statement: statement.name, values }, true)
      if (statement.columns === undefined) connection.describe({ type: 'P', name: '' }, true)
      connection.execute({ portal: '' }, true)
    }
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }) {
    this.#reads[this.#done]?.statement.describe(fields)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }) {
    const row: Record<string, unknown> = {}
    const columns = this.#reads[this.#done]?.statement.columns ?? []
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index]
      const text = fields[index] ?? null
      if (column !== undefined) row[column.name] = text === null ? null : column.parse(text)
    }
    this.#rows.push(row)
  }

  handleCommandComplete() {
    const rows = this.#rows
    // This object waited for the rows and is old by now: rows that it held would live until a full collection.
    this.#rows = []
    this.#reads[this.#done]?.resolve(rows)
    this.#done += 1
  }

  handleEmptyQuery() {}

  handlePortalSuspended() {}

  handleError(error: Error, connection: pg.Connection) {
    // The server has skipped everything after it, also what was to be prepared.
    for (const { statement } of this.unfinished) statement.fail(connection)
    this.callback(error)
  }

  handleReadyForQuery() {
    this.callback(null)
  }
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (value === null || value === undefined) return null
  throw new TypeError('parameters of reads are numbers and texts')
}
