import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { PrimaryHealth } from './store.ts'

/**
 * Tells a server that is gone (it refuses or ends connections, is starting or stopping, or is silent) from one that is
 * only slow, busy or unwilling. It is asked on a connection of its own, or a pool in full use would look like silence.
 * Once it is gone it is asked again and again, so that its return is noticed within a second.
 */
export function watchPrimary(pool: pg.Pool): PrimaryHealth & { close(): Promise<void> } {
  const ending = new AbortController()
  let asking: Promise<boolean> | undefined
  let lost = false

  const waitForReturn = async () => {
    while (lost) {
      await sleep(ASK_AGAIN, undefined, { ref: false, signal: ending.signal }).catch(() => {})
      if (ending.signal.aborted) return
      lost = !(await isThere(pool))
    }
  }
  let waiting = Promise.resolve()

  const ask = async () => {
    // A connection can be lost, or an answer be late, where nothing is wrong with the server: a second one tells.
    lost = !(await isThere(pool)) && !(await isThere(pool))
    if (lost) waiting = waitForReturn()
    return lost
  }

  return {
    get lost() {
      return lost
    },
    async isLost() {
      if (lost) return true
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
    async close() {
      ending.abort()
      await asking
      await waiting
      await pool.end()
    },
  }
}

const ASK_AGAIN = 100

/** Whether a server is there, whatever it says. */
async function isThere(pool: pg.Pool): Promise<boolean> {
  try {
    await pool.query('select 1')
    return true
  } catch (error) {
    return error instanceof pg.DatabaseError && !GOING.test(error.code ?? '')
  }
}

// Connection trouble, which a pooler has with the server behind it; shut down, crashed, starting up.
const GOING = /^(08...|57P0[123])$/
