import { boundariesOf } from '../../../stats/buckets.ts'
import type { LockHistory } from '../../../stats/lock-history.ts'
import { locksSince, type LockStats } from '../../../stats/lock-queries.ts'
import { type LockedShare, lockedShares, withoutPractice } from '../../../stats/lock-statistics.ts'
import { countedUntil } from '../../../stats/status.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import type { Reader } from '../../page.ts'
import { comparedDays, type Days, movedTo, type Period, type PeriodQuery, timeOfDays } from '../../text/period.ts'
import { bucketsOfParts, inParts, type TimeInParts } from '../parts.ts'
import type { Addresses } from '../area.ts'

/** The lock sessions and the time that the page of locks shows. */

/** The query of the page. */
export interface LockQuery extends PeriodQuery {
  /** Of the sessions in the table; empty for any. */
  readonly state: string
}

export const lockAddresses: Addresses<LockQuery> = {
  path: '/locks',
  // The state is a filter of the table.
  unfiltered: {},
  read({ query }) {
    const state = query.get('state') ?? ''
    return { state: state.length > MAX_STATE_LENGTH ? '' : state }
  },
  write(query, { state }) {
    if (state !== '') query.set('state', state)
  },
}

const MAX_STATE_LENGTH = 64

/** Days, the lock sessions of them, and how much of them was locked. */
export interface LockTime extends Days {
  /** When the days begin and end. */
  readonly from: number
  readonly to: number
  /** The oldest first; those for practice are not counted. */
  readonly sessions: readonly LockStats[]
  readonly counted: readonly LockStats[]
  readonly total: LockedShare
  readonly buckets: readonly LockedShare[]
}

export interface ShownLocks extends LockTime {
  readonly query: LockQuery
  /** Undefined if all days are shown. */
  readonly period: Period | undefined
  readonly time: TimeInParts
  /** Of the parts before. */
  readonly earlier: readonly LockedShare[]
  readonly now: number
  /** Up to when time counts. */
  readonly until: number
  /** What it is compared with: as many days before, if nothing else was chosen. */
  readonly before: LockTime | undefined
}

/** The time that the page shows, and the one it is compared with. */
export async function shownLocks(
  { store, viewer, pageAccess, now }: Reader,
  history: LockHistory,
  query: LockQuery,
  period: Period | undefined,
): Promise<ShownLocks> {
  const { timeZone } = viewer
  const clock = zoneClock(timeZone)
  const until = countedUntil(viewer.asOf, now)
  const days = period ?? { first: clock.dayOf(Math.min(history.since, now)), last: clock.dayOf(now) }
  const compared = period && comparedDays(period, query.compare)
  const time = inParts(timeOfDays(days, timeZone), now, viewer)
  const from = Math.min(time.earlier[0]?.begin ?? 0, clock.startOf(compared?.first ?? days.first))
  const sessions = await locksSince(store, pageAccess.sessions('lkbx'), until, from)
  const buckets = bucketsOfParts(time.parts, time, clock)
  const timeOf = (days: Days, parts: typeof buckets): LockTime => {
    const time = timeOfDays(days, timeZone)
    const within = sessionsWithin(sessions, time, until)
    const counted = withoutPractice(within)
    const shares = lockedShares(counted, parts, { since: history.since, until })
    return { ...days, ...time, sessions: within, counted, ...shares }
  }
  const starts = period && compared && movedTo(compared, period, boundariesOf(buckets), timeZone)
  const moved = buckets.map((bucket, index) => {
    return { ...bucket, start: starts?.[index] ?? 0, end: starts?.[index + 1] ?? 0, partial: false }
  })
  const before = compared && buckets.length > 0 ? timeOf(compared, moved) : undefined
  const known = { since: history.since, until }
  const earlier = lockedShares(withoutPractice(sessions), bucketsOfParts(time.earlier, time, clock), known).buckets
  return { query, period, time, earlier, now, until, before, ...timeOf(days, buckets) }
}

/** The sessions that ran within a time. */
export function sessionsWithin(
  sessions: readonly LockStats[],
  { from, to }: { readonly from: number; readonly to: number },
  until: number,
): LockStats[] {
  return sessions.filter(({ at, endAt }) => at < to && (endAt ?? Math.max(at, until)) >= from)
}
