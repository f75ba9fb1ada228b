import type { Bucket } from '../../../stats/buckets.ts'
import type { LockHistory } from '../../../stats/lock-history.ts'
import { locksSince, type LockStats } from '../../../stats/lock-queries.ts'
import { lockStatistics, type LockStatistics, withoutPractice } from '../../../stats/lock-statistics.ts'
import { countedUntil } from '../../../stats/status.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import type { Reader } from '../../page.ts'
import { comparedDays, type Days, type Period, type PeriodQuery, timeOfDays } from '../../text/period.ts'
import { bucketsOfParts, inParts, type TimeInParts } from '../parts.ts'
import type { Addresses } from '../area.ts'

/** The lock sessions and the time that the page of locks shows. */

export const lockAddresses: Addresses<PeriodQuery> = {
  path: '/locks',
  unfiltered: {},
  read: () => ({}),
  write() {},
}

export interface ShownLocks extends Days {
  readonly query: PeriodQuery
  /** Undefined if all days are shown. */
  readonly period: Period | undefined
  readonly time: TimeInParts
  /** Up to when time counts. */
  readonly until: number
  /** The oldest first; those for practice are not counted. */
  readonly sessions: readonly LockStats[]
  readonly counted: readonly LockStats[]
  readonly total: LockStatistics
  readonly buckets: readonly LockStatistics[]
  /** Of the parts before. */
  readonly earlier: readonly LockStatistics[]
  /** The days before, as many as are shown. */
  readonly before: (Days & { readonly total: LockStatistics }) | undefined
}

/** The time that the page shows, and the one before it. */
export async function shownLocks(
  { store, viewer, pageAccess, now }: Reader,
  history: LockHistory,
  query: PeriodQuery,
  period: Period | undefined,
): Promise<ShownLocks> {
  const { timeZone } = viewer
  const clock = zoneClock(timeZone)
  const until = countedUntil(viewer.asOf, now)
  const days = period ?? { first: clock.dayOf(Math.min(history.since, now)), last: clock.dayOf(now) }
  const compared = period && comparedDays(period)
  const time = inParts(timeOfDays(days, timeZone), now, viewer)
  const from = Math.min(time.earlier[0]?.begin ?? 0, clock.startOf(compared?.first ?? days.first))
  const sessions = await locksSince(store, pageAccess.sessions('lkbx'), until, from)
  const [sums, earlier, before] = await lockStatistics(withoutPractice(sessions), { since: history.since, until }, [
    bucketsOfParts(time.parts, time, clock),
    bucketsOfParts(time.earlier, time, clock),
    compared === undefined ? [] : [bucketOf(compared, timeZone)],
  ])
  const within = sessionsWithin(sessions, time, until)
  return {
    ...days,
    query,
    period,
    time,
    until,
    sessions: within,
    counted: withoutPractice(within),
    ...sums,
    earlier: earlier.buckets,
    before: compared && { ...compared, total: before.total },
  }
}

function bucketOf(days: Days, timeZone: string): Bucket {
  const { from, to } = timeOfDays(days, timeZone)
  return { day: days.first, start: from, end: to, partial: false }
}

/** The sessions that ran within a time. */
export function sessionsWithin(
  sessions: readonly LockStats[],
  { from, to }: { readonly from: number; readonly to: number },
  until: number,
): LockStats[] {
  return sessions.filter(({ at, endAt }) => at < to && (endAt ?? Math.max(at, until)) >= from)
}
