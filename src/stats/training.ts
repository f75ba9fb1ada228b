import { roundedRatio } from '../contract/numbers.ts'
import { forEachPausing } from '../fairness.ts'
import { GradeCounts } from './grades.ts'
import { groupByPeriod, lastPeriods, periodNear, type Periods } from './periods.ts'

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

interface Rate {
  readonly passed: number
  readonly total: number
}

/** The mean grade of the graded segments of one kind within a session; null when it has none. */
export function gradeOfKind({ kinds }: Pick<SessionStats, 'kinds'>, kind: string): number | null {
  const stats = kinds.find(one => one.kind === kind)
  return stats === undefined ? null : meanGrade(stats)
}

/** The mean grade of graded segments; null without any. */
function meanGrade({ gradeSum, graded }: Pick<KindStats, 'gradeSum' | 'graded'>): number | null {
  return roundedRatio(gradeSum, graded)
}

/** Where nothing was recorded for as many days, lines are broken, and nothing is usual. */
export const BREAK_DAYS = 14

export function passRate(sessions: readonly Pick<SessionStats, 'passed'>[]): Rate {
  return { passed: sessions.filter(({ passed }) => passed).length, total: sessions.length }
}

export interface KindTotals extends Rate {
  readonly kind: string
  readonly grade: number | null
  /** Whether its mean grades in several sessions hardly differ. */
  readonly isSteady: boolean
}

/** A difference that a chart of grades does not show. */
const STEADY_POINTS = 2

class KindSums {
  #passed = 0
  #total = 0
  #grades = 0
  #graded = 0
  /** Sessions with a grade, and their lowest and highest mean grade. */
  #sessions = 0
  #lowest = Infinity
  #highest = -Infinity

  add({ segments, passed, gradeSum, graded }: KindStats, grade: number | null) {
    this.#passed += passed
    this.#total += segments
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
      grade: roundedRatio(this.#grades, this.#graded),
      isSteady: this.#sessions > 1 && this.#highest - this.#lowest <= STEADY_POINTS,
    }
  }
}

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

export function totalsOf(sessions: readonly SessionStats[]): Totals {
  const sums = new SessionSums()
  for (const session of sessions) sums.add(session)
  return sums.totals()
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
  #segments = 0
  #grades = 0
  #graded = 0

  add({ passed, segments, grade, reps, distance, approximate }: SessionStats) {
    this.sessions += 1
    this.passed += passed ? 1 : 0
    this.reps += reps
    this.#segments += segments
    if (distance === null) this.unknownDistances += 1
    else if (approximate) this.approximate += distance
    else this.measured += distance
    if (grade === null) return
    this.#grades += grade
    this.#graded += 1
  }

  merge(other: SessionSums) {
    this.sessions += other.sessions
    this.passed += other.passed
    this.reps += other.reps
    this.measured += other.measured
    this.approximate += other.approximate
    this.unknownDistances += other.unknownDistances
    this.#segments += other.#segments
    this.#grades += other.#grades
    this.#graded += other.#graded
  }

  totals(): Totals {
    const { sessions, passed, reps, measured, approximate, unknownDistances } = this
    const distance = sessions > 0 && unknownDistances === sessions ? null : measured + approximate
    const grade = roundedRatio(this.#grades, this.#graded)
    return { sessions, passed, segments: this.#segments, reps, measured, approximate, distance, grade }
  }
}

/** The 10th percentile, the median and the 90th percentile of the grades of sessions. */
export interface GradeSpread {
  readonly sessions: number
  readonly low: number
  readonly median: number
  readonly high: number
}

/** What pages show of sessions. */
export interface TrainingSummary {
  readonly totals: Totals
  /** By kind of segment, the most frequent first. */
  readonly kinds: readonly KindTotals[]
  /** By period, as the following two. */
  readonly periods: readonly Totals[]
  /** The spread of the grades of sessions; null where there are none. */
  readonly spreads: readonly (GradeSpread | null)[]
  /** The spreads of their mean grades of each kind. */
  readonly kindSpreads: ReadonlyMap<string, readonly (GradeSpread | null)[]>
}

/** The summary of sessions, the oldest first. Others have their turns while many are summed. */
export async function summarize(sessions: readonly SessionStats[], periods: Periods = []): Promise<TrainingSummary> {
  const total = new SessionSums()
  const kindSums = new Map<string, KindSums>()
  const sums = Array.from({ length: Math.max(0, periods.length - 1) }, () => new SessionSums())
  const grades = new GradesByPeriod()
  const kindGrades = new Map<string, GradesByPeriod>()
  let index = -1
  await forEachPausing(sessions, session => {
    index = periodNear(index, session.at, periods)
    total.add(session)
    sums[index]?.add(session)
    grades.add(index, session.grade)
    for (const stats of session.kinds) {
      const grade = meanGrade(stats)
      kindSums.getOrInsertComputed(stats.kind, () => new KindSums()).add(stats, grade)
      kindGrades.getOrInsertComputed(stats.kind, () => new GradesByPeriod()).add(index, grade)
    }
  })
  return {
    totals: total.totals(),
    kinds: [...kindSums]
      .map(([kind, one]) => one.totals(kind))
      .toSorted((a, b) => b.total - a.total || (a.kind < b.kind ? -1 : 1)),
    periods: sums.map(period => period.totals()),
    spreads: grades.spreads(sums.length),
    kindSpreads: new Map([...kindGrades].map(([kind, one]) => [kind, one.spreads(sums.length)])),
  }
}

class GradesByPeriod {
  readonly #counts: (GradeCounts | undefined)[] = []

  add(period: number, grade: number | null) {
    if (period !== -1 && grade !== null) (this.#counts[period] ??= new GradeCounts()).add(grade)
  }

  spreads(length: number): (GradeSpread | null)[] {
    return Array.from({ length }, (_, period) => {
      const grades = this.#counts[period]
      // There is a count for periods with a grade.
      return grades === undefined
        ? null
        : {
            sessions: grades.count,
            low: grades.percentile(10) ?? 0,
            median: grades.percentile(50) ?? 0,
            high: grades.percentile(90) ?? 0,
          }
    })
  }
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

/** A session, if it matches; with a kind, reduced to its segments of that kind, of which it must have some. */
export function matching(session: SessionStats, { kind, program, passed }: Filters): SessionStats | undefined {
  if (program !== undefined && session.program !== program) return undefined
  if (passed !== undefined && session.passed !== passed) return undefined
  if (kind === undefined) return session
  const results = session.kinds.find(one => one.kind === kind)
  if (results === undefined) return undefined
  const { segments, reps, distance } = results
  const { id, at, approximate } = session
  return {
    id,
    at,
    passed: session.passed,
    program: session.program,
    segments,
    grade: meanGrade(results),
    reps,
    distance,
    approximate,
    kinds: [results],
  }
}

/** Of sessions in order, those from one instant to before another. */
export function sessionsBetween(
  sessions: readonly SessionStats[],
  from: number,
  to = Infinity,
): readonly SessionStats[] {
  return sessions.slice(firstFrom(sessions, from), firstFrom(sessions, to))
}

/** Of sessions in order, the index of the first at or after an instant. */
function firstFrom(sessions: readonly Pick<SessionStats, 'at'>[], at: number): number {
  let low = 0
  let high = sessions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sessions[middle]?.at ?? Infinity) < at) low = middle + 1
    else high = middle
  }
  return low
}
