import { forEachPausing } from '../fairness.ts'
import { sessionsBetween, type SessionStats } from './training.ts'
import type { Bucket } from './buckets.ts'
import type { LockStatistics } from './lock-statistics.ts'
import type { ZoneClock } from './zone-clock.ts'

/** The sessions of some days, one by one, and those of each hour of the week. */
export interface TrainingDays {
  readonly days: readonly TrainingDay[]
  /** How many sessions were recorded in each hour of the local time, by weekday from Monday on. */
  readonly hours: readonly (readonly number[])[]
}

interface TrainingDay {
  readonly sessions: number
  readonly reps: number
}

/** A day with what is known of it. */
export interface KnownDay extends Bucket, TrainingDay {
  readonly lockedSeconds: number
}

/** Training and locks of the same days. */
export function knownDays(
  buckets: readonly Bucket[],
  { days }: TrainingDays,
  locks: readonly LockStatistics[],
): KnownDay[] {
  const first = buckets[0]?.day ?? 0
  return buckets.map((bucket, index) => {
    const { sessions = 0, reps = 0 } = days[bucket.day - first] ?? {}
    return { ...bucket, sessions, reps, lockedSeconds: locks[index]?.lockedSeconds ?? 0 }
  })
}

/** The days from one to another. Others have their turns while there are many sessions. */
export async function trainingDays(
  sessions: readonly SessionStats[],
  clock: ZoneClock,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<TrainingDays> {
  const days = Array.from({ length: to - from + 1 }, () => ({ sessions: 0, reps: 0 }))
  const hours = Array.from({ length: 7 }, () => Array.from({ length: 24 }, () => 0))
  const within = sessionsBetween(sessions, clock.startOf(from), clock.startOf(to + 1))
  await forEachPausing(within, ({ at, reps }) => {
    const day = clock.dayOf(at)
    const sums = days[day - from]
    if (sums !== undefined) {
      sums.sessions += 1
      sums.reps += reps
    }
    const ofWeekday = hours[weekdayOf(day)]
    const hour = clock.hourOf(at)
    if (ofWeekday !== undefined) ofWeekday[hour] = (ofWeekday[hour] ?? 0) + 1
  })
  return { days, hours }
}

/** From 0 for Monday; 1970-01-01 was a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7
}
