import { BREAK_DAYS, sessionsBetween, type SessionStats, totalsOf } from './training.ts'
import type { ZoneClock } from './zone-clock.ts'
import { percentileOf } from '../contract/numbers.ts'
import { bucketStart } from '../contract/time.ts'

/** The values that are usual: the middle half of some before, from the 25th to the 75th percentile by nearest rank. */
export interface Usual {
  readonly low: number
  readonly high: number
}

/** Fewer values than that say nothing of what is usual. */
const MIN_VALUES = 5
/** Earlier ones do not count: sessions with a program, and weeks or months. */
const MAX_SESSIONS = 20
export const MAX_USUAL_PARTS = 12

/** What is usual, if there are enough values to say it. */
function middleHalf(values: readonly number[]): Usual | undefined {
  if (values.length < MIN_VALUES) return undefined
  return { low: percentileOf(0.25, values) ?? 0, high: percentileOf(0.75, values) ?? 0 }
}

/** Of the last values with the same program before a session. `sessions` are those of the account, the oldest first. */
export function usualOfProgram<Session extends Pick<SessionStats, 'program'>>(
  sessions: readonly Session[],
  index: number,
  valueOf: (session: Session) => number | null,
): Usual | undefined {
  const program = sessions[index]?.program
  const values: number[] = []
  for (let before = index - 1; before >= 0 && values.length < MAX_SESSIONS; before -= 1) {
    const session = sessions[before]
    const value = session !== undefined && session.program === program ? valueOf(session) : null
    if (value !== null) values.push(value)
  }
  return middleHalf(values)
}

/** A week, month or quarter. */
export interface UsualPart {
  /** Null if it is not known. */
  readonly value: number | null
  readonly days: number
  /** Whether it is over, and its value is of all of it. */
  readonly isWhole: boolean
  readonly isEmpty: boolean
}

/** What is usual at each of the parts: of the whole ones before it, but for those in a break. What is not whole is not compared. */
export function usualRanges(parts: readonly UsualPart[]): (Usual | undefined)[] {
  const counted: number[] = []
  let emptyDays = 0
  return parts.map(({ value, days, isWhole, isEmpty }, index) => {
    const usual = isWhole ? middleHalf(counted.slice(-MAX_USUAL_PARTS)) : undefined
    if (!isWhole || value === null) return usual
    // What comes after a part decides whether it is in a break.
    emptyDays = isEmpty ? emptyDays + days : 0
    const next = parts[index + 1]
    const isBreak =
      isEmpty && (emptyDays >= BREAK_DAYS || emptyDays + (next?.isEmpty === true ? next.days : 0) >= BREAK_DAYS)
    if (!isBreak) counted.push(value)
    return usual
  })
}

/** The week of an instant and those before, the oldest first, with the same day and time of each. */
export function weeksByNow(clock: ZoneClock, now: number) {
  const today = clock.dayOf(now)
  const monday = bucketStart('week', 'monday', today)
  return Array.from({ length: MAX_USUAL_PARTS + 1 }, (_, index) => {
    const back = 7 * (MAX_USUAL_PARTS - index)
    const end = clock.startOf(today - back) + now - clock.startOf(today)
    return { day: monday - back, begin: clock.startOf(monday - back), end, until: clock.startOf(monday - back + 7) }
  })
}

/** What is usual in the last of some weeks, each measured up to the same day and time. */
export function usualByNow(weeks: readonly Pick<UsualPart, 'value' | 'isEmpty'>[]): Usual | undefined {
  return usualRanges(weeks.map(week => ({ ...week, days: 7, isWhole: true }))).at(-1)
}

/** The repetitions that are usual from Monday up to the same day and time of the weeks before. */
export function usualReps(sessions: readonly SessionStats[], clock: ZoneClock, now: number): Usual | undefined {
  const known = weeksByNow(clock, now).filter(({ until }) => until > (sessions[0]?.at ?? now))
  return usualByNow(
    known.map(({ begin, end, until }) => ({
      value: totalsOf(sessionsBetween(sessions, begin, end + 1)).reps,
      isEmpty: sessionsBetween(sessions, begin, until).length === 0,
    })),
  )
}

/** How far a value is above what is usual; negative below it, 0 within it. */
export function beyondUsual(value: number, { low, high }: Usual): number {
  return Math.max(0, value - high) + Math.min(0, value - low)
}
