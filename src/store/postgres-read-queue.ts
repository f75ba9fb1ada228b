import type pg from 'pg'
import { isConnectionLost, isInDoubt, isStatementLost } from './postgres-errors.ts'
import { connect } from './postgres-pool.ts'
import { type PreparedStatement, type Read, ReadBatch } from './postgres-read.ts'
import { StoreError } from './store.ts'

/**
 * Sends reads to a pool of connections. Short ones of one turn of the event loop are sent as a batch, in one write, and run one
 * after the other on one connection. That saves both sides most of their system calls. A read that finds no other under way is sent
 * at once.
 *
 * No read depends on the others of its batch. If one fails, those after it are sent again, one at a time. If the connection is lost,
 * all are sent again once, each alone. If results are late, each read that has none is sent again, alone, and the first result
 * counts. If a statement is not the one that was prepared, all are sent again without names, and so are all later ones.
 */
export class ReadQueue {
  readonly #pool: pg.Pool
  readonly #mayBatch: (statement: PreparedStatement) => boolean
  readonly #names: StatementNames
  /** The reads that the present turn of the event loop has collected. */
  #collected: Read[] = []
  /** How many reads have been sent and have no result. */
  #inFlight = 0

  constructor(pool: pg.Pool, mayBatch: (statement: PreparedStatement) => boolean, names: StatementNames) {
    this.#pool = pool
    this.#mayBatch = mayBatch
    this.#names = names
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
    let isResent = false
    const batch = new ReadBatch(reads, this.#names.areUsed, error => {
      hasEnded = true
      clearTimeout(timer)
      client.release(isInDoubt(error))
      this.#inFlight -= reads.length
      // Reads that run at the same time slow each other down.
      const milliseconds = (performance.now() - start) / load
      for (const { statement } of reads) statement.recordRun(milliseconds)
      if (error === null) return
      const isLost = batch.isNamed && isStatementLost(error)
      if (isLost) this.#names.giveUp(error)
      if (isResent) failAll(batch.unfinished, error)
      else if (isLost) this.#sendEach(batch.unfinished, isRetry)
      else this.#fail(batch.unfinished, error, isRetry)
    })
    client.query(batch)
    const resend = () => {
      if (hasEnded) return
      isResent = true
      for (const read of batch.unfinished) this.#repeat(read)
    }
    // The results may have arrived, and be read after the timers of this turn of the event loop.
    const timer = reads.length > 1 ? setTimeout(() => setImmediate(resend), RESEND_AFTER_MS) : undefined
  }

  #repeat(read: Read) {
    read.statement.recordSlowRun()
    read.repeat()
    void this.#send([read])
  }

  /** The first of the reads failed, and those after it did not run; if the connection was lost, none may have. */
  #fail(reads: readonly Read[], error: Error, isRetry: boolean) {
    const isLost = isConnectionLost(error) && !isRetry
    if (!isLost) reads[0]?.fail(error)
    this.#sendEach(isLost ? reads : reads.slice(1), isLost)
  }

  #sendEach(reads: readonly Read[], isRetry: boolean) {
    for (const read of reads) void this.#send([read], isRetry)
  }
}

/** Whether the statements of a process have names, and stay prepared. Some poolers lose or confuse those of their clients. */
export class StatementNames {
  areUsed = true
  readonly #onProblem: (problem: Error) => void

  constructor(onProblem: (problem: Error) => void) {
    this.#onProblem = onProblem
  }

  /** Does without names from now on. */
  giveUp(cause: Error) {
    if (!this.areUsed) return
    this.areUsed = false
    this.#onProblem(
      new StoreError('a pooler does not keep prepared statements: reads are prepared each time from now on', { cause }),
    )
  }
}

/** Ends a run of reads that have been sent again: that of the first with its error, those of the others without one. */
function failAll([first, ...others]: readonly Read[], error: Error) {
  first?.fail(error)
  for (const read of others) read.fail()
}

/** A pooler has to keep as many statements of each connection: see docs/postgresql.md. */
export const MAX_BATCH = 16
/** After this time the reads of a batch do not wait for one another any longer. */
const RESEND_AFTER_MS = 50
