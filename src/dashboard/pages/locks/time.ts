import type { LockTemplate } from '../../../contract/lock-templates.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import { breaksOf, type LockInterval } from '../../../stats/intervals.ts'
import { lockRecords, type LockStats } from '../../../stats/lock-queries.ts'
import { lockTemplates } from '../../../stats/lock-template-queries.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../contract/time.ts'
import { type Time, weekVerdicts } from '../parts.ts'
import { countdownOf, isFreeze } from '../../../stats/status.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { stat } from '../../layout/components.ts'
import { ofWhom } from '../../text/names.ts'
import type { Reader, Viewer } from '../../page.ts'
import {
  ageText,
  countText,
  dateText,
  dateTime,
  dateTimeText,
  durationText,
  inTime,
  minutesText,
  momentText,
  NONE,
  numberText,
  unbroken,
} from '../../text/text.ts'
import { HIDDEN, isTimeHidden, knownEnd, lockText, readLock, stateName } from './states.ts'

/** Times of the running lock, which assets/live-updates.js keeps up to date. */

export interface Clock {
  /** Up to when time counts; the page keeps counting only if that is now. */
  readonly until: number
  readonly now: number
}

/** `Locked, day 5 of 11`, on the last one also up to when: what a running lock does now. */
export function lockState(viewer: Viewer, lock: LockStats, owner: number, until: number): Part {
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
  const end = endAhead(viewer, lock, owner, until)
  const [day, days = 0] = dayOfLock(lock, end, until)
  const last = end !== undefined && day === days ? `, until ${momentText(viewer, end, until)}` : ''
  return `${state}, ${unbroken(`day ${numberText(day)}${days < 2 ? '' : ` of ${numberText(days)}`}`)}${last}`
}

/** The day of a lock, and of how many if its end is known, as its length is counted: the first 24 hours are the first day. */
export function dayOfLock({ at }: LockStats, end: number | undefined, until: number) {
  const days = end === undefined ? undefined : Math.ceil((end - at) / DAY_MS)
  return [Math.floor((until - at) / DAY_MS) + 1, days] as const
}

/** `13 h 2 min since the last break`: for how long. Without events, nobody knows. */
export function lockTime({ at, intervals }: LockStats, clock: Clock): Html | undefined {
  const [before, current] = intervals.length < 2 ? [undefined, intervals[0]] : intervals.slice(-2)
  if (current === undefined || at > clock.until) return undefined
  const time = tickingTime(current.start, clock)
  if (!current.locked) return html`<span class="off-paper">${time} so far</span>`
  const since =
    before === undefined ? 'without a break' : before.type === 'break' ? 'since the last break' : 'since it was open'
  return html`<span class="off-paper">${time} ${since}</span>`
}

/** What the lock is doing now, and how this week stands as far as all is known: the heading of a page; undefined where nothing is known of both. */
export function headline(
  { viewer, now }: Pick<Reader, 'viewer' | 'now'>,
  current: LockStats | undefined,
  newest: LockStats | undefined,
  until: number,
  ...verdicts: readonly (string | undefined)[]
): Html | undefined {
  const verdict = weekVerdicts(viewer, now, ...verdicts)
  const state =
    current === undefined ? noLockText(viewer, newest, until) : lockState(viewer, current, viewer.subject.id, until)
  if (state === undefined) return verdict
  return html`${ofWhom(viewer)}${state}${verdict && html` ${verdict}`} <span class="beside">${ageText(viewer, now, '')}</span>`
}

/** `No lock for 17 hours`, `No lock since 15 Sept`, where it is known when the newest one ended. */
function noLockText(viewer: Viewer, newest: LockStats | undefined, until: number): string | undefined {
  const ended = newest && knownEnd(newest)
  if (ended == null) return newest && 'No lock'
  const hours = Math.floor((until - ended) / HOUR_MS)
  if (hours >= 24) return `No lock since ${dateText(viewer, ended)}`
  return hours > 0 ? `No lock for ${countText(hours, 'hour')}` : 'No lock'
}

/** `5 h 12 min in all, 1 over 1 h, which adds 2 h` or `5 h 12 min in all, none over the limit of 1 h`: how long breaks were, and how many were longer than the template allows. */
export function breaksText(intervals: readonly LockInterval[], template: LockTemplate | undefined): string | undefined {
  const { count, total } = breaksOf(intervals)
  const over = intervals.filter(one => overMaximum(one, template) > 0).length
  if (count === 0) return undefined
  const { isBreakEnabled = false, breakMaximum = 0, breakPenalty = 0 } = template ?? {}
  const adds =
    breakPenalty > 0 ? `, ${over === 1 ? 'which' : 'each of which'} adds\u00a0${durationText(breakPenalty)}` : ''
  const none = isBreakEnabled && breakMaximum > 0 ? `, none over the limit of ${durationText(breakMaximum)}` : ''
  return `${durationText(total / 1000)} in all${over === 0 ? none : `, ${numberText(over)}\u00a0over\u00a0${durationText(breakMaximum)}${adds}`}`
}

/** By how many milliseconds a break was longer than its template allows. */
export function overMaximum({ type, start, end }: LockInterval, template: LockTemplate | undefined): number {
  if (type !== 'break' || template?.isBreakEnabled !== true || template.breakMaximum <= 0) return 0
  return Math.max(0, end - start - template.breakMaximum * 1000)
}

/** `6 h later than planned`; undefined where nobody knows what was planned. */
export function latenessText(late: number | undefined): string | undefined {
  if (late === undefined) return undefined
  if (Math.abs(late) < MINUTE_MS) return 'as planned'
  return `${durationText(Math.abs(late) / 1000)} ${late > 0 ? 'later' : 'earlier'} than planned`
}

/** By how many milliseconds an end was later than start and length say; not known of a length drawn by chance, and after a freeze. */
function latenessOf(
  { at, endAt, events }: Pick<LockStats, 'at' | 'endAt' | 'events'>,
  { duration }: Pick<LockSession, 'duration'>,
  template: Pick<LockTemplate, 'isRandomDuration'> | undefined,
): number | undefined {
  const ended = knownEnd({ at, endAt })
  if (ended === null || duration <= 0 || template === undefined || template.isRandomDuration) return undefined
  return events.some(([, , type]) => isFreeze(type)) ? undefined : ended - at - duration * 1000
}

/** The time since a start; it keeps counting while the page is open. A session may be planned to start later. */
export function tickingTime(start: number, { until, now }: Clock): Part {
  if (start > until) return NONE
  const ticks = until === now ? html` data-since="${start}" data-now="${now}"` : nothing
  return html`<span${ticks}>${minutesText(until - start)}</span>`
}

/** `in 3 d 4 h`, `passed 5 min ago`: how far the planned end of a running lock is; on paper when that is. */
export function plannedEndDistance(viewer: Viewer, lock: LockStats, until: number): Part {
  const countdown = countdownOf(lock, until)
  if (countdown === undefined) return ''
  const { plannedEnd, isPaused, left } = countdown
  if (left !== null && left <= 0) return `passed ${inTime(plannedEnd, until)}`
  if (isPaused) return 'countdown paused'
  const seconds = (plannedEnd - until) / 1000
  const unit = seconds >= 86_400 ? 3600 : seconds >= 3600 ? 60 : 1
  // To the minute, it is counted from what a clock without seconds says.
  const whole = unit === 60 ? Math.ceil(seconds / unit) : Math.round(seconds / unit)
  return html`<time title="${dateTimeText(viewer, plannedEnd)}">${inTime(until + whole * unit * 1000, until)}</time>`
}

/** The planned end of a running lock, and how far it is. Only the record of a session says that it has ended. */
export function plannedEndStat(viewer: Viewer, lock: LockStats, owner: number, until: number): Html {
  const missing = missingEnd(viewer, lock, owner)
  if (missing !== undefined) return stat('Planned end', missing === HIDDEN ? 'Hidden' : NONE)
  const at = html`<span class="off-paper">${dateTimeText(viewer, lock.plannedEnd ?? 0)}</span>`
  return stat('Planned end', plannedEndDistance(viewer, lock, until), at)
}

/** How far a running lock is, where its end is known. */
export function progressBar({ at }: LockStats, end: number | undefined, { until }: Clock): Html {
  return end === undefined
    ? nothing
    : html`of ${durationText((end - at) / 1000)}<progress max="${end - at}" value="${until - at}" aria-label="Time up to the planned end"></progress>`
}

/** The planned end of a running lock that is yet to come. */
export function endAhead(viewer: Viewer, lock: LockStats, owner: number, until: number): number | undefined {
  const countdown = missingEnd(viewer, lock, owner) === undefined ? countdownOf(lock, until) : undefined
  return countdown === undefined || countdown.isPaused || countdown.plannedEnd <= until
    ? undefined
    : countdown.plannedEnd
}

/** What is shown in place of a planned end that is hidden or not known. A partner reads the same as the owner where neither sees it. */
export function missingEnd(viewer: Viewer, lock: LockStats, owner: number): string | undefined {
  if (lock.plannedEnd !== null && !isTimeHidden(viewer, owner, lock)) return undefined
  return lock.rules?.showsTime === false ? HIDDEN : NONE
}

/** The time that a template plans, in milliseconds, or the shortest and the longest; none if that is 0. */
export function rangeOf({ isRandomDuration, minDuration, maxDuration, duration }: LockTemplate): readonly number[] {
  const [least, most] = isRandomDuration ? [minDuration ?? 0, maxDuration ?? 0] : [duration, duration]
  return least === most ? [most * 1000].filter(length => length > 0) : [least * 1000, most * 1000]
}

/** How a lock session differs from what was planned, as far as that is known. */
export type Ending = ReturnType<typeof endingOf>

export function endingOf(
  session: LockStats,
  record: LockSession,
  template: LockTemplate,
  { from, to }: Time = { from: -Infinity, to: Infinity },
) {
  const lateBreaks = session.intervals.filter(one => overMaximum(one, template) > 0)
  const late = latenessOf(session, record, template)
  return {
    lateBreaks: lateBreaks.length,
    lateBreaksShown: lateBreaks.filter(one => one.start < to && one.end > from).length,
    /** How many milliseconds later than planned it ended; undefined if nobody knows. */
    late: late !== undefined && Math.abs(late) < MINUTE_MS ? 0 : late,
    /** What was planned of one that ended, where that was a length at random. */
    random: template.isRandomDuration && !session.isActive ? rangeOf(template) : undefined,
  }
}

export async function endingsOf(
  { store, pageAccess }: Pick<Reader, 'store' | 'pageAccess'>,
  sessions: readonly LockStats[],
  time: Time,
): Promise<ReadonlyMap<number, Ending>> {
  const used = new Set(sessions.flatMap(({ template }) => template ?? []))
  const ids = sessions.map(({ id }) => id)
  const documents = await lockRecords(store, pageAccess.sessions('lkbx'), ids)
  const templates = await lockTemplates.find(store, pageAccess.ofAll('lock_template'), [...used])
  const endings = sessions.flatMap((session): (readonly [number, Ending])[] => {
    const document = documents.get(session.id)
    const template = session.template === null ? undefined : templates.get(session.template)
    if (document === undefined || template === undefined) return []
    pageAccess.note('lkbx', template.owner)
    return [[session.id, endingOf(session, readLock(document), template.record, time)]]
  })
  return new Map(endings)
}
