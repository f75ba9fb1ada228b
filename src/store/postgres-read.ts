import { hash } from 'node:crypto'
import type pg from 'pg'
import { translate } from './postgres-errors.ts'
import { types } from './postgres-pool.ts'

/**
 * A statement that is prepared on each connection that runs it, and described once. The driver itself would ask for the columns
 * with each run and make objects that are not used here, which takes a fifth of the CPU time of a short read.
 */
export class PreparedStatement {
  /** The same for the same text in every process: a pooler may give one process the statements of another. */
  readonly name: string
  readonly sql: string
  /** Known after the first run. */
  columns: readonly ReadColumn[] | undefined
  /** The moving average of what the latest runs took, in milliseconds. */
  #typicalMs = 0
  /** True for connections that have it prepared, false for those that may have it, because a run has failed. */
  readonly #isPreparedOn = new WeakMap<pg.Connection, boolean>()

  constructor(sql: string) {
    this.sql = sql
    this.name = `lockstep_${hash('sha256', sql, 'base64url')}`
  }

  /** Whether it is known to be fast, so that other reads can wait for it. */
  get isShort(): boolean {
    return this.columns !== undefined && this.#typicalMs < MAX_SHORT_MS
  }

  /** Prepares it where it is not. */
  prepareOn(connection: pg.Connection) {
    const isPrepared = this.#isPreparedOn.get(connection)
    if (isPrepared === true) return
    // To close a statement that does not exist is no error.
    if (isPrepared === false) connection.close({ type: 'S', name: this.name }, true)
    connection.parse({ name: this.name, text: this.sql, types: [] }, true)
    this.#isPreparedOn.set(connection, true)
  }

  /** Prepares it for the next run only. */
  prepareOnce(connection: pg.Connection) {
    connection.parse({ name: '', text: this.sql, types: [] }, true)
  }

  fail(connection: pg.Connection) {
    this.#isPreparedOn.set(connection, false)
  }

  describe(fields: readonly pg.FieldDef[]) {
    this.columns = fields.map(({ name, dataTypeID }) => ({
      name,
      // Rows come as text.
      parse: types.getTypeParser(dataTypeID, 'text') as ReadColumn['parse'],
    }))
  }

  recordRun(milliseconds: number) {
    this.#typicalMs += (milliseconds - this.#typicalMs) / LATEST_RUNS
  }

  /** Records that a run takes too long for other reads to wait for it. */
  recordSlowRun() {
    this.#typicalMs = LONG_MS
  }
}

const MAX_SHORT_MS = 2
/** About 25 short runs later the average is below MAX_SHORT_MS again. */
const LONG_MS = 50
const LATEST_RUNS = 8

interface ReadColumn {
  readonly name: string
  readonly parse: (text: string) => unknown
}

/** A run of a statement with parameters, and the promise that waits for its rows. */
export class Read {
  readonly statement: PreparedStatement
  readonly values: (string | null)[]
  readonly resolve: (rows: unknown[]) => void
  readonly #reject: (error: unknown) => void
  /** More than one if it was sent again before it had a result. */
  #runs = 1
  #error: unknown

  constructor(
    statement: PreparedStatement,
    parameters: readonly unknown[],
    resolve: (rows: unknown[]) => void,
    reject: (error: unknown) => void,
  ) {
    this.statement = statement
    this.values = parameters.map(textOf)
    this.resolve = resolve
    this.#reject = reject
  }

  /** Counts a further run. */
  repeat() {
    this.#runs += 1
  }

  /** Ends one run without a result; without `error`, because of another read. The read fails when its last run does. */
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
  /** Whether its statements have names, and stay prepared. */
  readonly isNamed: boolean
  /** How many have their result. */
  #done = 0
  #rows: unknown[] = []

  constructor(reads: readonly Read[], isNamed: boolean, callback: ReadBatch['callback']) {
    this.#reads = reads
    this.isNamed = isNamed
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
      if (this.isNamed) statement.prepareOn(connection)
      else statement.prepareOnce(connection)
      connection.bind({ portal: '', statement: this.isNamed ? statement.name : '', values }, true)
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
    // This object has waited, so it is in the old generation: rows that it kept would live until a full collection.
    this.#rows = []
    this.#reads[this.#done]?.resolve(rows)
    this.#done += 1
  }

  handleEmptyQuery() {}

  handlePortalSuspended() {}

  handleError(error: Error, connection: pg.Connection) {
    // The server has skipped everything after the error, statements to be prepared as well.
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
