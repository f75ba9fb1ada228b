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

/** Days in a row, by the first and the last. */
export interface DaysInRow {
  readonly length: number
  readonly from: number
  readonly to: number
}

/** The streaks of days in ascending order, which may repeat. Days after today do not count. */
export function streaksOf(days: readonly number[], today: number, clock: ZoneClock): Streaks {
  let longest = NO_DAYS
  let last = NO_DAYS
  for (const run of daysInRow(days, today, clock)) {
    last = run
    if (run.length >= longest.length) longest = run
  }
  const isCurrent = last.to === today || last.to === previousDay(clock, today)
  return {
    current: isCurrent ? last.length : 0,
    currentFrom: isCurrent ? last.from : null,
    currentTo: isCurrent ? last.to : null,
    longest: longest.length,
    from: longest.length === 0 ? null : longest.from,
    to: longest.length === 0 ? null : longest.to,
  }
}

/** The same days as runs without a gap, as long as they can be. */
export function* daysInRow(days: readonly number[], today: number, clock: ZoneClock): Generator<DaysInRow> {
  let run = NO_DAYS
  for (const day of days) {
    if (day > today) break
    if (day === run.to) continue
    if (day === run.to + 1 || previousDay(clock, day) === run.to) {
      run = { length: run.length + 1, from: run.from, to: day }
      continue
    }
    if (run.length > 0) yield run
    run = { length: 1, from: day, to: day }
  }
  if (run.length > 0) yield run
}

const NO_DAYS: DaysInRow = { length: 0, from: NaN, to: NaN }
