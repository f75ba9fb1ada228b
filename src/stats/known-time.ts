import { sql } from 'kysely'
import { knownTimeZone } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { checkedQuery, readChecked } from '../accounts/access.ts'

/** What the statistics of an account depend on, apart from its records. */
export type KnownTime = Awaited<ReturnType<typeof readKnownTime>>

/** The time zone of a reader, and up to when the records of an owner are known. */
export async function readKnownTime(store: Store, reader: number, owner: number, now: number) {
  const [row] = await readChecked(store, knownTime, { reader, owner, owners: [reader, owner] })
  const asOf = row?.as_of ?? null
  return {
    /** The zone that the reader chose for the dashboard; UTC by default. */
    timeZone: knownTimeZone(row?.time_zone ?? '') ?? 'UTC',
    /** Up to when the records of the owner are known; null if that is not known. */
    asOf: asOf === null ? null : Math.min(asOf, now),
    /** Whether a copy of them from another server has never been complete. */
    isPartial: row?.partial === 1,
  }
}

interface Asked {
  readonly reader: number
  readonly owner: number
  readonly owners: readonly number[]
}

const knownTime = checkedQuery<Asked, { time_zone: string | null; as_of: number | null; partial: number }>(
  'known time',
  (param, named) => sql`
    select ${named}, cast(id as text) || ',' || cast(${param('reader')} as text) as owners, as_of,
      (select time_zone from preference where account_id = ${param('reader')}) as time_zone,
      case when exists (select 1 from pull_source where account_id = ${param('owner')} and completed_at is null) then 1 else 0 end as partial
    from account where id = ${param('owner')}`,
)

/** If records are known only up to a time longer ago than this, durations end at that time. */
const MAX_FRESH_MS = 3_600_000

/** The instant up to which durations count. */
export function countedUntil(asOf: number | null, now: number): number {
  return asOf !== null && now - asOf > MAX_FRESH_MS ? asOf : now
}
