import { forEachPausing } from '../fairness.ts'
import { boundariesOf, type Bucket } from './buckets.ts'
import { GradeCounts } from './grades.ts'
import { periodNear } from './periods.ts'
import { sessionsBetween, type SessionStats, Totals } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'

export interface TrainingStatistics {
  readonly sessions: number
  readonly passed: number
  /** Days with a session. */
  readonly days: number
  readonly reps: number
  /** Micrometres, without those that may be estimated. */
  readonly distance: number
  readonly approximateDistance: number
  /** Sessions whose distance is unknown. */
  readonly unknownDistances: number
  /** Seconds. */
  readonly duration: number
  readonly points: number
  /** By kind of segment, in the order of their names; kinds without graded segments are left out. */
  readonly grades: readonly GradeStatistics[]
  readonly ungradedSegments: number
}

/** Counts and grades of graded segments. */
interface GradeStatistics {
  readonly kind: string
  readonly segments: number
  readonly passed: number
  readonly mean: number
  readonly median: number
  readonly p90: number
  readonly min: number
  readonly max: number
}

/** The statistics of sessions, the oldest first, by bucket and in total. Others have their turns while there are many. */
export async function trainingStatistics(
  sessions: readonly SessionStats[],
  buckets: readonly Bucket[],
  clock: ZoneClock,
): Promise<{ readonly total: TrainingStatistics; readonly buckets: readonly TrainingStatistics[] }> {
  const boundaries = boundariesOf(buckets)
  const sums = buckets.map(() => new TrainingSums())
  let index = -1
  await forEachPausing(sessionsBetween(sessions, boundaries[0] ?? Infinity, boundaries.at(-1)), session => {
    index = periodNear(index, session.at, boundaries)
    sums[index]?.add(session, clock.dayOf(session.at))
  })
  const total = new TrainingSums()
  for (const bucket of sums) total.merge(bucket)
  return { total: total.statistics(), buckets: sums.map(bucket => bucket.statistics()) }
}

class TrainingSums {
  readonly #sums = new Totals()
  #duration = 0
  #points = 0
  #ungraded = 0
  #days = 0
  #firstDay = NaN
  #lastDay = NaN
  readonly #grades = new Map<string, { readonly counts: GradeCounts; passed: number }>()

  add(session: SessionStats, day: number) {
    this.#sums.add(session)
    if (this.#days === 0) this.#firstDay = day
    if (day !== this.#lastDay) this.#days += 1
    this.#lastDay = day
    for (const stats of session.kinds) {
      this.#duration += stats.duration
      this.#points += stats.points
      this.#ungraded += stats.segments - stats.grades.length
      if (stats.grades.length === 0) continue
      const sums = this.#gradesOf(stats.kind)
      for (const grade of stats.grades) sums.counts.add(grade)
      sums.passed += stats.gradedPassed
    }
  }

  /** Adds the sums of a later bucket. */
  merge(other: TrainingSums) {
    this.#sums.merge(other.#sums)
    if (other.#days > 0) {
      // A day may lie in several buckets, which are hours then.
      this.#days += other.#days - (other.#firstDay === this.#lastDay ? 1 : 0)
      this.#lastDay = other.#lastDay
    }
    this.#duration += other.#duration
    this.#points += other.#points
    this.#ungraded += other.#ungraded
    for (const [kind, { counts, passed }] of other.#grades) {
      const sums = this.#gradesOf(kind)
      sums.counts.merge(counts)
      sums.passed += passed
    }
  }

  statistics(): TrainingStatistics {
    return {
      sessions: this.#sums.sessions,
      passed: this.#sums.passed,
      days: this.#days,
      reps: this.#sums.reps,
      distance: this.#sums.measured,
      approximateDistance: this.#sums.approximate,
      unknownDistances: this.#sums.unknownDistances,
      duration: this.#duration,
      points: this.#points,
      grades: [...this.#grades].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(gradeStatistics),
      ungradedSegments: this.#ungraded,
    }
  }

  #gradesOf(kind: string) {
    return this.#grades.getOrInsertComputed(kind, () => ({ counts: new GradeCounts(), passed: 0 }))
  }
}

function gradeStatistics([kind, { counts, passed }]: [string, { counts: GradeCounts; passed: number }]) {
  // Only kinds with a graded segment get here.
  const [median = 0, p90 = 0, min = 0, max = 0] = [50, 90, 0, 100].map(share => counts.percentile(share) ?? 0)
  return { kind, segments: counts.count, passed, mean: counts.mean() ?? 0, median, p90, min, max }
}
