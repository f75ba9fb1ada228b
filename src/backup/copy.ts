import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { etagOf } from '../archive/kind.ts'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { insertRows } from '../store/insert-rows.ts'
import { lastNumber, readRows, type Row, setLastNumber, type Table } from './tables.ts'

type Progress = (table: string, rows: number) => void

export interface Watching {
  readonly signal?: AbortSignal | undefined
  readonly progress?: Progress | undefined
}

interface Side {
  readonly db: Kysely<Tables>
  readonly engine: Engine
}

/** Copies all rows of all tables into empty ones. Returns their numbers, and the names of the first records whose content does not match its hash. */
export async function copyRows(tables: readonly Table[], from: Side, to: Side, { signal, progress }: Watching = {}) {
  const counts: Record<string, number> = {}
  const damaged: string[] = []
  for (const table of tables) {
    let count = 0
    for await (const rows of readRows(from.db, table)) {
      await insertRows(
        to,
        table,
        rows.map(row => table.columns.map(column => row[column] ?? null)),
      )
      count += rows.length
      for (const { id, owner_id: owner } of damaged.length < MAX_NAMED ? rows.filter(isDamaged) : [])
        damaged.push(`${table.name.replace('_', ' ')} ${id}${owner === undefined ? '' : ` of account ${owner}`}`)
      progress?.(table.name, count)
      // Reads from SQLite are synchronous, and no signal arrives within a turn of the event loop.
      await nextTurn()
      signal?.throwIfAborted()
    }
    counts[table.name] = count
    if (table.isNumbered) await setLastNumber(to.db, to.engine, table, await lastNumber(from.db, from.engine, table))
  }
  return { rows: counts, damaged }
}

const MAX_NAMED = 10

export function isDamaged({ document, etag }: Row): boolean {
  return typeof document === 'string' && etag !== etagOf(document)
}
