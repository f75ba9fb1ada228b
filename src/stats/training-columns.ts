import type { KindStats, SessionStats } from './training.ts'

/**
 * Training sessions in columns, so that all sessions of an account can be kept in memory: for 100,000 of them a page took 40 MB,
 * with objects 160 MB. A session is a view of its row: its fields are getters, which a spread does not copy.
 */

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
  const sessions = new SessionColumns(rows)
  return rows.map((_, row) => new SessionView(sessions, row))
}

class SessionColumns {
  readonly ids: Column
  readonly instants: Column
  readonly programs: Column
  readonly segments: Column
  readonly grades: Column
  readonly reps: Column
  readonly distances: Column
  readonly flags: Column
  readonly kinds: KindColumns
  /** The index of the first kind of each session, and after the last one the number of kinds. */
  readonly firstKinds: Column

  constructor(rows: readonly SessionRow[]) {
    const kinds: KindCells[] = []
    const firstKinds = [0]
    for (const row of rows) {
      // The archive wrote it as a list of these tuples.
      kinds.push(...(JSON.parse(row.kinds) as KindCells[]))
      firstKinds.push(kinds.length)
    }
    this.ids = columnOf(rows.map(({ id }) => id))
    this.instants = columnOf(rows.map(({ at }) => at))
    this.programs = columnOf(rows.map(({ settings_id }) => settings_id))
    this.segments = columnOf(rows.map(({ segments }) => segments))
    this.grades = columnOf(rows.map(({ grade }) => grade))
    this.reps = columnOf(rows.map(({ reps }) => reps))
    this.distances = columnOf(rows.map(({ distance_um }) => distance_um))
    this.flags = columnOf(rows.map(({ passed, approximate }) => passed * PASSED + approximate * APPROXIMATE))
    this.kinds = new KindColumns(kinds)
    this.firstKinds = columnOf(firstKinds)
  }
}

const PASSED = 1
const APPROXIMATE = 2

class SessionView implements SessionStats {
  readonly #columns: SessionColumns
  readonly #row: number

  constructor(columns: SessionColumns, row: number) {
    this.#columns = columns
    this.#row = row
  }

  get id(): number {
    return valueAt(this.#columns.ids, this.#row)
  }

  get at(): number {
    return valueAt(this.#columns.instants, this.#row)
  }

  get passed(): boolean {
    return (valueAt(this.#columns.flags, this.#row) & PASSED) !== 0
  }

  get program(): number {
    return valueAt(this.#columns.programs, this.#row)
  }

  get segments(): number {
    return valueAt(this.#columns.segments, this.#row)
  }

  get grade(): number | null {
    return knownAt(this.#columns.grades, this.#row)
  }

  get reps(): number {
    return valueAt(this.#columns.reps, this.#row)
  }

  get distance(): number | null {
    return knownAt(this.#columns.distances, this.#row)
  }

  get approximate(): boolean {
    return (valueAt(this.#columns.flags, this.#row) & APPROXIMATE) !== 0
  }

  get kinds(): readonly KindStats[] {
    const { kinds, firstKinds } = this.#columns
    const views: KindStats[] = []
    const end = valueAt(firstKinds, this.#row + 1)
    for (let row = valueAt(firstKinds, this.#row); row < end; row += 1) views.push(new KindView(kinds, row))
    return views
  }
}

class KindColumns {
  /** The distinct names; `kinds` has the index of the name of each row. */
  readonly names: readonly string[]
  readonly kinds: Column
  readonly segments: Column
  readonly passed: Column
  readonly grades: Column
  /** The index of the first grade of each row, and after the last one the number of grades. */
  readonly firstGrades: Column
  readonly gradedPassed: Column
  readonly reps: Column
  readonly distances: Column
  readonly durations: Column
  readonly points: Column

  constructor(rows: readonly KindCells[]) {
    const indexes = new Map<string, number>()
    const firstGrades = [0]
    const grades: number[] = []
    for (const row of rows) {
      grades.push(...row[3])
      firstGrades.push(grades.length)
    }
    this.kinds = columnOf(rows.map(([kind]) => indexes.getOrInsertComputed(kind, () => indexes.size)))
    this.names = [...indexes.keys()]
    this.segments = columnOf(rows.map(row => row[1]))
    this.passed = columnOf(rows.map(row => row[2]))
    this.grades = columnOf(grades)
    this.firstGrades = columnOf(firstGrades)
    this.gradedPassed = columnOf(rows.map(row => row[4]))
    this.reps = columnOf(rows.map(row => row[5]))
    this.distances = columnOf(rows.map(row => row[6]))
    this.durations = columnOf(rows.map(row => row[7]))
    this.points = columnOf(rows.map(row => row[8]))
  }
}

class KindView implements KindStats {
  readonly #columns: KindColumns
  readonly #row: number

  constructor(columns: KindColumns, row: number) {
    this.#columns = columns
    this.#row = row
  }

  get kind(): string {
    return this.#columns.names[valueAt(this.#columns.kinds, this.#row)] ?? ''
  }

  get segments(): number {
    return valueAt(this.#columns.segments, this.#row)
  }

  get passed(): number {
    return valueAt(this.#columns.passed, this.#row)
  }

  get grades(): readonly number[] {
    const { grades, firstGrades } = this.#columns
    const list: number[] = []
    const end = valueAt(firstGrades, this.#row + 1)
    for (let index = valueAt(firstGrades, this.#row); index < end; index += 1) list.push(valueAt(grades, index))
    return list
  }

  get graded(): number {
    const { firstGrades } = this.#columns
    return valueAt(firstGrades, this.#row + 1) - valueAt(firstGrades, this.#row)
  }

  get gradeSum(): number {
    const { grades, firstGrades } = this.#columns
    const end = valueAt(firstGrades, this.#row + 1)
    let total = 0
    for (let index = valueAt(firstGrades, this.#row); index < end; index += 1) total += valueAt(grades, index)
    return total
  }

  get gradedPassed(): number {
    return valueAt(this.#columns.gradedPassed, this.#row)
  }

  get reps(): number {
    return valueAt(this.#columns.reps, this.#row)
  }

  get distance(): number | null {
    return knownAt(this.#columns.distances, this.#row)
  }

  get duration(): number {
    return valueAt(this.#columns.durations, this.#row)
  }

  get points(): number {
    return valueAt(this.#columns.points, this.#row)
  }
}

/** Numbers, in the smallest type that holds all of them; NaN stands for null. */
type Column = Int16Array | Int32Array | Float64Array

function columnOf(values: readonly (number | null)[]): Column {
  const fits = (limit: number) => values.every(value => Number.isInteger(value) && Math.abs(Number(value)) < limit)
  if (fits(2 ** 15)) return Int16Array.from(values, Number)
  if (fits(2 ** 31)) return Int32Array.from(values, Number)
  return Float64Array.from(values, value => value ?? NaN)
}

function valueAt(column: Column, index: number): number {
  return column[index] ?? 0
}

function knownAt(column: Column, index: number): number | null {
  const value = column[index] ?? NaN
  return Number.isNaN(value) ? null : value
}
