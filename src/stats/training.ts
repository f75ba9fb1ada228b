import { mean } from '../contract/numbers.ts'
import { groupByPeriod, lastPeriods, periodNear, type Periods } from './periods.ts'
import { atOnce, forEachInParts, inTurns, kept, type Parts } from './turns.ts'

/** Segments of one kind within a session. */
export interface KindStats {
  readonly kind: string
  readonly segments: number
  readonly passed: number
  /** Grades of the graded segments, how many there are, and their sum. */
  readonly grades: readonly number[]
  readonly graded: number
  readonly gradeSum: number
  /** How many of the graded segments were passed. */
  readonly gradedPassed: number
  readonly reps: number
  /** Micrometres; null if the distance of no segment is known. */
  readonly distance: number | null
  /** Seconds. */
  readonly duration: number
  readonly points: number
}

/** What the columns of a training session say, without its record. */
export interface SessionStats {
  readonly id: number
  readonly at: number
  readonly passed: boolean
  /** The identifier of its program. */
  readonly program: number
  readonly segments: number
  /** The unweighted mean of the grades of its graded segments, rounded half up; null without any. */
  readonly grade: number | null
  readonly reps: number
  /** Micrometres; null when unknown. */
  readonly distance: number | null
  /** Whether the distance may have been estimated. */
  readonly approximate: boolean
  readonly kinds: readonly KindStats[]
}

export interface Rate {
  readonly passed: number
  readonly total: number
}

/** The mean grade of the graded segments of one kind within a session; null when it has none. */
export function gradeOfKind({ kinds }: Pick<SessionStats, 'kinds'>, kind: string): number | null {
  for (const stats of kinds) if (stats.kind === kind) return meanGrade(stats)
  return null
}

/** The mean grade of graded segments; null without any. */
export function meanGrade({ gradeSum, graded }: Pick<KindStats, 'gradeSum' | 'graded'>): number | null {
  return mean(gradeSum, graded)
}

/** For each value, the mean of it and the values before it, `width` values at most. Nulls are skipped and stay null. */
export function movingAverage(values: readonly (number | null)[], width = 7): (number | null)[] {
  const window: number[] = []
  let sum = 0
  return values.map(value => {
    if (value === null) return null
    window.push(value)
    sum += value
    if (window.length > width) sum -= window.shift() ?? 0
    return sum / window.length
  })
}

export function passRate(sessions: readonly Pick<SessionStats, 'passed'>[]): Rate {
  return { passed: sessions.filter(({ passed }) => passed).length, total: sessions.length }
}

export interface KindTotals extends Rate {
  readonly kind: string
  readonly grade: number | null
  /** The mean grade of each of several sessions, if it is the same in all; else null. */
  readonly constantGrade: number | null
}

/** Totals of segments by kind, the most frequent first; cached by the list of sessions. */
export function totalsByKind(sessions: readonly Pick<SessionStats, 'kinds'>[]): readonly KindTotals[] {
  return atOnce(totalsByKindInParts(sessions))
}

export function totalsByKindInParts(sessions: readonly Pick<SessionStats, 'kinds'>[]): Parts<readonly KindTotals[]> {
  return kept(kindTotals, sessions, () => computeTotalsByKind(sessions))
}

const kindTotals = new WeakMap<readonly Pick<SessionStats, 'kinds'>[], readonly KindTotals[]>()

function* computeTotalsByKind(sessions: readonly Pick<SessionStats, 'kinds'>[]): Parts<readonly KindTotals[]> {
  const totals = new Map<string, KindSums>()
  yield* forEachInParts(sessions, session => {
    for (const stats of session.kinds) totals.getOrInsertComputed(stats.kind, () => new KindSums()).add(stats)
  })
  return [...totals]
    .map(([kind, sums]) => sums.totals(kind))
    .toSorted((a, b) => b.total - a.total || (a.kind < b.kind ? -1 : 1))
}

class KindSums {
  #passed = 0
  #total = 0
  #grades = 0
  #graded = 0
  /** Sessions with a grade, and their lowest and highest mean grade. */
  #sessions = 0
  #lowest = Infinity
  #highest = -Infinity

  add({ segments, passed, gradeSum, graded }: Pick<KindStats, 'segments' | 'passed' | 'gradeSum' | 'graded'>) {
    this.#passed += passed
    this.#total += segments
    const grade = mean(gradeSum, graded)
    if (grade === null) return
    this.#grades += gradeSum
    this.#graded += graded
    this.#sessions += 1
    this.#lowest = Math.min(this.#lowest, grade)
    this.#highest = Math.max(this.#highest, grade)
  }

  totals(kind: string): KindTotals {
    return {
      kind,
      passed: this.#passed,
      total: this.#total,
      grade: mean(this.#grades, this.#graded),
      constantGrade: this.#sessions > 1 && this.#lowest === this.#highest ? this.#lowest : null,
    }
  }
}

/** Totals over sessions. */
export interface Totals {
  readonly sessions: number
  readonly passed: number
  readonly segments: number
  readonly reps: number
  /** Micrometres: measured, and possibly estimated. */
  readonly measured: number
  readonly approximate: number
  /** Both; null if there are sessions and the distance of none is known. */
  readonly distance: number | null
  /** The mean of the grades of the sessions, rounded half up. */
  readonly grade: number | null
}

/** The totals over sessions; cached by the list. */
export function totalsOf(sessions: readonly SessionStats[]): Totals {
  return atOnce(totalsInParts(sessions))
}

export function totalsInParts(sessions: readonly SessionStats[]): Parts<Totals> {
  return kept(totals, sessions, () => computeTotals(sessions))
}

const totals = new WeakMap<readonly SessionStats[], Totals>()

function* computeTotals(sessions: readonly SessionStats[]): Parts<Totals> {
  const sums = new TotalSums()
  yield* forEachInParts(sessions, session => sums.add(session))
  return sums.totals()
}

class TotalSums {
  readonly #sums = new SessionSums()
  #segments = 0
  #grades = 0
  #graded = 0

  add(session: SessionStats) {
    this.#sums.add(session)
    this.#segments += session.segments
    const { grade } = session
    if (grade === null) return
    this.#grades += grade
    this.#graded += 1
  }

  totals(): Totals {
    const { sessions, passed, reps, measured, approximate } = this.#sums
    return {
      sessions,
      passed,
      segments: this.#segments,
      reps,
      measured,
      approximate,
      distance: this.#sums.distance(),
      grade: mean(this.#grades, this.#graded),
    }
  }
}

/** Sums over sessions. Distances are micrometres. */
export class SessionSums {
  sessions = 0
  passed = 0
  reps = 0
  measured = 0
  /** Of distances that may be estimated. */
  approximate = 0
  /** Sessions whose distance is unknown. */
  unknownDistances = 0

  add({ passed, reps, distance, approximate }: Pick<SessionStats, 'passed' | 'reps' | 'distance' | 'approximate'>) {
    this.sessions += 1
    this.passed += passed ? 1 : 0
    this.reps += reps
    if (distance === null) this.unknownDistances += 1
    else if (approximate) this.approximate += distance
    else this.measured += distance
  }

  merge(other: SessionSums) {
    this.sessions += other.sessions
    this.passed += other.passed
    this.reps += other.reps
    this.measured += other.measured
    this.approximate += other.approximate
    this.unknownDistances += other.unknownDistances
  }

  /** All distances; null if there are sessions and the distance of none is known. */
  distance(): number | null {
    return this.sessions > 0 && this.unknownDistances === this.sessions ? null : this.measured + this.approximate
  }
}

/** The totals of each period; cached by the list of sessions. */
export function totalsByPeriod(sessions: readonly SessionStats[], periods: Periods): readonly Totals[] {
  return atOnce(totalsByPeriodInParts(sessions, periods))
}

export function totalsByPeriodInParts(sessions: readonly SessionStats[], periods: Periods): Parts<readonly Totals[]> {
  const byPeriods = periodTotals.getOrInsertComputed(sessions, () => new WeakMap())
  return kept(byPeriods, periods, () => computeTotalsByPeriod(sessions, periods))
}

const periodTotals = new WeakMap<readonly SessionStats[], WeakMap<Periods, readonly Totals[]>>()

function* computeTotalsByPeriod(sessions: readonly SessionStats[], periods: Periods): Parts<readonly Totals[]> {
  const sums = Array.from({ length: Math.max(0, periods.length - 1) }, () => new TotalSums())
  let index = -1
  yield* forEachInParts(sessions, session => {
    index = periodNear(index, session.at, periods)
    sums[index]?.add(session)
  })
  return sums.map(period => period.totals())
}

/** This week so far, and the average of the four weeks before it; null if they have no sessions. */
export interface Comparison {
  readonly current: Totals
  readonly before: Totals | null
}

export function compareWeeks(sessions: readonly SessionStats[], now: number, zone: string): Comparison {
  const weeks = groupByPeriod(sessions, lastPeriods('week', 5, now, zone))
  const earlier = weeks.slice(0, 4).flat()
  const { grade, ...sums } = totalsOf(earlier)
  return {
    current: totalsOf(weeks[4] ?? []),
    before:
      earlier.length === 0
        ? null
        : {
            sessions: sums.sessions / 4,
            passed: sums.passed / 4,
            segments: sums.segments / 4,
            reps: sums.reps / 4,
            measured: sums.measured / 4,
            approximate: sums.approximate / 4,
            distance: sums.distance === null ? null : sums.distance / 4,
            grade,
          },
  }
}

export interface Filters {
  readonly kind?: string | undefined
  readonly program?: number | undefined
  readonly passed?: boolean | undefined
}

/**
 * The sessions that match; with a kind, those that have a segment of it, reduced to these segments. Without filters, and for the
 * filters of the call before, the same list is returned, so that what was computed for it is used again. Other requests are handled
 * while a long list is filtered.
 */
export async function filtered(sessions: readonly SessionStats[], filters: Filters): Promise<readonly SessionStats[]> {
  const { kind, program, passed } = filters
  if (kind === undefined && program === undefined && passed === undefined) return sessions
  const last = lastFiltered.get(sessions)
  if (last !== undefined && last.kind === kind && last.program === program && last.passed === passed)
    return last.fitting
  const [fitting] = await inTurns(() => fittingSessions(sessions, filters))
  lastFiltered.set(sessions, { kind, program, passed, fitting })
  return fitting
}

const lastFiltered = new WeakMap<readonly SessionStats[], Filters & { readonly fitting: readonly SessionStats[] }>()

function* fittingSessions(sessions: readonly SessionStats[], filters: Filters): Parts<readonly SessionStats[]> {
  const fitting: SessionStats[] = []
  yield* forEachInParts(sessions, session => {
    if (filters.program !== undefined && session.program !== filters.program) return
    if (filters.passed !== undefined && session.passed !== filters.passed) return
    const fits = filters.kind === undefined ? session : withKind(session, filters.kind)
    if (fits !== undefined) fitting.push(fits)
  })
  return fitting
}

/** A session reduced to its segments of a kind; undefined if it has none. */
function withKind(session: SessionStats, kind: string): SessionStats | undefined {
  const results = session.kinds.find(one => one.kind === kind)
  if (results === undefined) return undefined
  const { id, at, passed, program, approximate } = session
  const { segments, reps, distance } = results
  // Field by field: a spread of so many objects takes ten times as long.
  return { id, at, passed, program, segments, grade: meanGrade(results), reps, distance, approximate, kinds: [results] }
}

/** The results of a session that are summed. */
export type TrainingResults = Pick<SessionStats, 'at' | 'passed' | 'reps' | 'distance' | 'approximate' | 'kinds'>

/** The results of a session reduced to its segments of one kind; undefined if it has none. */
export function ofKind({ at, passed, approximate, kinds }: TrainingResults, kind: string): TrainingResults | undefined {
  const results = kinds.find(one => one.kind === kind)
  return results && { at, passed, approximate, reps: results.reps, distance: results.distance, kinds: [results] }
}

/**
 * Of sessions in order, those from one instant to before another. For the same sessions the same list is returned, so that what was
 * computed for it is used again.
 */
export function sessionsBetween(
  sessions: readonly SessionStats[],
  from: number,
  to = Infinity,
): readonly SessionStats[] {
  const [start, end] = [firstFrom(sessions, from), firstFrom(sessions, to)]
  if (start === 0 && end === sessions.length) return sessions
  const parts = partsOf.getOrInsertComputed(sessions, () => new Map())
  const key = `${start} ${end}`
  const known = parts.get(key)
  if (known !== undefined) return known
  if (parts.size >= MAX_PARTS) parts.clear()
  const part = sessions.slice(start, end)
  parts.set(key, part)
  return part
}

const partsOf = new WeakMap<readonly SessionStats[], Map<string, readonly SessionStats[]>>()
const MAX_PARTS = 8

/** Of sessions in order, the index of the first at or after an instant. */
export function firstFrom(sessions: readonly Pick<SessionStats, 'at'>[], at: number): number {
  let low = 0
  let high = sessions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sessions[middle]?.at ?? Infinity) < at) low = middle + 1
    else high = middle
  }
  return low
}
