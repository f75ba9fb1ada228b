import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/**
 * Keeps a connection of a pool open, also after the server was away. By it, a command that needs the database for itself sees
 * that this process uses it, however long it has been idle.
 */
export function keepConnected(pool: pg.Pool) {
  let isConnecting = false
  const connect = async () => {
    if (isConnecting) return
    isConnecting = true
    while (!pool.ending && pool.totalCount === 0) {
      const client = await pool.connect().catch(() => undefined)
      client?.release()
      if (client === undefined) await sleep(RETRY_INTERVAL_MS, undefined, { ref: false })
    }
    isConnecting = false
  }
  pool.on('remove', () => void connect())
}

const RETRY_INTERVAL_MS = 1000
