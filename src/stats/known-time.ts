import { sql } from '../vendor/kysely.js'
import { knownTimeZone } from '../contract/time-zones.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import { type KeptReads, keptReads } from './kept.ts'

/** What the statistics of an account depend on, apart from its records. */
export interface KnownTime {
  /** The zone that the reader chose for the dashboard; UTC by default. */
  readonly timeZone: string
  /** Up to when the records of the owner are known; null if that is not known. */
  readonly asOf: number | null
}

/** The time zone of a reader, and up to when the records of an owner are known. */
export async function readKnownTime(
  store: Store,
  reader: number,
  owner: number,
  now: number,
  kept?: KeptReads,
): Promise<KnownTime> {
  const reads = kept ?? (await keptReads(store))
  const { timeZone, asOf } = await reads.get(
    `time of ${owner} for ${reader}`,
    () => readStored(store, reader, owner),
    () => 0,
  )
  return { timeZone, asOf: asOf === null ? null : Math.min(asOf, now) }
}

async function readStored(store: Store, reader: number, owner: number): Promise<KnownTime> {
  const [row] = await store.read(knownTime, { reader, owner })
  return { timeZone: knownTimeZone(row?.time_zone ?? '') ?? 'UTC', asOf: row?.as_of ?? null }
}

const knownTime = query<{ reader: number; owner: number }, { time_zone: string | null; as_of: number | null }>(
  param => sql`
    select as_of, (select time_zone from preference where account_id = ${param('reader')}) as time_zone
    from account where id = ${param('owner')}`,
)
