import { GradeCounts } from './grades.ts'
import { type Periods, periodOf } from './periods.ts'
import { gradeOfKind, type SessionStats } from './training.ts'

/** The grades of the sessions of some time: the middle one, and those that a tenth lies below or above. */
export interface GradeSpread {
  readonly sessions: number
  readonly low: number
  readonly median: number
  readonly high: number
}

/** The spread of the grades of sessions in each period, or of their grades of one kind; null for one without grades. */
export function gradeSpreads(
  sessions: readonly SessionStats[],
  periods: Periods,
  kind?: string,
): (GradeSpread | null)[] {
  const counts = Array.from({ length: Math.max(0, periods.length - 1) }, () => new GradeCounts())
  for (const session of sessions) {
    const grade = kind === undefined ? session.grade : gradeOfKind(session, kind)
    if (grade !== null) counts[periodOf(session.at, periods)]?.add(grade)
  }
  return counts.map(grades => {
    const [low, median, high] = [grades.percentile(10), grades.percentile(50), grades.percentile(90)]
    return low === null || median === null || high === null ? null : { sessions: grades.count, low, median, high }
  })
}
