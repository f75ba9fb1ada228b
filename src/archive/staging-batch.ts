import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Tables } from '../store/tables.ts'
import type { Cell, Kind, Row } from './kind.ts'

interface BatchOptions {
  readonly db: Kysely<Tables>
  readonly kind: Kind
  readonly table: string
  readonly keepsRaw: boolean
}

/** Rows of one kind, written in multi-row statements. */
export class StagingBatch {
  readonly #db: Kysely<Tables>
  readonly #table: string
  #cells: Cell[] = []
  #rows = 0
  #characters = 0
  #fullStatement: string | undefined
  /** How many rows were added. */
  total = 0
  /** How many records are not stored. */
  skipped = 0
  /** How many of the added rows cannot be stored. */
  rejected = 0
  /** How many of the added rows only repeat others. */
  repeated = 0
  readonly columns: readonly string[]
  readonly #keepsRaw: boolean
  /** The select list that creates the staging table. */
  readonly definition: string

  constructor({ db, kind, table, keepsRaw }: BatchOptions) {
    this.#db = db
    this.#table = table
    this.#keepsRaw = keepsRaw
    this.columns = [...kind.columns, ...Object.keys(kind.staged)]
    this.definition = [
      '0 as line',
      ...(keepsRaw ? ["cast('' as text) as raw"] : []),
      ...kind.columns,
      ...Object.entries(kind.staged).map(
        ([column, type]) =>
          `cast(${type === 'text' ? "''" : '0'} as ${type === 'text' ? 'text' : 'bigint'}) as ${column}`,
      ),
    ].join(', ')
  }

  reset() {
    this.total = 0
    this.skipped = 0
    this.rejected = 0
    this.repeated = 0
  }

  get #names() {
    return ['line', ...(this.#keepsRaw ? ['raw'] : []), ...this.columns]
  }

  get isFull() {
    return this.#rows >= ROWS_AT_ONCE || this.#characters >= CHARACTERS_AT_ONCE
  }

  add(line: number, row: Row, raw: string | null) {
    this.#cells.push(line)
    if (this.#keepsRaw) {
      this.#cells.push(raw)
      this.#characters += raw?.length ?? 0
    }
    for (const column of this.columns) {
      const cell = row[column] ?? null
      this.#cells.push(cell)
      if (typeof cell === 'string') this.#characters += cell.length
    }
    this.#rows += 1
    this.total += 1
  }

  async flush() {
    const width = this.#names.length
    for (let row = 0; row < this.#rows; row += ROWS_AT_ONCE) {
      const count = Math.min(ROWS_AT_ONCE, this.#rows - row)
      const cells = this.#cells.slice(row * width, (row + count) * width)
      await this.#db.executeQuery(CompiledQuery.raw(this.#statement(count), cells))
    }
    this.#cells = []
    this.#rows = 0
    this.#characters = 0
  }

  #statement(count: number): string {
    if (count !== ROWS_AT_ONCE) return this.#insert(count)
    this.#fullStatement ??= this.#insert(count)
    return this.#fullStatement
  }

  #insert(count: number): string {
    const names = this.#names
    const tuples = Array.from({ length: count }, () => sql`(${sql.join(names)})`)
    return sql`insert into ${sql.table(this.#table)} (${sql.raw(names.join(', '))}) values ${sql.join(tuples)}`.compile(
      this.#db,
    ).sql
  }
}

/** How many rows a statement writes or reads. */
export const ROWS_AT_ONCE = 100
const CHARACTERS_AT_ONCE = 1024 * 1024
