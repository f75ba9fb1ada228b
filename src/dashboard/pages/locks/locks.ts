import { dotted } from '../../layout/components.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, type LockStats, newestLock } from '../../../stats/lock-queries.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { endOfTomorrow, zoneClock } from '../../../stats/zone-clock.ts'
import { figure, html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import type { Viewer, Visit } from '../../page.ts'
import { daysName, type PeriodQuery, periodText } from '../../text/period.ts'
import { countsText, dateTime, durationText, minutesText, numberText, percentText } from '../../text/text.ts'
import { example, EXAMPLE_LOCKS } from '../example.ts'
import { type Area, areaPages, daysBefore, figureTiles } from '../area.ts'
import { patterns } from '../../charts/plane.ts'
import { type Bars, barPicture, GRADES, isLongerThanWeek, verdictText } from '../parts.ts'
import { lockAddresses, lockedPercent, type ShownLocks, shownLocks, lockFile, lockRows } from './list.ts'
import { roundedRatio, sum } from '../../../contract/numbers.ts'
import type { LockStatistics } from '../../../stats/lock-statistics.ts'
import {
  type Ending,
  endingsOf,
  headline,
  lockTime,
  endAhead,
  missingEnd,
  dayOfLock,
  plannedEndDistance,
  tickingTime,
} from './time.ts'
import { HIDDEN, knownEnd, lockText, practiceMark, readLock, stateName } from './states.ts'

type ShownWithNow = ShownLocks & {
  readonly active: Active
  readonly newest: LockStats | undefined
  readonly endings: ReadonlyMap<number, Ending> | undefined
}

const locks: Area<PeriodQuery, ShownWithNow, LockStats> = {
  section: 'locks',
  area: 'lkbx',
  title: 'Locks',
  list: 'Locks',
  addresses: lockAddresses,
  nothingYet: viewer => [
    'No locks yet',
    `This page will show the running lock, the ${lockText('locked time', viewer)} by week, and every lock with its breaks.`,
    example(...EXAMPLE_LOCKS),
  ],
  async read(visit, query, period) {
    const { store, viewer, pageAccess, now } = visit
    const access = pageAccess.sessions('lkbx')
    const history = await lockHistory(store, access)
    if (history.entries.length === 0) return undefined
    const until = countedUntil(viewer.asOf, now)
    const clock = zoneClock(viewer.timeZone)
    const [shown, active, newest] = await Promise.all([
      shownLocks(visit, history, query, period),
      activeLock(store, access, until),
      newestLock(store, access, endOfTomorrow(clock, clock.dayOf(now)), until),
    ])
    const { counted, time } = shown
    const endings = counted.length > MAX_JUDGED ? undefined : await endingsOf(visit, counted, time)
    return { ...shown, active, newest, endings }
  },
  none: (_viewer, { period }) => ['No locks', `There is none${period === undefined ? '' : ` ${periodText(period)}`}.`],
  heading: (visit, shown) =>
    html`<span data-live="state">${headline(visit, shown.active, shown.newest, shown.until, lockVerdict(visit.viewer, shown.judged))}</span>`,
  lead: (visit, { active, newest }) =>
    html`<span data-live="now">${active ? nowLine(visit, active) : newest && lastLine(visit, newest)}</span>`,
  tiles: (viewer, shown) => lockTiles(viewer, shown, shown.endings),
  pictures: ({ viewer }, shown) =>
    isLongerThanWeek(shown.time) ? html`${patterns}${barPicture(viewer, shareBars(viewer, shown))}` : nothing,
  table: (visit, shown) => lockRows(visit, shown, shown.endings),
  file: lockFile,
}

export const lockPages = areaPages(locks)

/** Reading the records of more locks would take long. */
const MAX_JUDGED = 400

type Active = Awaited<ReturnType<typeof activeLock>>

/** The running lock, which leads to its page, with what is planned; on the last day the heading says when it ends. */
function nowLine({ viewer, now }: Visit, active: NonNullable<Active>): Html {
  const until = countedUntil(viewer.asOf, now)
  const end = endAhead(viewer, active, viewer.subject.id, until)
  const [day, days] = dayOfLock(active, end, until)
  const missing = missingEnd(viewer, active, viewer.subject.id)
  return dotted(
    lockTime(active, { until, now }) ?? nothing,
    html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', readLock(active.document))}</a>${practiceMark(active.rules)}`,
    active.at > until || end !== undefined ? nothing : tickingTime(active.at, { until, now }),
    missing === undefined
      ? day === days
        ? html`planned end ${plannedEndDistance(viewer, active, until)}`
        : html`planned end ${dateTime(viewer, active.plannedEnd ?? 0)} <span class="off-paper">(${plannedEndDistance(viewer, active, until)})</span>`
      : missing === HIDDEN
        ? HIDDEN
        : nothing,
  )
}

/** The last lock, where it is known when it ended. */
function lastLine({ viewer }: Visit, last: LockStats): Html | undefined {
  const end = knownEnd(last)
  if (end === null) return undefined
  return html`<a href="/locks/${last.id}">Last lock</a> ended ${dateTime(viewer, end)}, after ${durationText((end - last.at) / 1000)}`
}

/** `locked 96 %, ▲ above usual` of the week that is judged, where records are known up to now. */
export function lockVerdict(viewer: Viewer, judged: ShownLocks['judged'] | undefined): string | undefined {
  return judged && verdictText(judged, `${lockText('locked', viewer)} ${percentText(judged.value)}`)
}

function lockTiles(viewer: Viewer, shown: ShownLocks, endings: ReadonlyMap<number, Ending> | undefined): Html {
  const { query, period, total, before, figures, former, counted, sessions } = shown
  const isKnown = total.knownSeconds > 0
  const late = sum([...(endings?.values() ?? [])].map(({ lateBreaksShown }) => lateBreaksShown))
  const practice = sessions.length - counted.length
  const early = counted.filter(({ state }) => state === 'abandoned').length
  const days = before === undefined ? 0 : before.last + 1 - before.first
  return figureTiles(
    [
      {
        name: stateName('locked', viewer),
        of: 'lockedPercent',
        value: lockedPercent(total),
        ...GRADES,
        // A percent of less than half of the days compares with nothing.
        before: before && before.total.knownSeconds > days * 43_200 ? lockedPercent(before.total) : undefined,
        note: isKnown ? `${durationText(total.lockedSeconds)} in all` : undefined,
      },
      {
        name: 'Breaks',
        of: 'breaks',
        value: isKnown ? figures.breaks : null,
        text: numberText,
        before: former?.breaks,
        // Discreet mode hides rules.
        note: late === 0 || viewer.discreet ? undefined : html`<a href="#sessions">${numberText(late)} late</a>`,
      },
      {
        name: 'Locks',
        of: 'lockSessions',
        value: figures.locks,
        text: numberText,
        before: former?.locks,
        note: countsText({ 'ended early': early, 'not counted': practice }, '') || undefined,
      },
      {
        name: 'Longest stretch',
        of: 'longestLockedSeconds',
        value: longestOf(total),
        text: seconds => minutesText(seconds * 1000, true),
        before: former && before && longestOf(before.total),
      },
    ],
    daysName(period),
    daysBefore(lockAddresses, query, period),
  )
}

function longestOf({ longestLockedSeconds }: LockStatistics): number | null {
  return longestLockedSeconds === 0 ? null : longestLockedSeconds
}

/** The percent of time locked by week, month or quarter. Not known is not 0. */
export function shareBars(
  viewer: Viewer,
  shown: Pick<ShownLocks, 'buckets' | 'time' | 'earlier'> & Partial<Pick<ShownLocks, 'judged'>>,
  id = 'shares',
): Bars {
  const { buckets, time, earlier, judged } = shown
  const measured = (share: LockStatistics) => ({ value: lockedPercent(share), isEmpty: share.lockedSeconds === 0 })
  return {
    id,
    daysAddress: '/locks?from={from}&to={to}',
    title: lockText(`Locked by ${time.unit}`, viewer),
    empty: lockText('No locked time in this period', viewer),
    time,
    series: [
      { title: stateName('locked', viewer), look: 'solid', values: buckets.map(({ percent }) => percent) },
      {
        title: 'Breaks',
        look: 'break',
        values: buckets.map(one => roundedRatio(one.breakSeconds * 1000, one.knownSeconds, 10)),
      },
    ],
    measured: buckets.map(measured),
    earlier: earlier?.map(measured),
    isShare: true,
    byNow: judged?.byNow,
    ...GRADES,
    cellText: percentText,
    axisText: percentText,
  }
}

/** `43 %` of a time of which something is known. */
export function lockedFigure(share: LockStatistics, scope: string): Html {
  const percent = lockedPercent(share) ?? 0
  return figure(`lockedPercent ${scope}`, percent, percentText(percent))
}
