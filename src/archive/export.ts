import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, type RawBuilder, sql } from '../vendor/kysely.js'
import type { Engine, Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { endLine } from './end-line.ts'
import type { Cell, Kind, Row } from './kind.ts'
import { kinds } from './kinds.ts'
import { writeLine } from './records.ts'
import { snapshotOfRecords } from './unfinished-import.ts'

type Write = (text: string) => Promise<void>

/**
 * Writes the records of the store as an archive: kinds in their order, rows by identifier, all as they stand at one
 * moment, and the line that ends it. With an account, only that account and its own rows, so that the archive can be
 * imported alone. Other work of the process runs between the parts.
 */
export async function exportArchive(store: Store, write: Write, accountId?: number): Promise<void> {
  await snapshotOfRecords(store, async db => {
    let lines = 0
    for (const kind of kinds) {
      for await (const rows of accountId === undefined
        ? allRows(db, kind)
        : rowsOf(db, store.engine, kind, accountId)) {
        if (rows.length === 0) continue
        lines += rows.length
        await write(rows.map(row => `${writeLine(kind, row)}\n`).join(''))
        await nextTurn()
      }
    }
    await write(`${endLine(lines)}\n`)
  })
}

/** The same, part by part. A reader that stops early ends the export. */
export async function* archiveParts(store: Store, accountId?: number): AsyncGenerator<string> {
  // A part is written when the one before it was read.
  const { readable, writable } = new TransformStream<string, string>()
  const writer = writable.getWriter()
  const written = exportArchive(store, text => writer.write(text), accountId).then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  )
  try {
    yield* readable
  } finally {
    await written.catch(() => {})
  }
}

async function* allRows(db: Kysely<Tables>, kind: Kind): AsyncGenerator<readonly Row[]> {
  const key = sql.raw(kind.key.join(', '))
  const size = new BatchSize()
  let after: Row | undefined
  for (;;) {
    const start = after === undefined ? sql`` : sql`where (${key}) > (${sql.join(cellsOf(after, kind.key))})`
    const rows = await selectRows(db, kind, sql`${start} order by ${key} limit ${size.rows}`)
    const isLast = rows.length < size.rows
    size.adapt(rows)
    yield rows
    if (isLast) return
    after = rows.at(-1)
  }
}

/** Ordered by identifier. No index of SQLite has the rows of an owner in this order, so the identifiers are read first. */
async function* rowsOf(
  db: Kysely<Tables>,
  engine: Engine,
  kind: Kind,
  accountId: number,
): AsyncGenerator<readonly Row[]> {
  // Who may read the account is not among its own rows.
  if (kind.name === 'partnership') return
  if (!kind.isOwned) {
    yield await selectRows(db, kind, sql`where id = ${accountId}`)
    return
  }
  const ids = await readIds(db, kind, accountId)
  // The plus makes SQLite find rows by identifier; without it, SQLite reads and sorts all rows of the owner.
  const isOwn = engine === 'sqlite' ? sql`+owner_id = ${accountId}` : sql`owner_id = ${accountId}`
  const size = new BatchSize()
  for (let start = 0; start < ids.length;) {
    const batch = ids.slice(start, start + size.rows)
    start += batch.length
    const rows = await selectRows(db, kind, sql`where ${isOwn} and id in (${sql.join(batch)}) order by id`)
    size.adapt(rows)
    yield rows
  }
}

/** Reads along an index, in parts, and sorts at the end: the engine would sort all of them again for each part. */
async function readIds(db: Kysely<Tables>, kind: Kind, accountId: number): Promise<readonly number[]> {
  const ids: number[] = []
  const columns = kind.columns.includes('at') ? ['at', 'id'] : ['id']
  const order = sql.raw(columns.join(', '))
  let after: Row | undefined
  for (;;) {
    const start = after === undefined ? sql`` : sql`and (${order}) > (${sql.join(cellsOf(after, columns))})`
    const { rows } = await sql<Row>`
      select ${order} from ${sql.table(kind.table)} where owner_id = ${accountId} ${start}
      order by ${order} limit ${IDS_AT_ONCE}`.execute(db)
    for (const { id } of rows) ids.push(Number(id))
    if (rows.length < IDS_AT_ONCE) return ids.toSorted((a, b) => a - b)
    after = rows.at(-1)
    await nextTurn()
  }
}

const IDS_AT_ONCE = 5000

async function selectRows(db: Kysely<Tables>, kind: Kind, which: RawBuilder<unknown>): Promise<Row[]> {
  const columns = sql.raw(kind.columns.join(', '))
  const { rows } = await sql<Row>`select ${columns} from ${sql.table(kind.table)} ${which}`.execute(db)
  return rows
}

function cellsOf(row: Row, columns: readonly string[]): (Cell | undefined)[] {
  return columns.map(column => row[column])
}

/** How many rows to read at once: a record can be as long as a line of an archive, and these are held in memory. */
class BatchSize {
  rows = MIN_ROWS

  adapt(read: readonly Row[]) {
    const characters = read.reduce((sum, { document }) => sum + String(document ?? '').length, 0)
    const average = characters / Math.max(1, read.length)
    this.rows = Math.min(MAX_ROWS, Math.max(MIN_ROWS, Math.floor(PART_CHARACTERS / Math.max(1, average))))
  }
}

const MIN_ROWS = 4
const MAX_ROWS = 100
const PART_CHARACTERS = 64 * 1024
