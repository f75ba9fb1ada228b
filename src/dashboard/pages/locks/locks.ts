import type { LockSession } from '../../../contract/lock-sessions.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, type LockEntry, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import { countedUntil } from '../../../stats/status.ts'
import { HIDDEN } from '../../text/hidden-time.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import type { Viewer, Visit } from '../../page.ts'
import { periodText } from '../../text/period.ts'
import { ageText, dateTime } from '../../text/text.ts'
import { type Area, areaPages } from '../area.ts'
import { isLongerThanWeek } from '../parts.ts'
import { lockTiles, sharePicture, shareText } from './charts.ts'
import { lockAddresses, type LockQuery, type ShownLocks, shownLocks } from './filters.ts'
import { type Endings, endingsOf } from './endings.ts'
import { lockNow, missingEnd, plannedEndText } from './time.ts'
import { knownEnd, lockText, practiceMark, stateMark } from './states.ts'
import { lockFile, lockRows } from './table.ts'

interface ShownWithNow extends ShownLocks {
  readonly entries: readonly LockEntry[]
  readonly active: Active
  readonly newest: LockStats | undefined
  readonly endings: Endings | undefined
}

const locks: Area<LockQuery, ShownWithNow, LockStats> = {
  section: 'locks',
  area: 'lkbx',
  title: 'Locks',
  addresses: lockAddresses,
  nothingYet: viewer => [
    'No lock sessions yet',
    `This page will show the running session, the ${lockText('time under lock', viewer)} by week and month, and every session with its breaks.`,
  ],
  async read(visit, query, period) {
    const { store, viewer, pageAccess, now } = visit
    const access = pageAccess.sessions('lkbx')
    const until = countedUntil(viewer.asOf, now)
    const history = await lockHistory(store, access)
    const { entries } = history
    const [newest] = entries
    if (newest === undefined) return undefined
    const [shown, active, [last]] = await Promise.all([
      shownLocks(visit, history, query, period),
      activeLock(store, access, until),
      someLocks(store, access, [newest.id], until),
    ])
    return { ...shown, entries, active, newest: last, endings: await endingsOf(visit, shown) }
  },
  isEmpty: ({ sessions }) => sessions.length === 0,
  lead: shareText,
  none: (_viewer, { period }) => [
    'No lock sessions',
    `There is none${period === undefined ? '' : ` ${periodText(period)}`}.`,
  ],
  before: (visit, { active, newest, sessions }) =>
    nowLine(visit, active, newest === undefined ? sessions : [...sessions, newest]),
  tiles: (viewer, shown) => lockTiles(viewer, shown, shown.endings),
  pictures: ({ viewer }, shown) => (isLongerThanWeek(shown) ? sharePicture(viewer, shown) : nothing),
  table: (visit, shown) => lockRows(visit, shown.entries, shown),
  file: lockFile,
}

export const lockPages = areaPages(locks)

type Active = Awaited<ReturnType<typeof activeLock>>

/** ` · Planned end 29 Nov 2026, 00:59 in 1 d 23 h`, ` · The end is hidden`; nothing if it is not known. */
function plannedEndPart(viewer: Viewer, lock: LockStats, until: number): Html {
  const missing = missingEnd(viewer, lock, viewer.subject.id)
  if (missing === HIDDEN) return html` · ${HIDDEN}`
  return missing === undefined ? html` · Planned end ${plannedEndText(viewer, lock, until)}` : nothing
}

/** Whether the line about a lock says its state. Others are shown as they are. */
function isNamed(state: string): boolean {
  return state === 'locked' || state === 'break'
}

/** The running lock in a line, or when the last one ended. */
function nowLine(visit: Visit, active: Active, history: readonly LockStats[]): Html {
  const { viewer, now } = visit
  const clock = { until: countedUntil(viewer.asOf, now), now }
  if (active === undefined) {
    const ends = history.flatMap(session => knownEnd(session) ?? []).filter(end => end <= now)
    const last =
      ends.length === 0 ? nothing : html` The last lock session ended ${dateTime(viewer, Math.max(...ends))}.`
    return html`<p data-live="now"><strong>No lock</strong>${ageText(viewer, now)}.${last}</p>`
  }
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(active.document) as LockSession
  return html`
    <p data-live="now"><strong>${lockNow(viewer, active, clock)}</strong>${ageText(viewer, now)}${isNamed(active.state) ? nothing : html` ${stateMark(viewer, active.state, true)}`}${practiceMark(active.rules)}${plannedEndPart(viewer, active, clock.until)} · <a href="/locks/${active.id}">${recordName(viewer, 'lock', record)}</a></p>
  `
}
