import { forEachPausing } from '../fairness.ts'
import { sessionsBetween, type SessionStats } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'

/** The sessions of a day. */
interface TrainingDay {
  readonly sessions: number
  readonly reps: number
}

/** The days from one to another. Others have their turns while there are many sessions. */
export async function trainingDays(
  sessions: readonly SessionStats[],
  clock: ZoneClock,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly TrainingDay[]> {
  const days = Array.from({ length: to - from + 1 }, () => ({ sessions: 0, reps: 0 }))
  const within = sessionsBetween(sessions, clock.startOf(from), clock.startOf(to + 1))
  await forEachPausing(within, ({ at, reps }) => {
    const day = clock.dayOf(at)
    const sums = days[day - from]
    if (sums !== undefined) {
      sums.sessions += 1
      sums.reps += reps
    }
  })
  return days
}
