import { GradeCounts } from './grades.ts'
import type { SessionStats } from './training.ts'

/** The grades that are usual with a program. */
export interface Usual {
  readonly low: number
  readonly high: number
}

/** How many sessions say what is usual: fewer than the first number say nothing, and none before the last ones count. */
const SESSIONS = [5, 20] as const

/**
 * The middle half of the grades of the last 20 sessions with the same program before this one, from the 25th to the 75th percentile;
 * undefined if fewer than 5 of them have a grade. `sessions` are those of the account, the oldest first.
 */
export function usualGrade(
  sessions: readonly Pick<SessionStats, 'program' | 'grade'>[],
  index: number,
): Usual | undefined {
  const program = sessions[index]?.program
  const grades = new GradeCounts()
  for (let before = index - 1; before >= 0 && grades.count < SESSIONS[1]; before -= 1) {
    const session = sessions[before]
    if (session?.program === program && session?.grade != null) grades.add(session.grade)
  }
  const [low, high] = [grades.percentile(25), grades.percentile(75)]
  return grades.count < SESSIONS[0] || low === null || high === null ? undefined : { low, high }
}

/** How far a grade is above what is usual; negative below it, 0 within. */
export function beyondUsual(grade: number, { low, high }: Usual): number {
  return Math.max(0, grade - high) + Math.min(0, grade - low)
}
