import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/** A row to be written, and how often it was added. */
export interface Counted<Row> {
  readonly row: Row
  readonly count: number
}

/** What a tally adds up, and how it is written. */
interface TallyTable<Row> {
  /** What is counted, for messages. */
  readonly title: string
  readonly maxRows: number
  readonly intervalMs: number
  /** Of rows with the same key, the newest is kept. */
  keyOf(row: Row): string
  /** Where a row is counted for which there is no room. If it is missing, the row is lost. */
  beyond?(row: Row): Row
  /** Writes rows within a transaction. */
  write(db: Kysely<Tables>, rows: readonly Counted<Row>[]): Promise<void>
  /** Runs after rows were written, and as often if there are none. */
  afterwards?(): Promise<void>
}

/**
 * Adds rows up in memory and writes them in the background, so that no request waits for the write or fails with it. What cannot
 * be written is kept for the next time, up to a number of rows.
 */
export class Tally<Row> {
  readonly #store: Store
  readonly #table: TallyTable<Row>
  readonly #onFailure: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  readonly #rows = new Map<string, { row: Row; count: number }>()
  #lost = 0
  #running: Promise<void> | undefined

  constructor(store: Store, table: TallyTable<Row>, onFailure: (error: unknown) => void) {
    this.#store = store
    this.#table = table
    this.#onFailure = onFailure
    this.#timer = setInterval(() => {
      this.#running ??= this.#flush().finally(() => (this.#running = undefined))
    }, table.intervalMs).unref()
  }

  add(row: Row) {
    const { keyOf, maxRows, beyond } = this.#table
    const key = keyOf(row)
    const known = this.#rows.get(key)
    if (known !== undefined) {
      known.row = row
      known.count += 1
    } else if (this.#rows.size < maxRows) this.#rows.set(key, { row, count: 1 })
    else if (beyond === undefined) this.#lost += 1
    else {
      const other = beyond(row)
      this.#rows.getOrInsertComputed(keyOf(other), () => ({ row: other, count: 0 })).count += 1
    }
  }

  /** Writes what is pending and stops. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
    await this.#flush()
    for (const { count } of this.#rows.values()) this.#lost += count
    this.#reportLost()
  }

  async #flush() {
    this.#reportLost()
    try {
      await this.#write()
      await this.#table.afterwards?.()
    } catch (error) {
      this.#onFailure(error)
    }
  }

  async #write() {
    // The same order in every process, so that two of them cannot deadlock.
    const all = [...this.#rows].toSorted(([a], [b]) => (a < b ? -1 : 1))
    for (let start = 0; start < all.length; start += MAX_BATCH_ROWS) {
      const batch = new Map(all.slice(start, start + MAX_BATCH_ROWS).map(([key, counted]) => [key, { ...counted }]))
      await this.#store.db.transaction().execute(db => this.#table.write(db, [...batch.values()]))
      this.#subtract(batch)
      await nextTurn()
    }
  }

  #subtract(batch: ReadonlyMap<string, Counted<Row>>) {
    for (const [key, { count }] of batch) {
      const known = this.#rows.get(key)
      if (known === undefined) continue
      known.count -= count
      if (known.count === 0) this.#rows.delete(key)
    }
  }

  #reportLost() {
    if (this.#lost === 0) return
    this.#onFailure(new Error(`${this.#lost} ${this.#table.title} could not be written, and are lost`))
    this.#lost = 0
  }
}

/** Other writers can write between two batches. */
const MAX_BATCH_ROWS = 1000
