import { dotted } from '../../layout/components.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, type LockStats } from '../../../stats/lock-queries.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { HIDDEN } from '../../text/hidden-time.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import type { Visit } from '../../page.ts'
import { type PeriodQuery, periodText } from '../../text/period.ts'
import { dateTime, durationText } from '../../text/text.ts'
import { type Area, areaPages } from '../area.ts'
import { isLongerThanWeek, partPictures } from '../parts.ts'
import { lockTiles, lockVerdict, shares } from './charts.ts'
import { lockAddresses, type ShownLocks, shownLocks, lockFile, lockRows } from './list.ts'
import { type Ending, endingsOf } from './endings.ts'
import { headline, lockTime, endAhead, missingEnd, plannedEndDistance, tickingTime } from './time.ts'
import { lockText, practiceMark, readLock } from './states.ts'

type ShownWithNow = ShownLocks & {
  readonly active: Active
  readonly endings: ReadonlyMap<number, Ending> | undefined
}

const locks: Area<PeriodQuery, ShownWithNow, LockStats> = {
  section: 'locks',
  area: 'lkbx',
  title: 'Locks',
  list: 'Locks',
  addresses: lockAddresses,
  nothingYet: viewer => [
    'No lock sessions yet',
    `This page will show the running session, the ${lockText('locked time', viewer)} by week and month, and every session with its breaks.`,
  ],
  async read(visit, query, period) {
    const { store, viewer, pageAccess, now } = visit
    const access = pageAccess.sessions('lkbx')
    const history = await lockHistory(store, access)
    if (history.entries.length === 0) return undefined
    const [shown, active] = await Promise.all([
      shownLocks(visit, history, query, period),
      activeLock(store, access, countedUntil(viewer.asOf, now)),
    ])
    const { counted, time } = shown
    const endings = counted.length > MAX_JUDGED ? undefined : await endingsOf(visit, counted, time)
    return { ...shown, active, endings }
  },
  isEmpty: ({ sessions }) => sessions.length === 0,
  none: (_viewer, { period }) => [
    'No lock sessions',
    `There is none${period === undefined ? '' : ` ${periodText(period)}`}.`,
  ],
  heading: (visit, shown) =>
    html`<span data-live="state">${headline(visit, shown.active, true, shown.until, lockVerdict(visit.viewer, shown))}</span>`,
  lead: (visit, { active }) => active && html`<span data-live="now">${nowLine(visit, active)}</span>`,
  tiles: (viewer, shown) => lockTiles(viewer, shown, shown.endings),
  pictures: ({ viewer }, shown) =>
    isLongerThanWeek(shown.time)
      ? partPictures(viewer, shown.time, '/locks?from={from}&to={to}', [shares(viewer, shown)])
      : nothing,
  table: (visit, shown) => lockRows(visit, shown, shown.endings),
  file: lockFile,
}

export const lockPages = areaPages(locks)

/** Reading the records of more locks would take long. */
const MAX_JUDGED = 400

type Active = Awaited<ReturnType<typeof activeLock>>

/** The running lock, which leads to its page, with what is planned. */
function nowLine({ viewer, now }: Visit, active: NonNullable<Active>): Html {
  const until = countedUntil(viewer.asOf, now)
  const end = endAhead(viewer, active, viewer.subject.id, until)
  const missing = missingEnd(viewer, active, viewer.subject.id)
  return dotted(
    lockTime(active, { until, now }) ?? nothing,
    html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', readLock(active.document))}</a>${practiceMark(active.rules)}`,
    active.at > until
      ? nothing
      : html`${tickingTime(active.at, { until, now })}${end && ` of ${durationText((end - active.at) / 1000)}`}`,
    missing === undefined
      ? html`planned end ${dateTime(viewer, active.plannedEnd ?? 0)} (${plannedEndDistance(active, until)})`
      : missing === HIDDEN
        ? HIDDEN
        : nothing,
  )
}
