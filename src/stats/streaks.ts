import { previousDay, type ZoneClock } from './zone-clock.ts'

/** Days in a row on which something happened. */
export interface Streaks {
  /** The days in a row up to today; up to yesterday while today has none yet. */
  readonly current: number
  /** Its first and last day; null if there is none. */
  readonly currentFrom: number | null
  readonly currentTo: number | null
  readonly longest: number
  /** The first and last day of the longest, the latest of equals; null if there is none. */
  readonly from: number | null
  readonly to: number | null
}

/** The streaks of days in ascending order, which may repeat. Days after today do not count. */
export function streaksOf(days: readonly number[], today: number, clock: ZoneClock): Streaks {
  let longest = { length: 0, from: 0, to: 0 }
  let run = { length: 0, from: NaN, to: NaN }
  for (const day of days) {
    if (day > today) break
    if (day === run.to) continue
    const follows = day === run.to + 1 || previousDay(clock, day) === run.to
    run = follows ? { length: run.length + 1, from: run.from, to: day } : { length: 1, from: day, to: day }
    if (run.length >= longest.length) longest = run
  }
  const isCurrent = run.to === today || run.to === previousDay(clock, today)
  return {
    current: isCurrent ? run.length : 0,
    currentFrom: isCurrent ? run.from : null,
    currentTo: isCurrent ? run.to : null,
    longest: longest.length,
    from: longest.length === 0 ? null : longest.from,
    to: longest.length === 0 ? null : longest.to,
  }
}
