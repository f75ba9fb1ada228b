import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { type Area, areas } from '../contract/areas.ts'
import type { ReadKind, ReadWay } from '../contract/reads.ts'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/** Counts who read whose records. */
export interface ReadLog {
  /** Counts a read of the records of an owner; written later. */
  record(reader: Reader, ownerId: number, area: Area, kind: ReadKind, now: number): void
  /** Writes what is pending and stops. */
  close(): Promise<void>
}

/** Who reads, and how. */
interface Reader {
  /** 0 for the operator. */
  readonly accountId: number
  readonly via: ReadWay
  /** Empty if the reader used no token. */
  readonly tokenName: string
}

interface ReadLogOptions {
  /** How many days reads are kept. */
  readonly days: number
  readonly onFailure: (error: unknown) => void
  readonly flushIntervalMs?: number
  readonly maxEntries?: number
}

/**
 * Gathers reads in memory and writes them each minute, so that no request waits for it or fails with it. While they cannot be
 * written they are kept, up to a number of combinations of reader, owner and the rest; beyond that only how many there were
 * is kept for each owner, and written without the rest.
 */
export function makeReadLog(store: Store, options: ReadLogOptions): ReadLog {
  const { days, onFailure, flushIntervalMs = FLUSH_INTERVAL_MS, maxEntries = MAX_ENTRIES } = options
  /** Counts by key; a key has all that a row has. */
  let counts = new Map<string, number>()
  /** Reads beyond the limit, by owner, from the hour of the first of them on. */
  let gaps = new Map<number, { readonly hour: number; readonly reads: number }>()
  let cleanedAt = 0
  let running = Promise.resolve()

  const add = (key: string, ownerId: number, hour: number, reads: number) => {
    const known = counts.get(key)
    if (known !== undefined) counts.set(key, known + reads)
    else if (counts.size < maxEntries) counts.set(key, reads)
    else {
      const gap = gaps.get(ownerId)
      gaps.set(ownerId, { hour: gap?.hour ?? hour, reads: (gap?.reads ?? 0) + reads })
    }
  }

  const flush = async () => {
    const pending = [...counts].map(([key, reads]) => rowOf(key, reads))
    for (const [ownerId, { hour, reads }] of gaps) pending.push(gapOf(ownerId, hour, reads))
    counts = new Map()
    gaps = new Map()
    try {
      // The same order in every process, so that two of them cannot deadlock.
      pending.sort(byKey)
      while (pending.length > 0) {
        await writeReads(store.db, pending.slice(0, ROWS_AT_ONCE))
        pending.splice(0, ROWS_AT_ONCE)
        await nextTurn()
      }
      cleanedAt = await clean(store, days, cleanedAt)
    } catch (error) {
      onFailure(error)
      // Retried with the next flush.
      for (const row of pending) add(keyOf(row), row.owner_id, row.hour, row.reads)
    }
  }
  const flushInTurn = () => {
    running = running.then(flush)
    return running
  }
  const timer = setInterval(() => void flushInTurn(), flushIntervalMs)
  timer.unref()

  return {
    record({ accountId, via, tokenName }, ownerId, area, kind, now) {
      const hour = hourOf(now)
      add(`${ownerId} ${hour} ${accountId} ${via} ${area} ${kind} ${tokenName}`, ownerId, hour, 1)
    },
    async close() {
      clearInterval(timer)
      await flushInTurn()
    },
  }
}

/** Counts at once that the operator exports the records of an account. */
export async function writeOperatorExport(store: Store, ownerId: number, now: number): Promise<void> {
  const read = { owner_id: ownerId, hour: hourOf(now), reader_id: 0, via: 'operator', token_name: '', kind: 'export' }
  await writeReads(
    store.db,
    areas.map(area => ({ ...read, area, reads: 1 })),
  )
}

const HOUR_MS = 3_600_000
const FLUSH_INTERVAL_MS = 60_000

/** What is kept while it cannot be written: about 3 MB. */
const MAX_ENTRIES = 10_000

/** A row of the log before it is stored. */
interface NewRead {
  readonly owner_id: number
  readonly hour: number
  readonly reader_id: number
  readonly via: string
  readonly token_name: string
  readonly area: string
  readonly kind: string
  readonly reads: number
}

function hourOf(now: number): number {
  return now - (now % HOUR_MS)
}

/** The name of a token comes last, because it may contain spaces. */
function rowOf(key: string, reads: number): NewRead {
  const [owner, hour, reader, via = '', area = '', kind = '', ...name] = key.split(' ')
  const ids = { owner_id: Number(owner), hour: Number(hour), reader_id: Number(reader) }
  return { ...ids, via, area, kind, token_name: name.join(' '), reads }
}

function gapOf(ownerId: number, hour: number, reads: number): NewRead {
  return { owner_id: ownerId, hour, reader_id: 0, via: '', token_name: '', area: '', kind: '', reads }
}

function keyOf(row: NewRead): string {
  return [row.owner_id, row.hour, row.reader_id, row.via, row.area, row.kind, row.token_name].join(' ')
}

function byKey(some: NewRead, other: NewRead): number {
  const [key, otherKey] = [keyOf(some), keyOf(other)]
  if (key === otherKey) return 0
  return key < otherKey ? -1 : 1
}

const ROWS_AT_ONCE = 100

/** Adds reads to those that are stored. Reads of accounts that are not there any more are dropped. */
async function writeReads(db: Kysely<Tables>, rows: readonly NewRead[]) {
  const values = rows.map(
    row => sql`(cast(${row.owner_id} as bigint), cast(${row.hour} as bigint), cast(${row.reader_id} as bigint), ${row.via},
      ${row.token_name}, ${row.area}, ${row.kind}, cast(${row.reads} as bigint))`,
  )
  // Columns of a list of values have these names on every engine.
  await sql`
    insert into read_log (owner_id, hour, reader_id, via, token_name, area, kind, reads)
    select column1, column2, column3, column4, column5, column6, column7, column8 from (values ${sql.join(values)}) as counted
    where exists (select 1 from account where account.id = counted.column1)
    on conflict (owner_id, hour, reader_id, via, token_name, area, kind)
      do update set reads = read_log.reads + excluded.reads`.execute(db)
}

/** Removes rows that are older than they are to be kept, once an hour. Returns when it did so last. */
async function clean({ db }: Store, days: number, cleanedAt: number): Promise<number> {
  const now = Date.now()
  if (now - cleanedAt < HOUR_MS) return cleanedAt
  await db
    .deleteFrom('read_log')
    .where('hour', '<', now - days * DAY_MS)
    .execute()
  return now
}
