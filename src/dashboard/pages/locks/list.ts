import { roundedRatio } from '../../../contract/numbers.ts'
import type { LockHistory } from '../../../stats/lock-history.ts'
import { locksSince, type LockStats, lockRecords } from '../../../stats/lock-queries.ts'
import { lockStatistics, type LockStatistics, withoutPractice } from '../../../stats/lock-statistics.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { hidesTime } from '../../../stats/status.ts'
import { isJudged, judgedOf, weeksToJudge } from '../../../stats/usual.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import type { Reader, Viewer, Visit } from '../../page.ts'
import { comparedDays, type Days, type Period, type PeriodQuery, timeOfDays } from '../../text/period.ts'
import { barEnds, bucketsOfParts, endsThisWeek, inParts, spanCell, type Time } from '../parts.ts'
import { type Addresses, type Area, fewAtOnce, type WithDocument } from '../area.ts'
import { lockFields, lockWriter } from '../../../archive/formats/tables.ts'
import type { OwnerAccess } from '../../../accounts/access.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import { boxes, tickAt } from '../../charts/plane.ts'
import { type LegendItem, legendOf } from '../../charts/picture.ts'
import { breaksOf, totalsOf } from '../../../stats/intervals.ts'
import { SECOND, type TableColumn, fieldColumns, table, TYPED, paginate, tableFoot } from '../../layout/components.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { label } from '../../text/labels.ts'
import { recordName } from '../../text/names.ts'
import { countText, dateText, dateTime, durationText, minutesText, NONE, numberText } from '../../text/text.ts'
import { type Ending, endingsOf } from './time.ts'
import { isTimeHidden, knownEnd, practiceMark, readLock, stateMark, stateName } from './states.ts'

/** The list of lock sessions: the time that it shows, its table, and the same as a file. */

export const lockAddresses: Addresses<PeriodQuery> = { path: '/locks', unfiltered: {}, read: () => ({}), write() {} }

export type ShownLocks = Awaited<ReturnType<typeof shownLocks>>

/** The time that the page shows, of all days if there is no period, and the one before it. Sessions are the oldest first. */
export async function shownLocks(
  { store, viewer, pageAccess, now }: Reader,
  history: LockHistory,
  query: PeriodQuery,
  period: Period | undefined,
) {
  const { timeZone } = viewer
  const clock = zoneClock(timeZone)
  const until = countedUntil(viewer.asOf, now)
  const days: Days = period ?? { first: clock.dayOf(Math.min(history.since, now)), last: clock.dayOf(now) }
  const compared = period && comparedDays(period)
  const past = compared && timeOfDays(compared, timeZone)
  const time = inParts(timeOfDays(days, timeZone), now, viewer)
  const weeks = period !== undefined && until === now && endsThisWeek(time) ? weeksToJudge(clock, now) : []
  const begins = [weeks[0], time.earlier[0]].map(one => one?.begin ?? Infinity)
  const from = Math.min(...begins, past?.from ?? clock.startOf(days.first))
  const sessions = await locksSince(store, pageAccess.sessions('lkbx'), until, from)
  const [sums, earlier, before, cutWeeks] = await lockStatistics(
    withoutPractice(sessions),
    { since: history.since, until },
    [
      bucketsOfParts(time.parts, time, clock),
      bucketsOfParts(time.earlier, time, clock),
      compared === undefined || past === undefined
        ? []
        : [{ day: compared.first, start: past.from, end: past.to, partial: false }],
      weeks.flatMap(({ day, begin, end, until }) => [
        { day, start: begin, end, partial: true },
        { day, start: end, end: until, partial: true },
      ]),
    ],
  )
  const toJudge = weeks.flatMap((_, index) => {
    const [some, rest] = cutWeeks.buckets.slice(index * 2)
    if (some === undefined || rest === undefined) return []
    return { value: lockedPercent(some), isEmpty: some.lockedSeconds + rest.lockedSeconds === 0 }
  })
  const within = sessionsWithin(sessions, time, until)
  // Numbers can be compared where all of both is known.
  const isComparable = past !== undefined && history.since <= past.from && until >= Math.min(now, time.to)
  return {
    ...days,
    query,
    period,
    time,
    until,
    sessions: within,
    counted: withoutPractice(within),
    figures: figuresOf(withoutPractice(within), time),
    ...sums,
    earlier: period && earlier.buckets,
    /** What percent is usual in the week that is judged, where the last part is this week. */
    judged: judgedOf(toJudge, isJudged(clock, now)),
    before: compared && { ...compared, total: before.total },
    former: isComparable ? figuresOf(withoutPractice(sessionsWithin(sessions, past, until)), past) : undefined,
  }
}

/** How many locks were in some time, and how many of their breaks. */
function figuresOf(sessions: readonly LockStats[], { from, to }: Time) {
  const intervals = sessions.flatMap(one => one.intervals.filter(({ start, end }) => start < to && end > from))
  return { locks: sessions.length, breaks: breaksOf(intervals).count }
}

/** Rounded once: the percent of a share has a decimal. */
export function lockedPercent({ lockedSeconds, knownSeconds }: LockStatistics): number | null {
  return roundedRatio(lockedSeconds * 100, knownSeconds)
}

function sessionsWithin(sessions: readonly LockStats[], { from, to }: Time, until: number): LockStats[] {
  return sessions.filter(({ at, endAt }) => at < to && (endAt ?? Math.max(at, until)) >= from)
}

export async function lockRows(
  visit: Visit,
  { sessions, time, until }: ShownLocks,
  known: ReadonlyMap<number, Ending> | undefined,
): Promise<Html> {
  const { store, pageAccess, path, query } = visit
  const paged = paginate(sessions.toReversed(), query)
  const ids = paged.rows.map(({ id }) => id)
  const documents = await lockRecords(store, pageAccess.sessions('lkbx'), ids)
  const endings = known ?? (await endingsOf(visit, withoutPractice(paged.rows), time))
  const rows = paged.rows.map(session => lockRow(session, documents.get(session.id), endings.get(session.id)))
  const isCut = sessions.some(({ at, endAt }) => at < time.from || (endAt ?? until) > time.to)
  return html`
    ${isCut && html`<p class="small muted">Rows count whole locks, the figures above only what is in these days.</p>`}
    ${lockTable(visit, rows)}
    ${tableFoot(path, query, paged)}
  `
}

/** Locks with bars of one scale, and what they mean. Without names, the first column says when they started. */
export function lockTable(visit: Visit, rows: readonly LockRow[], hasNames = true): Html {
  const until = countedUntil(visit.viewer.asOf, visit.now)
  const most = Math.max(0, ...rows.map(row => lengthOf(row, until) ?? 0), ...rows.flatMap(plannedOf))
  return html`
    ${legendOf([['solid', 'Lasted'], rows.some(({ endAt }) => endAt === null) && ['so-far', 'So far'], ...planLegend(rows.map(plannedOf))])}
    ${table('Locks', lockColumns(visit, most, hasNames), rows, { id: 'session-table' })}
  `
}

/** What marks at bars of lengths are: a line at what was planned, an area from the shortest to the longest of what was planned at random. */
export function planLegend(planned: readonly (readonly number[])[]): (LegendItem | false)[] {
  return [
    planned.some(({ length }) => length === 1) && ['tick', 'Planned'],
    planned.some(({ length }) => length === 2) && ['usual', 'Planned, shortest to longest'],
  ]
}

/** How long a lock was, or has been; undefined if that is not known. */
function lengthOf({ at, endAt }: Pick<LockStats, 'at' | 'endAt'>, until: number): number | undefined {
  const end = endAt === null ? until : knownEnd({ at, endAt })
  return end === null || end < at ? undefined : end - at
}

/** How many milliseconds were planned, or between which two; none if that is not known, hidden from its owner, who may read this, or not what its end is judged by. */
function plannedOf({ record, isActive, rules, ending }: LockRow): readonly number[] {
  if (ending?.random !== undefined) return ending.random
  const seconds = record?.duration ?? 0
  const isJudged = isActive || ending === undefined || ending.late !== undefined
  return seconds === 0 || !isJudged || (isActive && hidesTime(rules, true)) ? [] : [seconds * 1000]
}

export interface LockRow extends LockStats {
  readonly locked: number
  readonly longest: number
  readonly record: LockSession | undefined
  readonly ending: Ending | undefined
}

export function lockRow(session: LockStats, document: string | undefined, ending?: Ending): LockRow {
  return {
    ...session,
    ...totalsOf(session.intervals),
    record: document === undefined ? undefined : readLock(document),
    ending,
  }
}

/** Bars are drawn up to `most` milliseconds, if it is more than 0. */
export function lockColumns(
  { viewer, now }: Pick<Reader, 'viewer' | 'now'>,
  most = 0,
  hasNames = true,
): TableColumn<LockRow>[] {
  const until = countedUntil(viewer.asOf, now)
  const named = ({ id, record }: LockRow) => recordName(viewer, 'lock', { id, name: record?.name ?? '' })
  const started = ({ at }: LockRow) => dateTime(viewer, at)
  const ended = (at: number | null) => (at === null ? NONE : dateText(viewer, at))
  const lockedText = ({ intervals, locked }: LockRow) => (intervals.length === 0 ? NONE : durationText(locked / 1000))
  return [
    {
      title: label(hasNames ? 'name' : 'startDate'),
      line: 'first',
      cell: row => html`<a href="/locks/${row.id}">${(hasNames ? named : started)(row)}</a>${marksOf(viewer, row)}`,
    },
    ...(hasNames ? [{ title: label('startDate'), line: 'second', cell: started } as const] : []),
    { title: label('endDate'), isWide: true, cell: row => ended(knownEnd(row)) },
    {
      title: html`Lasted${most > 0 && barEnds('0', durationText(most / 1000))}`,
      numeric: most === 0,
      line: 'first',
      unit: ({ endAt }) => (endAt === null ? '\u00a0so far' : ''),
      cell(row) {
        const lasted = lengthOf(row, until)
        const text = lasted === undefined ? NONE : durationText(lasted / 1000)
        if (most === 0 || lasted === undefined) return text
        return lengthCell(text, most, [row.endAt === null ? 'so-far' : 'solid', lasted], plannedOf(row))
      },
    },
    ...(most > 0 ? [] : [{ title: stateName('locked', viewer), numeric: true, cell: lockedText }]),
    {
      title: 'Breaks',
      ...SECOND,
      unit: ({ intervals }) => (breaksOf(intervals).count === 1 ? '\u00a0break' : '\u00a0breaks'),
      cell: ({ intervals }) => (intervals.length === 0 ? NONE : numberText(breaksOf(intervals).count)),
    },
    {
      title: 'Break time',
      numeric: true,
      isWide: true,
      cell: ({ intervals }) => (breaksOf(intervals).count === 0 ? '' : minutesText(breaksOf(intervals).total)),
    },
    {
      title: 'Longest stretch',
      numeric: true,
      cell: ({ intervals, longest }) => (intervals.length === 0 ? NONE : minutesText(longest, true)),
    },
    ...fieldColumns<LockRow>(viewer, lockFields),
  ]
}

type LengthBar = readonly [look: 'solid' | 'so-far', length: number]

/** In a cell, a length, its bar, and what was planned: all in milliseconds, drawn up to `most`. */
export function lengthCell(text: Part, most: number, [look, length]: LengthBar, planned: readonly number[]): Html {
  const x = (length: number) => length && Math.max(1, (length * 100) / most)
  const drawn = boxes(look, [{ x: [0, x(length)], y: [0, 100] }])
  const [least = 0, longest] = planned.map(x)
  if (longest === undefined) return spanCell(text, html`${drawn}${least > 0 && tickAt(least)}`)
  return spanCell(text, html`${boxes('usual', [{ x: [least, longest], y: [-20, 120] }])}${drawn}`)
}

/** What is not as with most sessions. Discreet mode hides rules. */
function marksOf(viewer: Viewer, row: LockRow): Part {
  const { state, isActive, rules, isTyped, ending } = row
  const lateBreaks = ending?.lateBreaks ?? 0
  const isUsual = !isActive && state === 'completed'
  const late = isUsual ? (ending?.late ?? 0) : 0
  const breaks =
    lateBreaks > 0 && !viewer.discreet && html` <span class="state warn">${countText(lateBreaks, 'late break')}</span>`
  const difference =
    late !== 0 && html` <span class="state">${minutesText(Math.abs(late))} ${late > 0 ? 'over' : 'under'} plan</span>`
  return html`${isUsual ? nothing : html` ${stateMark(viewer, state, isActive)}`}${practiceMark(rules)}${isTyped ? TYPED : nothing}${breaks}${difference}`
}

export const lockFile: Area<PeriodQuery, ShownLocks, LockStats>['file'] = {
  header: ({ discreet }) => lockWriter.header(discreet),
  sessions: (visit, _query, period) => sessionsOf(visit, visit.pageAccess.sessions('lkbx'), period),
  cells: visit => Promise.resolve(item => cellsOf(visit.viewer, item)),
}

function cellsOf(viewer: Viewer, { session, document }: WithDocument<LockStats>) {
  const { id, at, state, intervals } = session
  const record = document === undefined ? undefined : readLock(document)
  const isHidden = isTimeHidden(viewer, viewer.subject.id, session)
  const { locked, open } = totalsOf(intervals)
  // Without events, nothing is known of them.
  const isKnown = intervals.length > 0
  const cells = {
    number: id,
    name: record?.name ?? '',
    state: stateName(state, viewer),
    started: at,
    ended: knownEnd(session),
    planned: isHidden ? null : (record?.duration ?? null),
    locked: isKnown ? Math.round(locked / 1000) : null,
    breakSeconds: isKnown ? Math.round(open / 1000) : null,
    breaks: isKnown ? breaksOf(intervals).count : null,
  }
  return lockWriter.cells(cells, record, viewer.discreet)
}

async function* sessionsOf(
  { store, viewer, now }: Visit,
  access: OwnerAccess,
  period: Period | undefined,
): AsyncGenerator<WithDocument<LockStats>> {
  const until = countedUntil(viewer.asOf, now)
  const time = period && timeOfDays(period, viewer.timeZone)
  const sessions = await locksSince(store, access, until, time?.from)
  const shown = time === undefined ? sessions : sessionsWithin(sessions, time, until)
  yield* fewAtOnce(shown.toReversed(), ids => lockRecords(store, access, ids))
}
