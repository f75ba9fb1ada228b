import type { LockTemplate } from '../../../contract/lock-templates.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import { breaksOf, type LockInterval } from '../../../stats/intervals.ts'
import type { LockStats } from '../../../stats/lock-queries.ts'
import { countdownOf, isFreeze } from '../../../stats/status.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import type { Viewer } from '../../page.ts'
import { HIDDEN, isTimeHidden } from '../../text/hidden-time.ts'
import { dateTime, durationText, inTime, minutesText, NONE, numberText } from '../../text/text.ts'
import { knownEnd, lockText, stateName } from './states.ts'

/** Times of the running lock, which assets/live-updates.js keeps up to date. */

export interface Clock {
  /** Up to when time counts; the page keeps counting only if that is now. */
  readonly until: number
  readonly now: number
}

type Lock = Pick<LockStats, 'at' | 'state' | 'plannedEnd' | 'events'>

/** `Locked, day 5`: what a running lock does now. */
export function lockState(viewer: Viewer, lock: LockStats, until: number): Part {
  if (lock.at > until) return html`Starts ${dateTime(viewer, lock.at)}`
  const current = lock.intervals.at(-1)
  const state =
    current === undefined
      ? stateName(lock.state, viewer)
      : current.locked
        ? lockText('Locked', viewer)
        : current.type === 'break'
          ? 'On a break'
          : 'Open'
  const { dayOf } = zoneClock(viewer.timeZone)
  // As pages draw them: the day on which it started is the first.
  return `${state}, day ${numberText(dayOf(until) - dayOf(lock.at) + 1)}`
}

/** `13 h 2 min since the last break`: for how long. Without events, nobody knows. */
export function lockTime({ at, intervals }: LockStats, clock: Clock): Html | undefined {
  const [before, current] = intervals.length < 2 ? [undefined, intervals[0]] : intervals.slice(-2)
  if (current === undefined || at > clock.until) return undefined
  const time = tickingTime(current.start, clock)
  if (!current.locked) return html`${time} so far`
  const since =
    before === undefined ? 'without a break' : before.type === 'break' ? 'since the last break' : 'since it was open'
  return html`${time} ${since}`
}

/** Both, the time below the state. */
export function lockNow(viewer: Viewer, lock: LockStats, clock: Clock): Part {
  const time = lockTime(lock, clock)
  return html`${lockState(viewer, lock, clock.until)}${time === undefined ? nothing : html` <span class="beside">${time}</span>`}`
}

/** `5 h 12 min in breaks, 1 over the maximum` or `5 h 12 min in breaks, none over 1 h`: how long breaks were, and how many were longer than the template allows. */
export function breaksText(intervals: readonly LockInterval[], template: LockTemplate | undefined): string | undefined {
  const { count, total } = breaksOf(intervals)
  const over = intervals.filter(one => overMaximum(one, template) > 0).length
  if (count === 0) return undefined
  const { isBreakEnabled = false, breakMaximum = 0 } = template ?? {}
  const none = isBreakEnabled && breakMaximum > 0 ? `, none over ${durationText(breakMaximum)}` : ''
  return `${durationText(total / 1000)} in breaks${over === 0 ? none : `, ${numberText(over)} over the maximum`}`
}

/** By how many milliseconds a break was longer than its template allows. */
export function overMaximum({ type, start, end }: LockInterval, template: LockTemplate | undefined): number {
  if (type !== 'break' || template?.isBreakEnabled !== true || template.breakMaximum <= 0) return 0
  return Math.max(0, end - start - template.breakMaximum * 1000)
}

/**
 * `6 h later than planned`: an end compared with start and length; undefined where nobody knows what was planned, as with a length
 * drawn by chance, or after a freeze.
 */
export function latenessText(late: number | undefined): string | undefined {
  if (late === undefined) return undefined
  if (Math.abs(late) < 60_000) return AS_PLANNED
  return `${durationText(Math.abs(late) / 1000)} ${late > 0 ? 'later' : 'earlier'} than planned`
}

export const AS_PLANNED = 'as planned'

/** How many milliseconds later than planned a session ended. */
export function latenessOf(
  { at, endAt, events }: Pick<LockStats, 'at' | 'endAt' | 'events'>,
  { duration }: Pick<LockSession, 'duration'>,
  template: Pick<LockTemplate, 'isRandomDuration'> | undefined,
): number | undefined {
  const ended = knownEnd({ at, endAt })
  if (ended === null || duration <= 0 || template === undefined || template.isRandomDuration) return undefined
  return events.some(([, , type]) => isFreeze(type)) ? undefined : ended - at - duration * 1000
}

/** The time since a start; it keeps counting while the page is open. A session may be planned to start later. */
function tickingTime(start: number, { until, now }: Clock): Part {
  if (start > until) return NONE
  const ticks = until === now ? html` data-since="${start}" data-now="${now}"` : nothing
  return html`<span${ticks}>${minutesText(until - start)}</span>`
}

/** `in 3 d 4 h`, `passed 5 min ago`: how far the planned end of a running lock is. */
export function plannedEndDistance(lock: Lock, until: number): string {
  const countdown = countdownOf(lock, until)
  if (countdown === undefined) return ''
  const { plannedEnd, isPaused, left } = countdown
  if (left !== null && left <= 0) return `passed ${inTime(plannedEnd, until)}`
  return isPaused ? 'countdown paused' : inTime(plannedEnd, until)
}

/** The planned end of a running lock, and how far it is. Only the record of a session says that it has ended. */
export function plannedEndText(viewer: Viewer, lock: LockStats, until: number): Html {
  return html`${dateTime(viewer, lock.plannedEnd ?? 0)} (${plannedEndDistance(lock, until)})`
}

/** What is shown in place of a planned end that is hidden or not known. A partner reads the same as the owner where neither sees it. */
export function missingEnd(viewer: Viewer, lock: LockStats, owner: number): string | undefined {
  if (lock.plannedEnd !== null && !isTimeHidden(viewer, owner, lock)) return undefined
  return lock.rules?.showsTime === false ? HIDDEN : NONE
}
