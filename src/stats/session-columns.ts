import type { KindStats, SessionStats } from './training.ts'

/** Training sessions in columns of numbers, so that all sessions of an account fit into memory: 100,000 take 26 MB, as objects 160 MB. */

/** A row of training_session. Distances are micrometres. */
export interface SessionRow {
  readonly id: number
  readonly at: number
  readonly passed: number
  readonly settings_id: number
  readonly segments: number
  readonly grade: number | null
  readonly reps: number
  readonly distance_um: number | null
  readonly approximate: number
  /** What `derived-columns.ts` of the archive wrote: a list of tuples as JSON. */
  readonly kinds: string
}

type KindCells = [
  kind: string,
  segments: number,
  passed: number,
  grades: number[],
  gradedPassed: number,
  reps: number,
  distance: number | null,
  duration: number,
  points: number,
]

/** The sessions of some rows, in their order. */
export function sessionsOf(rows: readonly SessionRow[]): SessionStats[] {
  // The archive wrote it as a list of these tuples.
  const cells = rows.map(({ kinds }) => JSON.parse(kinds) as KindCells[])
  const kinds = new KindColumns(cells.flat())
  let end = 0
  const ends = cells.map(({ length }) => (end += length))
  const columns = new Columns(rows, [
    row => row.id,
    row => row.at,
    row => row.passed,
    row => row.settings_id,
    row => row.segments,
    row => row.grade,
    row => row.reps,
    row => row.distance_um,
    row => row.approximate,
    (_, index) => ends[index] ?? 0,
  ])
  return rows.map((_, row) => new Session(columns, kinds, row))
}

/** What a session takes in memory, in bytes, with five kinds of segments. */
export const SESSION_BYTES = 260

/** A view of its row: its fields are getters, which a spread does not copy. */
class Session implements SessionStats {
  readonly #columns: Columns<SessionRow>
  readonly #kinds: KindColumns
  readonly #row: number

  constructor(columns: Columns<SessionRow>, kinds: KindColumns, row: number) {
    this.#columns = columns
    this.#kinds = kinds
    this.#row = row
  }

  get id(): number {
    return this.#columns.at(0, this.#row)
  }

  get at(): number {
    return this.#columns.at(1, this.#row)
  }

  get passed(): boolean {
    return this.#columns.at(2, this.#row) === 1
  }

  get program(): number {
    return this.#columns.at(3, this.#row)
  }

  get segments(): number {
    return this.#columns.at(4, this.#row)
  }

  get grade(): number | null {
    return orNull(this.#columns.at(5, this.#row))
  }

  get reps(): number {
    return this.#columns.at(6, this.#row)
  }

  get distance(): number | null {
    return orNull(this.#columns.at(7, this.#row))
  }

  get approximate(): boolean {
    return this.#columns.at(8, this.#row) === 1
  }

  get kinds(): readonly KindStats[] {
    const kinds: KindStats[] = []
    const end = this.#columns.at(9, this.#row)
    for (let row = this.#columns.at(9, this.#row - 1); row < end; row += 1) kinds.push(this.#kinds.at(row))
    return kinds
  }
}

class KindColumns {
  readonly #names: readonly string[]
  readonly #columns: Columns<KindCells>
  /** Of all rows, one after the other. */
  readonly #grades: Column

  constructor(cells: readonly KindCells[]) {
    this.#names = [...new Set(cells.map(([kind]) => kind))]
    let end = 0
    const ends = cells.map(([, , , { length }]) => (end += length))
    this.#columns = new Columns(cells, [
      ([kind]) => this.#names.indexOf(kind),
      row => row[1],
      row => row[2],
      (_, index) => ends[index] ?? 0,
      row => row[4],
      row => row[5],
      row => row[6],
      row => row[7],
      row => row[8],
    ])
    this.#grades = columnOf(cells.flatMap(([, , , grades]) => grades))
  }

  at(row: number): KindStats {
    const columns = this.#columns
    const grades: number[] = []
    let gradeSum = 0
    for (let index = columns.at(3, row - 1), end = columns.at(3, row); index < end; index += 1) {
      const grade = this.#grades[index] ?? 0
      gradeSum += grade
      grades.push(grade)
    }
    return {
      kind: this.#names[columns.at(0, row)] ?? '',
      segments: columns.at(1, row),
      passed: columns.at(2, row),
      grades,
      graded: grades.length,
      gradeSum,
      gradedPassed: columns.at(4, row),
      reps: columns.at(5, row),
      distance: orNull(columns.at(6, row)),
      duration: columns.at(7, row),
      points: columns.at(8, row),
    }
  }
}

/** Rows of numbers, in columns; NaN stands for null. */
class Columns<Row> {
  readonly #columns: readonly Column[]

  constructor(rows: readonly Row[], fields: readonly ((row: Row, index: number) => number | null)[]) {
    // One after the other, so that few values are alive at the same time.
    this.#columns = fields.map(field => columnOf(rows.map(field)))
  }

  /** 0 before the first row. */
  at(column: number, row: number): number {
    return this.#columns[column]?.[row] ?? 0
  }
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

/** Numbers, in the smallest type that holds all of them. */
type Column = Int16Array | Int32Array | Float64Array

function columnOf(values: readonly (number | null)[]): Column {
  const fits = (limit: number) => values.every(value => Number.isInteger(value) && Math.abs(Number(value)) < limit)
  if (fits(2 ** 15)) return Int16Array.from(values, Number)
  if (fits(2 ** 31)) return Int32Array.from(values, Number)
  return Float64Array.from(values, value => value ?? NaN)
}
