import { type Kysely, sql } from 'kysely'
import { type Area, areas } from '../contract/areas.ts'
import type { ReadType, ReadWay } from '../contract/reads.ts'
import { DAY_MS, HOUR_MS } from '../contract/time.ts'
import { type Engine, jsonRows, type Store } from '../store/index.ts'
import { OPERATOR, pruneEvents, recordEvent } from './events.ts'
import type { ReadRow, Tables } from '../store/tables.ts'
import { type Counted, Tally } from './tally.ts'

export type ReadLog = ReturnType<typeof makeReadLog>

interface Reader {
  readonly accountId: number
  readonly via: ReadWay
  /** Empty if the reader uses no API key. */
  readonly keyName: string
}

interface ReadLogOptions {
  readonly days: number
  readonly onFailure: (error: unknown) => void
  readonly flushIntervalMs?: number
  readonly maxEntries?: number
}

/**
 * Counts reads and writes them each minute. While they cannot be written, only the number of reads is kept beyond a number of
 * rows, for each owner.
 */
export function makeReadLog(store: Store, options: ReadLogOptions) {
  const { days, onFailure, flushIntervalMs = FLUSH_INTERVAL_MS, maxEntries = MAX_ENTRIES } = options
  let cleanedAt = 0
  const tally = new Tally<NewRead>(
    store,
    {
      title: 'reads',
      maxRows: maxEntries,
      intervalMs: flushIntervalMs,
      keyOf,
      beyond: gapOf,
      write: (db, rows) => writeReads(db, store.engine, rows),
      afterwards: async () => void (cleanedAt = await clean(store, days, cleanedAt)),
    },
    onFailure,
  )
  return {
    /** Counts a read of the records of an owner; written later. */
    record({ accountId, via, keyName }: Reader, ownerId: number, area: Area, kind: ReadType, now: number) {
      tally.add({ owner_id: ownerId, hour: hourOf(now), reader_id: accountId, via, token_name: keyName, area, kind })
    },
    close: () => tally.close(),
  }
}

/** Records, without collecting first, that the operator exports the records of an account: as a read of others, and as an event. */
export async function recordOperatorExport(store: Store, ownerId: number): Promise<void> {
  const now = Date.now()
  const read = { owner_id: ownerId, hour: hourOf(now), reader_id: 0, via: 'operator', token_name: '', kind: 'export' }
  await writeReads(
    store.db,
    store.engine,
    areas.map(area => ({ row: { ...read, area }, count: 1 })),
  )
  await recordEvent(store.db, { accountId: ownerId, type: 'exported', now, actor: OPERATOR })
}

const FLUSH_INTERVAL_MS = 60_000

/** How many rows wait to be written: about 6 MB. */
const MAX_ENTRIES = 20_000

type NewRead = Omit<ReadRow, 'id' | 'reads'>

function hourOf(now: number): number {
  return now - (now % HOUR_MS)
}

/** All reads of an owner for which there is no room are one gap, in the hour of the first. */
function gapOf({ owner_id, hour }: NewRead): NewRead {
  return { owner_id, hour, reader_id: 0, via: '', token_name: '', area: '', kind: '' }
}

function keyOf(row: NewRead): string {
  if (row.via === '') return String(row.owner_id)
  return `${row.owner_id} ${row.hour} ${row.reader_id} ${row.via} ${row.area} ${row.kind} ${row.token_name}`
}

/** Adds reads to those that are stored. Reads of removed accounts are dropped. */
async function writeReads(db: Kysely<Tables>, engine: Engine, reads: readonly Counted<NewRead>[]) {
  const values = reads.map(({ row, count }) => [...COLUMNS.map(column => row[column]), count])
  await sql`
    insert into read_log (${sql.join([...COLUMNS, 'reads'].map(column => sql.ref(column)))})
    select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), cast(value ->> 2 as bigint),
      value ->> 3, value ->> 4, value ->> 5, value ->> 6, cast(value ->> 7 as bigint)
    from ${jsonRows(engine, values)}
    where exists (select 1 from account where account.id = cast(value ->> 0 as bigint))
    on conflict (owner_id, hour, reader_id, via, token_name, area, kind)
      do update set reads = read_log.reads + excluded.reads`.execute(db)
}

const COLUMNS = ['owner_id', 'hour', 'reader_id', 'via', 'token_name', 'area', 'kind'] as const

/** Removes rows that are too old, here and in the log of events, once an hour. Returns the time of the last removal. */
async function clean(store: Store, days: number, cleanedAt: number): Promise<number> {
  const now = Date.now()
  // The clock may have been set back.
  if (Math.abs(now - cleanedAt) < HOUR_MS) return cleanedAt
  await store.db
    .deleteFrom('read_log')
    .where('hour', '<', now - days * DAY_MS)
    .execute()
  await pruneEvents(store, now)
  return now
}
