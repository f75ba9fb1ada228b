import { type Kysely, sql } from '../vendor/kysely.js'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { Cell, Kind, Row } from './kind.ts'
import { kinds as allKinds } from './kinds.ts'
import { Errors, MAX_LISTED, type OnConflict } from './report.ts'
import type { SetAside, StagedKind } from './set-aside.ts'
import { StagingBatch } from './staging-batch.ts'

export interface StagingOptions {
  readonly db: Kysely<Tables>
  readonly engine: Engine
  /** Receives rows that cannot be stored. */
  readonly rejects: Errors | SetAside
  readonly onConflict: OnConflict
  /** Whether the tier of stored accounts, and its end, are updated. */
  readonly tiers: boolean
  /** Whether the rows come from an archive: then a record may move to another owner, and a missing field means no value. */
  readonly isArchive: boolean
  readonly kinds?: readonly Kind[]
  /** Returns the text of a line; if not given, the text is staged with the row. */
  readonly rawOf?: (line: number, kind: Kind) => string | Promise<string>
  /** If given, only the columns that are compared are staged, and this returns the whole row of a line. */
  readonly rowOf?: (line: number, kind: Kind) => Promise<Row>
  /** What the names of the temporary tables begin with. */
  readonly prefix?: string
}

/** Stages rows in temporary tables, which only this connection can see and which block nobody. */
export class StagingTables {
  readonly options: StagingOptions
  readonly db: Kysely<Tables>
  readonly batches: ReadonlyMap<Kind, StagingBatch>

  constructor(options: StagingOptions) {
    this.options = options
    this.db = options.db
    const keepsRaw = !(options.rejects instanceof Errors) && options.rawOf === undefined
    const isNarrow = options.rowOf !== undefined
    this.batches = new Map(
      (options.kinds ?? allKinds).map(kind => [
        kind,
        new StagingBatch({ db: options.db, kind, table: this.tableOf(kind), keepsRaw, isNarrow }),
      ]),
    )
  }

  /** The name of the temporary table of a kind. */
  tableOf({ table }: Kind): string {
    return `${this.options.prefix ?? 'incoming'}_${table}`
  }

  /** The kinds, each with its temporary table. */
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

  /** Of these rows, those that were not rejected and do not only repeat others. */
  async remaining<Packed extends { readonly line: number }>(kind: Kind, rows: readonly Packed[]): Promise<Packed[]> {
    const { repeated = 0, rejected = 0 } = this.batches.get(kind) ?? {}
    if (repeated + rejected === 0) return [...rows]
    const { rows: staged } = await sql<{ line: Cell }>`select line from ${sql.table(this.tableOf(kind))}
      where line in (${sql.join(rows.map(({ line }) => line))})`.execute(this.db)
    const lines = new Set(staged.map(({ line }) => Number(line)))
    return rows.filter(({ line }) => lines.has(line))
  }

  /** How many rows were added, of all kinds. */
  get total(): number {
    return [...this.batches.values()].reduce((sum, batch) => sum + batch.total, 0)
  }

  /** How many rows of a kind only repeat an earlier line, and how many records are not stored. */
  countsOf(kind: Kind): { readonly repeated: number; readonly skipped: number } {
    const { repeated = 0, skipped = 0 } = this.batches.get(kind) ?? {}
    return { repeated, skipped }
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
