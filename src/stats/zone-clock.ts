import { DAY_MS, HOUR_MS } from '../contract/time.ts'

/**
 * The days of a time zone. A day is a number, days since 1970-01-01; it lasts from its first instant to the first instant
 * of the next one, also where clocks go back over midnight.
 */
export type ZoneClock = ReturnType<typeof makeClock>

/** The clock of a zone. Clocks are cached, because finding transitions is slow. */
export function zoneClock(zone: string): ZoneClock {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const clock = makeClock(zone)
  if (clocks.size >= MAX_CLOCKS) clocks.clear()
  clocks.set(zone, clock)
  return clock
}

/** The day before, leaving out days that the zone skipped. */
export function previousDay(clock: ZoneClock, day: number): number {
  let previous = day - 1
  while (clock.startOf(previous) === clock.startOf(previous + 1)) previous -= 1
  return previous
}

/** The instant from which on dates cannot be meant: nothing was recorded, or ended, on a day after tomorrow. */
export function endOfTomorrow(clock: ZoneClock, today: number): number {
  return clock.startOf(today + 2)
}

const MAX_CLOCKS = 100
const clocks = new Map<string, ZoneClock>()

/** A time during which the offset from UTC does not change. */
interface OffsetPeriod {
  readonly start: number
  readonly offset: number
  /** The latest day that clocks showed before this period: when clocks go back over midnight, the day that had begun goes on. */
  readonly latestDayShown: number
}

/** Transitions are looked up in blocks of this length, somewhat more than a year. */
const BLOCK_MS = 2 ** 35

/** No zone had a transition before. */
const FIRST_BLOCK = Math.floor(Date.parse('1840-01-01T00:00:00Z') / BLOCK_MS)

/** A day is looked up at an instant that is off by the offset from UTC, which is less than a day. */
const MARGIN_MS = 2 * DAY_MS

function makeClock(zone: string) {
  const blocks = new Map<number, readonly OffsetPeriod[]>()
  let latest: { readonly index: number; readonly periods: readonly OffsetPeriod[] } = { index: NaN, periods: [] }

  const periodsAt = (at: number) => {
    const index = Math.max(FIRST_BLOCK, Math.floor(at / BLOCK_MS))
    if (index === latest.index) return latest.periods
    const periods = blocks.get(index) ?? offsetPeriods(zone, index)
    blocks.set(index, periods)
    latest = { index, periods }
    return periods
  }

  const indexAt = (periods: readonly OffsetPeriod[], at: number) => {
    let index = periods.length - 1
    while (index > 0 && (periods[index]?.start ?? 0) > at) index -= 1
    return index
  }

  return {
    /** The day that an instant lies in. */
    dayOf(at: number) {
      const periods = periodsAt(at)
      const { offset, latestDayShown } = periods[indexAt(periods, at)] ?? UTC
      return Math.max(latestDayShown, Math.floor((at + offset) / DAY_MS))
    },
    /** The first instant of a day. A day that the zone skipped starts, and ends, where the next one starts. */
    startOf(day: number) {
      const midnight = day * DAY_MS
      const periods = periodsAt(midnight)
      for (const [index, { start, offset }] of periods.entries()) {
        const at = Math.max(midnight - offset, start)
        if (at < (periods[index + 1]?.start ?? Infinity)) return at
      }
      return midnight
    },
    /** When the next hour begins: at a full hour of the local time, and where clocks change by part of an hour. */
    nextHour(at: number) {
      const periods = periodsAt(at)
      const index = indexAt(periods, at)
      const { offset } = periods[index] ?? UTC
      const full = (Math.floor((at + offset) / HOUR_MS) + 1) * HOUR_MS - offset
      const next = periods[index + 1]
      const changesPart = next !== undefined && (next.offset - offset) % HOUR_MS !== 0
      return changesPart ? Math.min(full, next.start) : full
    },
  }
}

const UTC: OffsetPeriod = { start: -Infinity, offset: 0, latestDayShown: -Infinity }

function offsetPeriods(zone: string, block: number): OffsetPeriod[] {
  const start = block * BLOCK_MS - MARGIN_MS
  const end = (block + 1) * BLOCK_MS + MARGIN_MS
  let clock = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(zone)
  let last: OffsetPeriod = { start: -Infinity, offset: offsetOf(clock), latestDayShown: -Infinity }
  const periods = [last]
  for (;;) {
    const next = clock.getTimeZoneTransition('next')
    if (next === null || next.epochMilliseconds >= end) return periods
    const latestDayShown = Math.floor((next.epochMilliseconds - 1 + last.offset) / DAY_MS)
    last = {
      start: next.epochMilliseconds,
      offset: offsetOf(next),
      latestDayShown: Math.max(last.latestDayShown, latestDayShown),
    }
    periods.push(last)
    clock = next
  }
}

function offsetOf({ offsetNanoseconds }: Temporal.ZonedDateTime): number {
  return Math.round(offsetNanoseconds / 1_000_000)
}
