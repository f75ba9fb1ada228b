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

/** Whether the week of an instant can be judged up to then: on its first day it says little. */
export function isJudged(clock: ZoneClock, now: number): boolean {
  return bucketStart('week', 'monday', clock.dayOf(now)) < clock.dayOf(now)
}

/** The weeks up to the one that is judged, the oldest first, each up to the same day and time; where the running one is not judged, whole ones. */
export function weeksToJudge(clock: ZoneClock, now: number) {
  const today = clock.dayOf(now)
  const isSoFar = isJudged(clock, now)
  const last = bucketStart('week', 'monday', isSoFar ? today : today - 7)
  return Array.from({ length: MAX_USUAL_PARTS + 1 }, (_, index) => {
    const back = 7 * (MAX_USUAL_PARTS - index)
    const [begin, until] = [clock.startOf(last - back), clock.startOf(last - back + 7)]
    const end = isSoFar ? Math.min(until, clock.startOf(today - back) + now + 1 - clock.startOf(today)) : until
    return { day: last - back, begin, end, until }
  })
}

export type Judged = NonNullable<ReturnType<typeof judgedOf>>

/** The last of the weeks to judge beside what is usual, which is `byNow` of the running one; undefined where too little is known. */
export function judgedOf(weeks: readonly Pick<UsualPart, 'value' | 'isEmpty'>[], isSoFar: boolean) {
  const usual = usualRanges(weeks.map(week => ({ ...week, days: 7, isWhole: true }))).at(-1)
  return usual && { value: weeks.at(-1)?.value ?? 0, usual, byNow: isSoFar ? usual : undefined }
}

/** The repetitions of the week that is judged. */
export function judgedReps(sessions: readonly SessionStats[], clock: ZoneClock, now: number): Judged | undefined {
  const known = weeksToJudge(clock, now).filter(({ until }) => until > (sessions[0]?.at ?? now))
  const weeks = known.map(({ begin, end, until }) => ({
    value: totalsOf(sessionsBetween(sessions, begin, end)).reps,
    isEmpty: sessionsBetween(sessions, begin, until).length === 0,
  }))
  return judgedOf(weeks, isJudged(clock, now))
}

/** How far a value is above what is usual; negative below it, 0 within it. */
export function beyondUsual(value: number, { low, high }: Usual): number {
  return Math.max(0, value - high) + Math.min(0, value - low)
}
