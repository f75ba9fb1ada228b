import type { LockSession } from '../../../contract/lock-sessions.ts'
import type { LockTemplate } from '../../../contract/lock-templates.ts'
import { totalsOf } from '../../../stats/intervals.ts'
import { lockHistory } from '../../../stats/lock-history.ts'
import { activeLock, type LockEntry, type LockStats, someLocks } from '../../../stats/lock-queries.ts'
import { lockTemplate } from '../../../stats/lock-template-queries.ts'
import { countedUntil } from '../../../stats/status.ts'
import { facts } from '../../layout/components.ts'
import { isTimeHidden } from '../../text/hidden-time.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import type { Visit } from '../../page.ts'
import { periodText } from '../../text/period.ts'
import { ageText, dateTime, durationText, NONE } from '../../text/text.ts'
import { type Area, areaPages } from '../area.ts'
import { isLongerThanWeek } from '../parts.ts'
import { lockCalendar, lockTiles, sharePicture, shareText } from './charts.ts'
import { lockAddresses, type LockQuery, type ShownLocks, shownLocks } from './filters.ts'
import { breaksText, lockNow, plannedEndText, timeBar } from './time.ts'
import { knownEnd, lockText, practiceMark, stateName } from './states.ts'
import { lockFile, lockRows } from './table.ts'

interface ShownWithNow extends ShownLocks {
  readonly entries: readonly LockEntry[]
  readonly active: Active
  readonly newest: LockStats | undefined
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
    return { ...shown, entries, active, newest: last }
  },
  isEmpty: ({ sessions }) => sessions.length === 0,
  lead: shareText,
  none: (_viewer, { period }) => [
    'No lock sessions',
    `There is none${period === undefined ? '' : ` ${periodText(period)}`}.`,
  ],
  before: (visit, { active, newest, sessions }) =>
    nowCard(visit, active, newest === undefined ? sessions : [...sessions, newest]),
  tiles: lockTiles,
  pictures: ({ viewer }, shown) =>
    html`${isLongerThanWeek(shown) ? sharePicture(viewer, shown) : nothing}${lockCalendar(viewer, shown)}`,
  table: (visit, shown) => lockRows(visit, shown.entries, shown),
  file: lockFile,
}

export const lockPages = areaPages(locks)

type Active = Awaited<ReturnType<typeof activeLock>>

/** The current lock. */
async function nowCard(
  { store, pageAccess, viewer, now }: Visit,
  active: Active,
  history: readonly LockStats[],
): Promise<Html> {
  if (active === undefined) {
    const ends = history.flatMap(session => knownEnd(session) ?? []).filter(end => end <= now)
    const last =
      ends.length === 0
        ? 'No session is running.'
        : html`The last lock session ended ${dateTime(viewer, Math.max(...ends))}.`
    return html`
      <section class="card" data-live="now">
        <div class="card-head"><h2>Open${ageText(viewer, now)}</h2></div>
        <p>${last}</p>
      </section>
    `
  }
  // The archive wrote it in the form of the contract.
  const record = JSON.parse(active.document) as LockSession
  const clock = { until: countedUntil(viewer.asOf, now), now }
  const template =
    active.template === null ? undefined : await lockTemplate(store, pageAccess.ofAll('lock_template'), active.template)
  if (template !== undefined) pageAccess.note('lkbx', template.owner)
  return html`
    <section class="card" data-live="now">
      <div class="card-head">
        <h2>${lockNow(viewer, active, clock)}</h2>
        <span class="state on">${stateName(active.state, viewer)}${ageText(viewer, now)}</span>${practiceMark(active.rules)}
      </div>
      ${facts([
        ['Session', html`<a href="/locks/${active.id}">${recordName(viewer, 'lock', record)}</a>`],
        [lockText('Locked since', viewer), dateTime(viewer, active.at)],
        ['Open', openText(active, viewer.discreet ? undefined : template?.record)],
        ['Planned end', plannedEndText(viewer, active, clock.until)],
      ])}
      ${isTimeHidden(viewer, viewer.subject.id, active) ? nothing : timeBar(active, clock)}
    </section>
  `
}

/** How long a lock was open so far, and its breaks. */
function openText(lock: LockStats, template: LockTemplate | undefined): Part {
  if (lock.intervals.length === 0) return NONE
  const { open } = totalsOf(lock.intervals)
  return html`${open === 0 ? 'Not yet' : durationText(open / 1000)} <small class="muted">${breaksText(lock, template)}</small>`
}
