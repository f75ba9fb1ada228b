import { type Kysely, sql } from 'kysely'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { Cell, Kind, Row } from './kind.ts'
import { kinds as allKinds } from './kinds.ts'
import { LineErrors, MAX_LISTED, type OnConflict } from './report.ts'
import type { RejectedRows, StagedKind } from './rejected-rows.ts'
import { StagingBatch } from './staging-batch.ts'

export interface StagingOptions {
  readonly db: Kysely<Tables>
  readonly engine: Engine
  readonly rejected: LineErrors | RejectedRows
  readonly onConflict: OnConflict
  /** Whether the tier of stored accounts, and its end, are updated. */
  readonly tiers: boolean
  /** Whether the rows come from an archive: then a missing field means no value, and a record may move to another owner. */
  readonly isArchive: boolean
  /** Rows are only stored for this account, whose reader is not told what others have. */
  readonly onlyAccount?: number | undefined
  readonly kinds?: readonly Kind[]
  /** Returns the text of a line; if not given, the text is staged with the row. */
  readonly rawOf?: (line: number) => string | undefined
}

/** Stages rows in temporary tables, which only this connection can see and which block nobody. */
export class StagingTables {
  readonly options: StagingOptions
  readonly db: Kysely<Tables>
  readonly batches: ReadonlyMap<Kind, StagingBatch>

  constructor(options: StagingOptions) {
    this.options = options
    this.db = options.db
    const keepsRaw = !(options.rejected instanceof LineErrors) && options.rawOf === undefined
    this.batches = new Map(
      (options.kinds ?? allKinds).map(kind => [
        kind,
        new StagingBatch({ db: options.db, kind, table: this.tableOf(kind), keepsRaw }),
      ]),
    )
  }

  tableOf({ table }: Kind): string {
    return `incoming_${table}`
  }

  tables(): StagedKind[] {
    return [...this.batches.keys()].map(kind => ({ kind, table: this.tableOf(kind) }))
  }

  /** Creates the tables, or empties those of an earlier batch. */
  async prepare() {
    for (const [kind, batch] of this.batches) {
      const staged = this.tableOf(kind)
      await this.run(
        `create temporary table if not exists ${staged} as select ${batch.definition} from ${kind.table} where 1 = 0`,
      )
      await this.run(this.options.engine === 'postgres' ? `truncate ${staged}` : `delete from ${staged}`)
      batch.reset()
    }
  }

  async discard() {
    for (const kind of this.batches.keys()) await this.run(`drop table if exists ${this.tableOf(kind)}`)
  }

  /** Adds a row; missing columns are null. */
  add(kind: Kind, line: number, row: Row, raw: string | null = null) {
    this.batches.get(kind)?.add(line, row, raw)
  }

  /** Counts a record that is not stored. */
  skip(kind: Kind) {
    const batch = this.batches.get(kind)
    if (batch !== undefined) batch.skipped += 1
  }

  async flushFull() {
    for (const batch of this.batches.values()) if (batch.isFull) await batch.flush()
  }

  async flush() {
    for (const batch of this.batches.values()) await batch.flush()
  }

  /** The first lines that match a condition, and how many there are. */
  async lines(kind: Kind, condition: string): Promise<{ lines: number[]; count: number }> {
    const { rows } = await sql
      .raw<{ line: Cell; count: Cell }>(
        `select incoming.line, count(*) over () as count from ${this.tableOf(kind)} as incoming
          where ${condition} order by incoming.line limit ${MAX_LISTED}`,
      )
      .execute(this.db)
    return { lines: rows.map(({ line }) => Number(line)), count: Number(rows[0]?.count ?? 0) }
  }

  /** Returns how many rows were written. */
  async run(statement: string): Promise<number> {
    const { numAffectedRows } = await sql.raw(statement).execute(this.db)
    return Number(numAffectedRows ?? 0)
  }
}
