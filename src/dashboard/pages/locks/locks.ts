import { dotted } from '../../layout/components.ts'
import type { LockSession } from '../../../contract/lock-sessions.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, type LockStats } from '../../../stats/lock-queries.ts'
import { countedUntil } from '../../../stats/known-time.ts'
import { HIDDEN } from '../../text/hidden-time.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import type { Visit } from '../../page.ts'
import { type PeriodQuery, periodText } from '../../text/period.ts'
import { ageText } from '../../text/text.ts'
import { type Area, areaPages } from '../area.ts'
import { isLongerThanWeek } from '../parts.ts'
import { lockTiles, sharePicture } from './charts.ts'
import { lockAddresses, type ShownLocks, shownLocks, lockFile, lockRows } from './list.ts'
import { type Ending, endingsOf } from './endings.ts'
import { lockState, missingEnd, plannedEndText } from './time.ts'
import { lockText, practiceMark } from './states.ts'

interface ShownWithNow extends ShownLocks {
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
    return { ...shown, active, endings: await endingsOf(visit, shown) }
  },
  isEmpty: ({ sessions }) => sessions.length === 0,
  none: (_viewer, { period }) => [
    'No lock sessions',
    `There is none${period === undefined ? '' : ` ${periodText(period)}`}.`,
  ],
  lead: (visit, { active }) => nowLine(visit, active),
  tiles: (viewer, shown) => lockTiles(viewer, shown, shown.endings),
  pictures: ({ viewer }, shown) => (isLongerThanWeek(shown.time) ? sharePicture(viewer, shown) : nothing),
  table: (visit, shown) => lockRows(visit, shown, shown.endings),
  file: lockFile,
}

export const lockPages = areaPages(locks)

type Active = Awaited<ReturnType<typeof activeLock>>

/** The running lock in a line, which leads to its page. */
function nowLine({ viewer, now }: Visit, active: Active): Html {
  if (active === undefined) return html`<span data-live="now"><strong>No lock</strong>${ageText(viewer, now)}</span>`
  const until = countedUntil(viewer.asOf, now)
  const missing = missingEnd(viewer, active, viewer.subject.id)
  const plannedEnd =
    missing === undefined
      ? html`planned end ${plannedEndText(viewer, active, until)}`
      : missing === HIDDEN
        ? HIDDEN
        : nothing
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(active.document) as LockSession
  return html`<span data-live="now">${dotted(
    html`<strong>${lockState(viewer, active, until)}</strong>${ageText(viewer, now)}`,
    html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', record)}</a>${practiceMark(active.rules)}`,
    plannedEnd,
  )}</span>`
}
