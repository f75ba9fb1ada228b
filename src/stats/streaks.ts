import { type Best, higher } from './highest.ts'
import { previousDay, type ZoneClock } from './zone-clock.ts'
import { formatDate } from '../contract/time.ts'

/**
 * The streaks of days in ascending order, which may repeat: the current one, up to today or, while today has none yet, to yesterday; and
 * the longest, the latest of equals. Days after today do not count.
 */
export function streaksOf(days: readonly number[], today: number, clock: ZoneClock) {
  let longest: Best<ReturnType<typeof run>> | undefined
  let first = NaN
  let last = NaN
  /** Days in a row, by the first and the last, as `YYYY-MM-DD`. */
  const run = () => ({ days: length, from: formatDate(first), to: formatDate(last) })
  let length = 0
  for (const day of days) {
    if (day > today) break
    if (day === last) continue
    if (day !== last + 1 && previousDay(clock, day) !== last) {
      if (length > 0) longest = higher(longest, run(), streak => streak.days)
      length = 0
      first = day
    }
    length += 1
    last = day
  }
  if (length === 0) return { current: undefined, longest }
  const isCurrent = last === today || last === previousDay(clock, today)
  return { current: isCurrent ? run() : undefined, longest: higher(longest, run(), streak => streak.days) }
}
