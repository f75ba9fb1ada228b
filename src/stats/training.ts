import { roundedRatio, sum } from '../contract/numbers.ts'
import { forEachPausing } from '../fairness.ts'
import { GradeCounts } from './grades.ts'
import { periodNear, type Periods } from './periods.ts'

/** Segments of one type within a session. */
export interface TypeStats {
  readonly type: string
  readonly segments: number
  /** Grades of the graded segments. */
  readonly grades: readonly number[]
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
  /** Whether somebody typed it into a table. */
  readonly isTyped: boolean
  readonly types: readonly TypeStats[]
}

/** The mean grade of graded segments; null without any. */
function meanGrade({ grades }: Pick<TypeStats, 'grades'>): number | null {
  return roundedRatio(sum(grades), grades.length)
}

/** Where nothing was recorded for as many days, lines are broken, and nothing is usual. */
export const BREAK_DAYS = 14

export function totalsOf(sessions: readonly SessionStats[]): Totals {
  const totals = new Totals()
  for (const session of sessions) totals.add(session)
  return totals
}

/** Sums over sessions. Distances are micrometres. */
export class Totals {
  sessions = 0
  passed = 0
  reps = 0
  measured = 0
  /** Of distances that may be estimated. */
  approximate = 0
  /** Sessions whose distance is unknown. */
  unknownDistances = 0

  add({ passed, reps, distance, approximate }: SessionStats) {
    this.sessions += 1
    this.passed += passed ? 1 : 0
    this.reps += reps
    if (distance === null) this.unknownDistances += 1
    else if (approximate) this.approximate += distance
    else this.measured += distance
  }

  get passedPercent(): number | null {
    return roundedRatio(this.passed * 100, this.sessions)
  }

  /** Measured or estimated; null if there are sessions and the distance of none is known. */
  get distance(): number | null {
    return this.sessions > 0 && this.unknownDistances === this.sessions ? null : this.measured + this.approximate
  }
}

export type TrainingSummary = Awaited<ReturnType<typeof summarize>>
export type TypeTotals = TrainingSummary['types'][number]

/** The summary of sessions, the oldest first. Others have their turns while many are summed. */
export async function summarize(sessions: readonly SessionStats[], periods: Periods = []) {
  const totals = new Totals()
  const sums = Array.from({ length: Math.max(0, periods.length - 1) }, () => new Totals())
  const grades = new GradeCounts()
  const byPeriod: (GradeCounts | undefined)[] = sums.map(() => undefined)
  const types = new Map<string, { segments: number; readonly grades: GradeCounts }>()
  let index = -1
  await forEachPausing(sessions, session => {
    index = periodNear(index, session.at, periods)
    totals.add(session)
    sums[index]?.add(session)
    if (session.grade !== null) {
      grades.add(session.grade)
      if (index !== -1) (byPeriod[index] ??= new GradeCounts()).add(session.grade)
    }
    for (const stats of session.types) {
      const ofType = types.getOrInsertComputed(stats.type, () => ({ segments: 0, grades: new GradeCounts() }))
      ofType.segments += stats.segments
      const grade = meanGrade(stats)
      if (grade !== null) ofType.grades.add(grade)
    }
  })
  return {
    totals,
    grade: spreadOf(grades),
    /** The most frequent first, with the spread of their mean grades in each session. */
    types: [...types]
      .map(([type, { segments, grades }]) => ({ type, segments, grade: spreadOf(grades) }))
      .toSorted((a, b) => b.segments - a.segments || (a.type < b.type ? -1 : 1)),
    periods: sums,
    spreads: byPeriod.map(spreadOf),
  }
}

/** The 10th percentile, the median and the 90th percentile; null without grades. */
function spreadOf(grades = new GradeCounts()) {
  const [low, median, high] = [grades.percentile(10), grades.median(), grades.percentile(90)]
  return low === null || median === null || high === null ? null : { sessions: grades.count, low, median, high }
}

export interface Filters {
  readonly type?: string | undefined
  readonly program?: number | undefined
  readonly passed?: boolean | undefined
}

/** A session, if it matches; with a type, reduced to its segments of that type, of which it must have some. */
export function matching(session: SessionStats, { type, program, passed }: Filters): SessionStats | undefined {
  if (program !== undefined && session.program !== program) return undefined
  if (passed !== undefined && session.passed !== passed) return undefined
  if (type === undefined) return session
  const results = session.types.find(one => one.type === type)
  if (results === undefined) return undefined
  const { segments, reps, distance } = results
  return { ...session, segments, grade: meanGrade(results), reps, distance, types: [results] }
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
