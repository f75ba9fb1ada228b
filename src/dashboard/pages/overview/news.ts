import { bucketStart, DAY_MS } from '../../../contract/time.ts'
import { gradeRank, type TrainingBests } from '../../../stats/bests.ts'
import type { Best } from '../../../stats/highest.ts'
import { type SessionStats, sessionsBetween } from '../../../stats/training.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import type { LockHistory } from '../../../stats/lock-history.ts'
import { figure, html, type Html, nothing } from '../../html.ts'
import type { Reader } from '../../page.ts'
import { dayText } from '../../text/period.ts'
import { countText, minutesText, numberText, percentText, weekdayText } from '../../text/text.ts'
import { lockText } from '../locks/states.ts'
import { rankText } from '../training/session.ts'
import { repsFigure } from '../training/training.ts'
import type { Programs } from '../../text/names.ts'

interface Known {
  readonly reader: Reader
  readonly today: number
  /** Those that have begun, the oldest first. */
  readonly sessions: readonly SessionStats[]
  readonly bests: TrainingBests
  readonly stretches: Awaited<ReturnType<LockHistory['longest']>>
  readonly programs: Programs
  /** ` so far`; for somebody who may read records from a day on, since when. */
  readonly extent: string
}

const SO_FAR = ' so far'

/** What is new; undefined if too little is known, or what is known is old. */
export function newsOf({ sessions, ...options }: Omit<Known, 'extent' | 'today'>): Html | undefined {
  const { viewer, now } = options.reader
  if (viewer.copied !== null || (viewer.asOf !== null && now - viewer.asOf > DAY_MS)) return undefined
  const from = viewer.shared.find(({ ownerId }) => ownerId === viewer.subject.id)?.recordsFrom ?? null
  const known: Known = {
    ...options,
    sessions: sessionsBetween(sessions, -Infinity, now + 1),
    today: zoneClock(viewer.timeZone).dayOf(now),
    extent: from === null ? SO_FAR : ` since ${dayText(Math.floor(from / DAY_MS))}`,
  }
  const hasWeeks = now - (known.sessions[0]?.at ?? now) >= 8 * 7 * DAY_MS
  const hasSessions = known.sessions.length >= 10
  // The most important first. What is new is gone after seven days.
  const [first, second] = [
    ...(hasWeeks ? [bestWeek] : []),
    ...(hasSessions ? [longestStreak, backAgain, mostInSession, bestGrade] : []),
    longestStretch,
    ...(hasSessions ? [daysInRow] : []),
  ].flatMap(news => news(known) ?? [])
  if (first === undefined) return hasWeeks && hasSessions ? html`No new best in the last seven days` : undefined
  return html`${first}${second === undefined ? nothing : html`<br>${second}`}`
}

/** Whether a day, or an instant, was within the last seven days. */
function isNew({ today }: Known, day: number): boolean {
  return today - day < 7
}

function dayOf({ reader: { viewer } }: Known, at: number): number {
  return zoneClock(viewer.timeZone).dayOf(at)
}

/** A value that was exceeded lately, and by something that was there before. */
function isBetter<Item>(best: Best<Item> | undefined, valueOf: (item: Item) => number): best is Required<Best<Item>> {
  return best?.before !== undefined && valueOf(best.best) > valueOf(best.before)
}

function bestWeek(known: Known): Html | undefined {
  const { week } = known.bests
  if (!isBetter(week, ({ reps }) => reps) || !isNew(known, Date.parse(week.best.to) / DAY_MS)) return undefined
  const { from, to, reps } = week.best
  return html`${daysLink(week.best, html`Best week${known.extent}: ${repsFigure(reps, `${from}/${to}`)} repetitions`)} (before ${numberText(week.before?.reps ?? 0)})`
}

function mostInSession(known: Known): Html | undefined {
  const { session } = known.bests
  if (!isBetter(session, ({ reps }) => reps) || !isNew(known, dayOf(known, session.best.at))) return undefined
  const { id, at, reps } = session.best
  return html`<a href="/training/${id}">${weekdayOf(known, at)}: ${numberText(reps)} repetitions in a session</a>, the most${known.extent}`
}

/** `Wed`, `Last Fri` of the week before: only the last seven days are new. */
function weekdayOf(known: Known, at: number): string {
  const [day, name] = [dayOf(known, at), weekdayText(known.reader.viewer, at)]
  if (day === known.today) return 'Today'
  return day < bucketStart('week', 'monday', known.today) ? `Last ${name}` : name
}

function longestStreak(known: Known): Html | undefined {
  const { longest } = known.bests
  if (!isBetter(longest, ({ days }) => days) || !isNew(known, Date.parse(longest.best.to) / DAY_MS)) return undefined
  const { days } = longest.best
  if (days < MIN_STREAK) return undefined
  return html`${streakLink('longestStreakDays', longest.best)}, the most${known.extent}`
}

/** `Trained 8 days in a row; longest 9` */
function daysInRow(known: Known): Html | undefined {
  const { current, longest } = known.bests
  if (current === undefined || current.days < MIN_STREAK || longestStreak(known) !== undefined) return undefined
  const most = longest?.best.days ?? current.days
  if (current.days * 2 < most) return undefined
  const longer = most === current.days ? '' : `; longest\u00a0${numberText(most)}`
  return html`${streakLink('streakDays', current)}${longer}`
}

const MIN_STREAK = 4

function streakLink(name: string, streak: { readonly days: number; readonly from: string; readonly to: string }): Html {
  const { days } = streak
  return daysLink(streak, html`Trained ${figure(`${name} all`, days, countText(days, 'day'))} in\u00a0a\u00a0row`)
}

function daysLink({ from, to }: { readonly from: string; readonly to: string }, text: Html): Html {
  return html`<a href="/training?from=${from}&to=${to}">${text}</a>`
}

/** `Back after 12 days`, where so many are more than each of the times between the sessions before. */
function backAgain(known: Known): Html | undefined {
  const days = known.sessions.slice(-MAX_NEW - USUAL_GAPS).map(({ at }) => dayOf(known, at))
  const gaps = days.map((day, index) => day - (days[index - 1] ?? day))
  const index = days.findLastIndex((day, at) => isNew(known, day) && (gaps[at] ?? 0) >= MIN_GAP)
  const gap = gaps[index]
  const before = gaps.slice(Math.max(0, index - USUAL_GAPS), Math.max(0, index))
  return gap === undefined || Math.max(...before) >= gap ? undefined : html`Back after ${countText(gap, 'day')}`
}

const MIN_GAP = 10
const USUAL_GAPS = 12
/** More sessions of the last week are not looked at. */
const MAX_NEW = 20

/** The best rank that a grade of the last week has among all with its program. */
function bestGrade(known: Known): Html | undefined {
  const { sessions, programs, reader, extent } = known
  const ranked = sessions.slice(-MAX_NEW).flatMap(session => {
    const rank = isNew(known, dayOf(known, session.at)) ? gradeRank(sessions, session, reader.now) : undefined
    return rank === undefined ? [] : [{ session, rank }]
  })
  const [best] = ranked.toReversed().toSorted((a, b) => a.rank.better - b.rank.better)
  if (best === undefined) return undefined
  const { id, at, program, grade } = best.session
  const text = `${weekdayOf(known, at)}: grade ${percentText(grade ?? 0)}`
  const rank = `${best.rank.equals === 0 ? 'the ' : ''}${rankText(best.rank)} with ${programs.nameOf(program)}`
  return html`<a href="/training/${id}">${text}</a>, ${rank}${extent === SO_FAR ? '' : extent}`
}

function longestStretch(known: Known): Html | undefined {
  const [last, before] = known.stretches.toReversed()
  if (last === undefined || before === undefined || last.seconds <= before.seconds) return undefined
  if (!isNew(known, dayOf(known, last.end))) return undefined
  const { viewer } = known.reader
  const text = lockText(`Longest locked stretch${known.extent}`, viewer)
  return html`<a href="/locks/${last.session.id}">${text}: ${minutesText(last.seconds * 1000, true)}</a>`
}
