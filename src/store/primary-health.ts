import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type PrimaryHealth, StoreError } from './store.ts'

/**
 * Tells a server that is down (it refuses or ends connections, is starting or stopping, or does not respond) from one
 * that is slow, busy or refuses a statement. It is probed on a connection of its own, because a pool in full use would
 * look like a server that does not respond. While it is down, one probe follows the other, so that its return is noticed
 * within a second. That it is down, or is back, is reported.
 */
export function watchPrimary(
  pool: pg.Pool,
  report: (problem: Error) => void = () => {},
): PrimaryHealth & { close(): Promise<void> } {
  const closing = new AbortController()
  let probing: Promise<boolean> | undefined
  let isDown = false

  const waitUntilUp = async () => {
    while (isDown) {
      await sleep(RETRY_INTERVAL_MS, undefined, { ref: false, signal: closing.signal }).catch(() => {})
      if (closing.signal.aborted) return
      isDown = !(await responds(pool))
    }
    report(new StoreError('the primary database responds again'))
  }
  let waiting = Promise.resolve()

  const probe = async () => {
    // One connection can be lost, or one response late, on a healthy server, so it takes two failures.
    isDown = !(await responds(pool)) && !(await responds(pool))
    if (isDown) {
      report(
        new StoreError(
          'the primary database does not respond: replicas are read meanwhile, and nothing can be changed',
        ),
      )
      waiting = waitUntilUp()
    }
    return isDown
  }

  return {
    get isDown() {
      return isDown
    },
    async checkIsDown() {
      if (isDown) return true
      probing ??= probe().finally(() => {
        probing = undefined
      })
      return probing
    },
    async close() {
      closing.abort()
      await probing
      await waiting
      await pool.end()
    },
  }
}

const RETRY_INTERVAL_MS = 100

/** Whether the server responds at all; an error of a statement is a response too. */
async function responds(pool: pg.Pool): Promise<boolean> {
  try {
    await pool.query('select 1')
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError && !DOWN.test(error.code ?? '')
  }
}

// Connection errors, which a pooler reports for the server behind it; shut down, crashed, starting up.
const DOWN = /^(08...|57P0[123])$/
