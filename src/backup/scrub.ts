import { setTimeout as sleep } from 'node:timers/promises'
import { kinds } from '../archive/kinds.ts'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { isDamaged, nameOf } from './copy.ts'
import { readRows, readTables } from './tables.ts'

/** A stored record does not match its hash. */
class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError'
}

/**
 * Compares every record with its hash, slowly, once a day, until the signal is aborted: a disk does not
 * report bytes that it changed. Never rejects.
 */
export async function watchForDamage(store: Store, report: (error: unknown) => void, signal: AbortSignal) {
  while (!signal.aborted) {
    const startedAt = performance.now()
    try {
      await compareAll(store, report, signal)
    } catch (error) {
      if (!signal.aborted) report(error)
    }
    await pause(DAY_MS - (performance.now() - startedAt), signal)
  }
}

async function compareAll(store: Store, report: (error: unknown) => void, signal: AbortSignal) {
  const tables = await readTables()
  for (const { table: name } of kinds) {
    const table = tables.find(one => one.name === name)
    if (table?.columns.includes('document') !== true) continue
    for await (const rows of readRows(store.reads, table, ROWS_AT_ONCE)) {
      if (signal.aborted) return
      for (const row of rows) {
        if (isDamaged(row)) report(new DamagedRecordError(`${nameOf(table, row)} does not match its hash`))
      }
      await pause(PAUSE_MS, signal)
    }
  }
}

/** Few rows, so that requests do not wait. */
const ROWS_AT_ONCE = 10
const PAUSE_MS = 500

async function pause(ms: number, signal: AbortSignal) {
  await sleep(Math.max(0, ms), undefined, { signal, ref: false }).catch(() => {})
}
