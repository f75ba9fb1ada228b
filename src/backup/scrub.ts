import { setTimeout as sleep } from 'node:timers/promises'
import { HOUR_MS } from '../contract/time.ts'
import { kinds } from '../archive/kinds.ts'
import type { Store } from '../store/index.ts'
import { addNote } from '../store/notes.ts'
import { isDamaged, recordLabel } from './copy.ts'
import { readRows, readTables } from './tables.ts'

/** A stored record does not match its hash. */
class DamagedRecordError extends Error {
  override readonly name = 'DamagedRecordError'
}

/**
 * Compares every record with its hash, slowly, once a day, until the signal is aborted: a disk does not report bytes that it
 * changed. Of all processes that share the database, one does it. Never rejects.
 */
export async function watchForDamage(store: Store, report: (error: unknown) => void, signal: AbortSignal) {
  while (!signal.aborted) {
    try {
      if (await claimDay(store, Date.now())) await compareAll(store, report, signal)
    } catch (error) {
      if (!signal.aborted) report(error)
    }
    await pause(HOUR_MS, signal)
  }
}

/** Whether no process has begun to compare the records on this day; then this one does. */
async function claimDay({ db, engine }: Store, now: number): Promise<boolean> {
  const name = `${COMPARED_NOTE} ${new Date(now).toISOString().slice(0, 10)}`
  if (!(await addNote(db, name, ''))) return false
  // On PostgreSQL the role of the service may only add notes: a short one stays for each day.
  if (engine === 'sqlite') {
    await db.deleteFrom('note').where('name', 'like', `${COMPARED_NOTE} %`).where('name', '!=', name).execute()
  }
  return true
}

const COMPARED_NOTE = 'records compared on'
async function compareAll(store: Store, report: (error: unknown) => void, signal: AbortSignal) {
  const tables = await readTables()
  for (const { table: name } of kinds) {
    const table = tables.find(one => one.name === name)
    if (table?.columns.includes('document') !== true) continue
    for await (const rows of readRows(store.reads, table, ROWS_AT_ONCE)) {
      if (signal.aborted) return
      for (const row of rows) {
        if (isDamaged(row)) report(new DamagedRecordError(`${recordLabel(table, row)} does not match its hash`))
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
