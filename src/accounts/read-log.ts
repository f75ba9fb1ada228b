import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { type Area, areas } from '../contract/areas.ts'
import type { ReadKind, ReadWay } from '../contract/reads.ts'
import { DAY_MS, HOUR_MS } from '../contract/time.ts'
import { type Engine, jsonRows, type Store } from '../store/index.ts'
import { transactionId, wasCommitted } from '../store/transaction.ts'
import { OPERATOR, pruneEvents, recordEvent } from './events.ts'
import type { ReadRow, Tables } from '../store/tables.ts'

export interface ReadLog {
  /** Counts a read of the records of an owner; written later. */
  record(reader: Reader, ownerId: number, area: Area, kind: ReadKind, now: number): void
  /** Writes what is pending and stops. */
  close(): Promise<void>
}

interface Reader {
  readonly accountId: number
  readonly via: ReadWay
  /** Empty if the reader uses no API key. */
  readonly keyName: string
}

interface ReadLogOptions {
  /** How many days reads are kept. */
  readonly days: number
  readonly onFailure: (error: unknown) => void
  readonly flushIntervalMs?: number
  readonly maxEntries?: number
}

/**
 * Collects reads in memory and writes them each minute, or earlier if they are many, so that no request waits for the write or
 * fails with it. While they cannot be written they are kept, up to a number of rows; beyond that only the number of reads is
 * kept, for each owner.
 */
export function makeReadLog(store: Store, options: ReadLogOptions): ReadLog {
  const { days, onFailure, flushIntervalMs = FLUSH_INTERVAL_MS, maxEntries = MAX_ENTRIES } = options
  const pending = new PendingReads(maxEntries)
  let unanswered: Batch | undefined
  let cleanedAt = 0
  let running = Promise.resolve()
  let isWriting = false
  let hasFailed = false

  const write = async () => {
    if (unanswered !== undefined && (await wasCommitted(store.db, unanswered.transaction))) {
      pending.subtract(unanswered.rows)
    }
    unanswered = undefined
    const rows = pending.inOrder()
    for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
      const some = rows.slice(start, start + ROWS_AT_ONCE)
      await writeBatch(store, some, transaction => (unanswered = { transaction, rows: some }))
      unanswered = undefined
      pending.subtract(some)
      await nextTurn()
    }
  }
  const flush = async () => {
    try {
      await write()
      cleanedAt = await clean(store, days, cleanedAt)
      hasFailed = false
    } catch (error) {
      // Retried after the next minute.
      hasFailed = true
      onFailure(error)
    }
  }
  const flushInTurn = () => {
    isWriting = true
    running = running.then(flush).then(() => {
      isWriting = false
      flushIfMany()
    })
    return running
  }
  const flushIfMany = () => {
    if (pending.areMany && !isWriting && !hasFailed) void flushInTurn()
  }
  const timer = setInterval(() => void flushInTurn(), flushIntervalMs)
  timer.unref()

  return {
    record({ accountId, via, keyName }, ownerId, area, kind, now) {
      const reader = { owner_id: ownerId, hour: hourOf(now), reader_id: accountId, via, token_name: keyName }
      pending.add({ ...reader, area, kind, reads: 1 })
      flushIfMany()
    },
    async close() {
      clearInterval(timer)
      await flushInTurn()
      const lost = pending.count()
      if (lost > 0) onFailure(new Error(`${lost} reads could not be written to the log of reads, and are lost`))
    },
  }
}

class PendingReads {
  readonly #maxEntries: number
  readonly #rows = new Map<string, NewRead>()
  readonly #gapHours = new Map<number, number>()

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  add(row: NewRead) {
    const key = keyOf(row)
    const known = this.#rows.get(key)
    if (known !== undefined) known.reads += row.reads
    else if (this.#rows.size < this.#maxEntries || isGap(row)) this.#rows.set(key, row)
    else this.#addGap(row)
  }

  /** Whether they take half of the room: the other half is for those that come while they are written. */
  get areMany(): boolean {
    return this.#rows.size >= this.#maxEntries / 2
  }

  /** Copies in the same order in every process, so that two of them cannot deadlock. */
  inOrder(): NewRead[] {
    return [...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => ({ ...row }))
  }

  subtract(rows: readonly NewRead[]) {
    for (const row of rows) {
      const key = keyOf(row)
      const known = this.#rows.get(key)
      if (known === undefined) continue
      known.reads -= row.reads
      if (known.reads === 0) this.#rows.delete(key)
    }
    if (this.#rows.size === 0) this.#gapHours.clear()
  }

  /** How many reads are not written yet. */
  count(): number {
    return this.#rows.values().reduce((sum, { reads }) => sum + reads, 0)
  }

  /** All reads of an owner beyond the limit are one gap, in the hour of the first. */
  #addGap({ owner_id: ownerId, hour, reads }: NewRead) {
    const start = this.#gapHours.getOrInsertComputed(ownerId, () => hour)
    this.add({ owner_id: ownerId, hour: start, reader_id: 0, via: '', token_name: '', area: '', kind: '', reads })
  }
}

/** Records, without collecting first, that the operator exports the records of an account: as a read of others, and as an event. */
export async function recordOperatorExport(store: Store, ownerId: number): Promise<void> {
  const now = Date.now()
  const read = { owner_id: ownerId, hour: hourOf(now), reader_id: 0, via: 'operator', token_name: '', kind: 'export' }
  await writeReads(
    store.db,
    store.engine,
    areas.map(area => ({ ...read, area, reads: 1 })),
  )
  await recordEvent(store.db, { accountId: ownerId, kind: 'exported', now, actor: OPERATOR })
}

const FLUSH_INTERVAL_MS = 60_000

/** How many rows wait to be written: about 6 MB. */
const MAX_ENTRIES = 20_000

type NewRead = Omit<ReadRow, 'id'>

function hourOf(now: number): number {
  return now - (now % HOUR_MS)
}

function keyOf(row: NewRead): string {
  return `${row.owner_id} ${row.hour} ${row.reader_id} ${row.via} ${row.area} ${row.kind} ${row.token_name}`
}

function isGap({ via }: NewRead): boolean {
  return via === ''
}

const ROWS_AT_ONCE = 1000

/** Rows whose transaction began, and may have been committed although its connection was lost. */
interface Batch {
  readonly transaction: string
  readonly rows: readonly NewRead[]
}

/** Writes rows in one transaction. On PostgreSQL, `onBegin` gets its identifier. */
async function writeBatch(store: Store, rows: readonly NewRead[], onBegin: (transaction: string) => void) {
  if (store.engine === 'sqlite') return writeReads(store.db, store.engine, rows)
  await store.db.transaction().execute(async db => {
    onBegin(await transactionId(db))
    await writeReads(db, store.engine, rows)
  })
}

/** Adds reads to those that are stored. Reads of removed accounts are dropped. */
async function writeReads(db: Kysely<Tables>, engine: Engine, rows: readonly NewRead[]) {
  const values = rows.map(row => COLUMNS.map(column => row[column]))
  await sql`
    insert into read_log (${sql.join(COLUMNS.map(column => sql.ref(column)))})
    select cast(value ->> 0 as bigint), cast(value ->> 1 as bigint), cast(value ->> 2 as bigint),
      value ->> 3, value ->> 4, value ->> 5, value ->> 6, cast(value ->> 7 as bigint)
    from ${jsonRows(engine, values)}
    where exists (select 1 from account where account.id = cast(value ->> 0 as bigint))
    on conflict (owner_id, hour, reader_id, via, token_name, area, kind)
      do update set reads = read_log.reads + excluded.reads`.execute(db)
}

const COLUMNS = ['owner_id', 'hour', 'reader_id', 'via', 'token_name', 'area', 'kind', 'reads'] as const

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
