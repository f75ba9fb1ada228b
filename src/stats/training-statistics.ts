import { forEachPausing } from '../fairness.ts'
import { boundariesOf, type Bucket } from './buckets.ts'
import { GradeCounts } from './grades.ts'
import { periodNear } from './periods.ts'
import { sessionsBetween, type SessionStats, Totals } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'

/** The statistics of sessions, the oldest first, by bucket and in total. Others have their turns while there are many. */
export async function trainingStatistics(
  sessions: readonly SessionStats[],
  buckets: readonly Bucket[],
  clock: ZoneClock,
) {
  const boundaries = boundariesOf(buckets)
  const sums = buckets.map(() => new TrainingSums())
  const total = new TrainingSums()
  let index = -1
  await forEachPausing(sessionsBetween(sessions, boundaries[0] ?? Infinity, boundaries.at(-1)), session => {
    index = periodNear(index, session.at, boundaries)
    const day = clock.dayOf(session.at)
    sums[index]?.add(session, day)
    total.add(session, day)
  })
  return { total: total.statistics(), buckets: sums.map(bucket => bucket.statistics()) }
}

export type TrainingStatistics = ReturnType<TrainingSums['statistics']>

class TrainingSums {
  readonly #totals = new Totals()
  #duration = 0
  #points = 0
  #ungraded = 0
  #days = 0
  #lastDay = NaN
  readonly #grades = new Map<string, { readonly counts: GradeCounts; passed: number }>()

  add(session: SessionStats, day: number) {
    this.#totals.add(session)
    if (day !== this.#lastDay) this.#days += 1
    this.#lastDay = day
    for (const stats of session.types) {
      this.#duration += stats.duration
      this.#points += stats.points
      this.#ungraded += stats.segments - stats.grades.length
      if (stats.grades.length === 0) continue
      const sums = this.#grades.getOrInsertComputed(stats.type, () => ({ counts: new GradeCounts(), passed: 0 }))
      for (const grade of stats.grades) sums.counts.add(grade)
      sums.passed += stats.gradedPassed
    }
  }

  statistics() {
    return {
      sessions: this.#totals.sessions,
      passed: this.#totals.passed,
      days: this.#days,
      reps: this.#totals.reps,
      /** Micrometres, without those that may be estimated. */
      distance: this.#totals.measured,
      approximateDistance: this.#totals.approximate,
      unknownDistances: this.#totals.unknownDistances,
      duration: this.#duration,
      points: this.#points,
      /** By type of segment, in the order of their names; types without graded segments are left out. */
      grades: [...this.#grades].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(gradeStatistics),
      ungradedSegments: this.#ungraded,
    }
  }
}

function gradeStatistics([type, { counts, passed }]: [string, { counts: GradeCounts; passed: number }]) {
  // Only types with a graded segment get here.
  const [median = 0, p90 = 0, min = 0, max = 0] = [50, 90, 0, 100].map(share => counts.percentile(share) ?? 0)
  return { type, segments: counts.count, passed, mean: counts.mean() ?? 0, median, p90, min, max }
}
