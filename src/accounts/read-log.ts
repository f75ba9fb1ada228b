import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from '../vendor/kysely.js'
import { type Area, areas } from '../contract/areas.ts'
import { type ReadKind, readKinds, type ReadWay } from '../contract/reads.ts'
import { DAY_MS } from '../contract/time.ts'
import { type Engine, jsonRows, type Store } from '../store/index.ts'
import { transactionId, wasCommitted } from '../store/transaction-outcome.ts'
import { pruneEvents } from './events.ts'
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
  readonly accountId: number
  readonly via: ReadWay
  /** 0 if the reader uses no API key. */
  readonly keyId: number
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
  let counts = new ReadCounts(maxEntries)
  const pending = new PendingReads(maxEntries)
  let unanswered: Batch | undefined
  let cleanedAt = 0
  let running = Promise.resolve()
  let isWriting = false

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
    for (const row of counts.rows()) pending.add(row)
    counts = new ReadCounts(maxEntries)
    try {
      await write()
      cleanedAt = await clean(store, days, cleanedAt)
    } catch (error) {
      // Retried with the next flush.
      onFailure(error)
    }
  }
  const flushInTurn = () => {
    isWriting = true
    running = running.then(flush).then(() => {
      isWriting = false
    })
    return running
  }
  const timer = setInterval(() => void flushInTurn(), flushIntervalMs)
  timer.unref()

  return {
    record(reader, ownerId, area, kind, now) {
      counts.add(reader, ownerId, COMBINATIONS[area][kind], hourOf(now))
      // Reads that could not be written wait for the next minute.
      if (counts.isFull && !isWriting && pending.isEmpty) void flushInTurn()
    },
    async close() {
      clearInterval(timer)
      await flushInTurn()
      const lost = pending.count()
      if (lost > 0) onFailure(new Error(`${lost} reads could not be written to the log of reads, and are lost`))
    },
  }
}

/** Counts in memory. A read costs a few look-ups by numbers, which are much cheaper than by texts. */
class ReadCounts {
  readonly #maxEntries: number
  #entries = 0
  #hour = NaN
  #readers = new Map<number, ReaderCounts>()
  readonly #hours = new Map<number, Map<number, ReaderCounts>>()
  /** Reads beyond the limit, by owner, from the hour of the first of them on. */
  readonly #gaps = new Map<number, { readonly hour: number; reads: number }>()

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries
  }

  /** `combination` is the index of area and kind. */
  add(reader: Reader, ownerId: number, combination: number, hour: number) {
    if (hour !== this.#hour) {
      this.#hour = hour
      this.#readers = this.#hours.getOrInsertComputed(hour, () => new Map())
    }
    const key = reader.keyId === 0 ? -reader.accountId : reader.keyId
    const counts = this.#readers.get(key)?.owners.get(ownerId) ?? this.#makeCounts(key, reader, ownerId)
    if (counts === undefined) this.#gaps.getOrInsertComputed(ownerId, () => ({ hour, reads: 0 })).reads += 1
    else counts[combination] = (counts[combination] ?? 0) + 1
  }

  get isFull(): boolean {
    return this.#entries >= this.#maxEntries
  }

  *rows(): Generator<NewRead> {
    for (const [hour, readers] of this.#hours) {
      for (const { reader, owners } of readers.values()) {
        for (const [ownerId, counts] of owners) {
          for (const [index, { area, kind }] of AREAS_AND_KINDS.entries()) {
            const reads = counts[index] ?? 0
            if (reads > 0) yield { ...readerColumns(reader, ownerId, hour), area, kind, reads }
          }
        }
      }
    }
    for (const [ownerId, { hour, reads }] of this.#gaps) yield gapOf(ownerId, hour, reads)
  }

  #makeCounts(key: number, reader: Reader, ownerId: number): number[] | undefined {
    if (this.#entries >= this.#maxEntries) return undefined
    this.#entries += 1
    const counts = AREAS_AND_KINDS.map(() => 0)
    this.#readers.getOrInsertComputed(key, () => ({ reader, owners: new Map() })).owners.set(ownerId, counts)
    return counts
  }
}

interface ReaderCounts {
  readonly reader: Reader
  /** Counts for each area and kind, by owner. */
  readonly owners: Map<number, number[]>
}

/** Rows that are not written yet. */
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
    if (known !== undefined) this.#rows.set(key, { ...row, reads: known.reads + row.reads })
    else if (this.#rows.size < this.#maxEntries || isGap(row)) this.#rows.set(key, row)
    else this.#addGap(row)
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0
  }

  /** The same order in every process, so that two of them cannot deadlock. */
  inOrder(): NewRead[] {
    return [...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  }

  /** Subtracts reads that are written. */
  subtract(rows: readonly NewRead[]) {
    for (const row of rows) {
      const key = keyOf(row)
      const reads = (this.#rows.get(key)?.reads ?? 0) - row.reads
      if (reads > 0) this.#rows.set(key, { ...row, reads })
      else this.#rows.delete(key)
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
    this.add(gapOf(ownerId, start, reads))
  }
}

/** Records, without collecting first, that the operator exports the records of an account. */
export async function writeOperatorExport(store: Store, ownerId: number, now: number): Promise<void> {
  const read = { owner_id: ownerId, hour: hourOf(now), reader_id: 0, via: 'operator', token_name: '', kind: 'export' }
  await writeReads(
    store.db,
    store.engine,
    areas.map(area => ({ ...read, area, reads: 1 })),
  )
}

const AREAS_AND_KINDS = areas.flatMap(area => readKinds.map(kind => ({ area, kind })))

function combinationsOf(area: Area): Readonly<Record<ReadKind, number>> {
  const indexOf = (kind: ReadKind) => AREAS_AND_KINDS.findIndex(one => one.area === area && one.kind === kind)
  return {
    list: indexOf('list'),
    record: indexOf('record'),
    statistics: indexOf('statistics'),
    export: indexOf('export'),
  }
}

/** The index of each area and kind. */
const COMBINATIONS = { lkbx: combinationsOf('lkbx'), dtt: combinationsOf('dtt') }

const HOUR_MS = 3_600_000
const FLUSH_INTERVAL_MS = 60_000

/** How many entries are kept while they cannot be written: about 3 MB. */
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

function readerColumns({ accountId, via, keyName }: Reader, ownerId: number, hour: number) {
  return { owner_id: ownerId, hour, reader_id: accountId, via, token_name: keyName }
}

function gapOf(ownerId: number, hour: number, reads: number): NewRead {
  return { owner_id: ownerId, hour, reader_id: 0, via: '', token_name: '', area: '', kind: '', reads }
}

function keyOf(row: NewRead): string {
  return [row.owner_id, row.hour, row.reader_id, row.via, row.area, row.kind, row.token_name].join(' ')
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
