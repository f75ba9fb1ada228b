import { GradeCounts } from './grades.ts'
import { periodNear, type Periods } from './periods.ts'
import { meanGrade, type SessionStats } from './training.ts'
import { atOnce, forEachInParts, kept, type Parts } from './turns.ts'

/** The 10th percentile, the median and the 90th percentile of the grades of sessions. */
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
): readonly (GradeSpread | null)[] {
  const spreads = atOnce(spreadsInParts(sessions, periods))
  return spreads.get(kind) ?? Array.from({ length: periods.length - 1 }, () => null)
}

/** The spreads of all kinds in each period, cached by the list of sessions: a page shows them in several places. */
export function spreadsInParts(sessions: readonly SessionStats[], periods: Periods): Parts<SpreadsByKind> {
  const byPeriods = computed.getOrInsertComputed(sessions, () => new WeakMap())
  return kept(byPeriods, periods, () => spreadsByKind(sessions, periods))
}

type SpreadsByKind = ReadonlyMap<string | undefined, readonly (GradeSpread | null)[]>

const computed = new WeakMap<readonly SessionStats[], WeakMap<Periods, SpreadsByKind>>()

/** The spreads of the grades of sessions, under `undefined`, and of their mean grades of each kind. */
function* spreadsByKind(sessions: readonly SessionStats[], periods: Periods): Parts<SpreadsByKind> {
  const counts = new Map<string | undefined, (GradeCounts | undefined)[]>([[undefined, []]])
  const add = (kind: string | undefined, index: number, grade: number) => {
    const byPeriod = counts.getOrInsertComputed(kind, () => [])
    const count = (byPeriod[index] ??= new GradeCounts())
    count.add(grade)
  }
  let index = -1
  yield* forEachInParts(sessions, ({ at, grade, kinds }) => {
    index = periodNear(index, at, periods)
    if (index === -1) return
    if (grade !== null) add(undefined, index, grade)
    for (const stats of kinds) {
      const mean = meanGrade(stats)
      if (mean !== null) add(stats.kind, index, mean)
    }
  })
  const spreads = (byPeriod: readonly (GradeCounts | undefined)[]) =>
    Array.from({ length: periods.length - 1 }, (_, period) => spreadOf(byPeriod[period]))
  return new Map([...counts].map(([kind, byPeriod]) => [kind, spreads(byPeriod)]))
}

function spreadOf(grades: GradeCounts | undefined): GradeSpread | null {
  if (grades === undefined) return null
  const [low, median, high] = [grades.percentile(10), grades.percentile(50), grades.percentile(90)]
  return low === null || median === null || high === null ? null : { sessions: grades.count, low, median, high }
}
