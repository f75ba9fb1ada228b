import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Engine, Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { pause } from '../fairness.ts'
import { account } from './account-kinds.ts'
import { endLine } from './end-line.ts'
import type { Kind, Row } from './kind.ts'
import { kinds } from './kinds.ts'
import { PartSize } from './part-size.ts'

type Write = (text: string) => Promise<void>

/**
 * Writes the records of the store as an archive: kinds in their order, rows by identifier, all as they stand at one
 * moment, and the line that ends it. With an account, only that account and its own rows, so that the archive can be
 * imported alone. Other work of the process runs between the parts.
 */
export async function exportArchive(store: Store, write: Write, accountId?: number): Promise<void> {
  await store.snapshot(async db => {
    let lines = 0
    for (const kind of kinds) {
      for await (const part of accountId === undefined
        ? allParts(db, kind)
        : partsOf(db, store.engine, kind, accountId)) {
        if (part.lines === 0) continue
        lines += part.lines
        await write(part.text)
        await pause()
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

type Part = Awaited<ReturnType<typeof readPart>>

/** Along an index: by the key, after the owner if there is one. */
async function* allParts(db: Kysely<Tables>, kind: Kind, ownerId?: number): AsyncGenerator<Part> {
  const key = sql.raw(kind.key.join(', '))
  const isOwn = ownerId === undefined ? sql`true` : sql`owner_id = ${ownerId}`
  const size = new PartSize()
  let isNext = sql`true`
  for (;;) {
    const part = await readPart(db, kind, sql`where ${isOwn} and ${isNext} order by ${key} limit ${size.rows}`)
    const isLast = part.lines < size.rows
    size.adapt(part.lines, part.text.length)
    yield part
    if (isLast) return
    isNext = sql`(${key}) > (${sql.join(part.last)})`
  }
}

async function* partsOf(db: Kysely<Tables>, engine: Engine, kind: Kind, accountId: number): AsyncGenerator<Part> {
  // Who may read the account is not among its own rows.
  if (kind.name === 'partnership') return
  if (kind === account) yield await readPart(db, kind, sql`where id = ${accountId}`)
  else if (engine === 'sqlite' && kind.columns.includes('at')) yield* partsByIds(db, kind, accountId)
  else yield* allParts(db, kind, accountId)
}

/** Ordered by identifier. No index of SQLite has the rows of an owner in this order, so the identifiers are read first. */
async function* partsByIds(db: Kysely<Tables>, kind: Kind, accountId: number): AsyncGenerator<Part> {
  // As one text: objects would grow old before all are read.
  const { rows } = await sql<{ ids: string }>`
    select json_group_array(id order by id) as ids from ${sql.table(kind.table)} where owner_id = ${accountId}`.execute(
    db,
  )
  // Identifiers are integers.
  const ids = JSON.parse(rows[0]?.ids ?? '[]') as readonly number[]
  const size = new PartSize()
  for (let start = 0; start < ids.length;) {
    const batch = JSON.stringify(ids.slice(start, start + size.rows))
    start += size.rows
    // The plus makes SQLite find rows by identifier; without it, SQLite reads and sorts all rows of the owner.
    const part = await readPart(
      db,
      kind,
      sql`where +owner_id = ${accountId} and id in (select value from json_each(${batch})) order by id`,
    )
    size.adapt(part.lines, part.text.length)
    yield part
  }
}

async function readPart(db: Kysely<Tables>, kind: Kind, which: RawBuilder<unknown>) {
  const columns = sql.raw(kind.columns.join(', '))
  const { rows } = await sql<Row>`select ${columns} from ${sql.table(kind.table)} ${which}`.execute(db)
  const last = rows.at(-1)
  return {
    lines: rows.length,
    text: rows.map(row => `${kind.write(row)}\n`).join(''),
    /** The key of the last one. */
    last: last === undefined ? [] : kind.key.map(column => last[column]),
  }
}
