import type pg from 'pg'
import { isConnectionLost, isInDoubt } from './postgres-errors.ts'
import { connect } from './postgres-pool.ts'
import { type PreparedStatement, type Read, ReadBatch } from './postgres-read.ts'

/**
 * Sends reads to a pool of connections. Short ones of one turn of the event loop go together, in one write, and run one after
 * the other on one connection: that saves both sides most of their system calls. A read alone is sent at once.
 *
 * No read depends on those it was sent with. If one fails, those after it are sent again, alone; so is each if the connection was
 * lost, once. If the results do not come soon, each that has none is sent again, alone, and has the result that comes first.
 */
export class ReadQueue {
  readonly #pool: pg.Pool
  readonly #mayBatch: (statement: PreparedStatement) => boolean
  /** What the present turn of the event loop has collected. */
  #collected: Read[] = []
  /** How many reads have been sent and have no result. */
  #inFlight = 0

  constructor(pool: pg.Pool, mayBatch: (statement: PreparedStatement) => boolean) {
    this.#pool = pool
    this.#mayBatch = mayBatch
  }

  add(read: Read) {
    if (this.#inFlight === 0 || !this.#mayBatch(read.statement)) return void this.#send([read])
    if (this.#collected.length === 0) setImmediate(() => this.#flush())
    this.#collected.push(read)
    if (this.#collected.length === MAX_BATCH) this.#flush()
  }

  #flush() {
    const reads = this.#collected
    this.#collected = []
    if (reads.length > 0) void this.#send(reads)
  }

  async #send(reads: readonly Read[], isRetry = false) {
    this.#inFlight += reads.length
    let client: pg.PoolClient | undefined
    try {
      client = await connect(this.#pool)
      this.#run(client, reads, isRetry)
    } catch (error) {
      client?.release(true)
      this.#inFlight -= reads.length
      for (const read of reads) read.fail(error)
    }
  }

  #run(client: pg.PoolClient, reads: readonly Read[], isRetry: boolean) {
    const [start, load] = [performance.now(), this.#inFlight]
    let hasEnded = false
    let isSpread = false
    const batch = new ReadBatch(reads, error => {
      hasEnded = true
      clearTimeout(timer)
      client.release(isInDoubt(error))
      this.#inFlight -= reads.length
      // Those that run at the same time make each other slower.
      const milliseconds = (performance.now() - start) / load
      for (const { statement } of reads) statement.took(milliseconds)
      if (error === null) return
      if (isSpread) failAll(batch.unfinished, error)
      else this.#fail(batch.unfinished, error, isRetry)
    })
    client.query(batch)
    const spread = () => {
      if (hasEnded) return
      isSpread = true
      for (const read of batch.unfinished) this.#repeat(read)
    }
    // The results may be here already.
    const timer = reads.length > 1 ? setTimeout(() => setImmediate(spread), SPREAD_AFTER_MS) : undefined
  }

  #repeat(read: Read) {
    read.statement.tookLong()
    read.repeat()
    void this.#send([read])
  }

  /** The first of the reads failed, and those after it did not run; if the connection was lost, none may have. */
  #fail(reads: readonly Read[], error: Error, isRetry: boolean) {
    const isLost = isConnectionLost(error) && !isRetry
    if (!isLost) reads[0]?.fail(error)
    for (const read of isLost ? reads : reads.slice(1)) void this.#send([read], isLost)
  }
}

/** Of reads that were sent again. */
function failAll([first, ...others]: readonly Read[], error: Error) {
  first?.fail(error)
  for (const read of others) read.fail()
}

const MAX_BATCH = 16
/** After this time reads that were sent together do not wait for one another any longer. */
const SPREAD_AFTER_MS = 50
