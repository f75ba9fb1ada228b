import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from '../vendor/kysely.js'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { account } from './account-kinds.ts'
import type { Kind } from './kind.ts'
import { kinds } from './kinds.ts'
import { noteChangedRecords } from './revisions.ts'

/**
 * Imports into SQLite, which has one writer at a time, are stored in parts, so that other writers wait for one part and not for
 * all. What a part adds or replaces is noted in the database until all are stored, so that an import that fails or is killed can be
 * undone.
 */

export interface Parts {
  /** How many rows the next part should have. */
  readonly rows: number
  /** Runs work as one short transaction. If the work gets a number, it must first note under it what it will change. */
  store<Result>(work: (part: number | undefined) => Promise<Result>): Promise<Result>
  /** Runs work as the last transaction; after it, nothing is undone. */
  complete<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Runs work that stores an import in parts and completes it. If it throws, everything is as before. */
export async function storeInParts<Result>(
  store: Store,
  db: Kysely<Tables>,
  work: (parts: Parts) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const release = await lockImports(store, signal)
  const run: RunTransaction = transaction => store.locked(db, () => transaction(db))
  try {
    await settle(db, run)
    // Only the last commit has to wait for the disk: it syncs those before it, too.
    await sql`pragma synchronous = normal`.execute(db)
    await store.locked(db, () => db.insertInto('note').values({ name: UNFINISHED, value: '' }).execute())
    let result: Result
    try {
      result = await work(makeParts(store, db, signal))
    } catch (error) {
      await settle(db, run)
      throw error
    }
    await settle(db, run)
    return result
  } finally {
    await sql`pragma synchronous = full`.execute(db)
    await release()
  }
}

/** Undoes an import that was killed before it was complete, unless another one is running. */
export async function undoUnfinishedImport(store: Store): Promise<void> {
  if (store.engine !== 'sqlite' || !(await hasParts(store.db))) return
  await withImportLock(store, () => settle(store.db, work => store.db.transaction().execute(work)))
}

/** Calls `undoUnfinishedImport` at intervals until the signal is aborted. Never rejects. */
export async function watchForKilledImports(
  store: Store,
  report: (error: unknown) => void,
  signal: AbortSignal,
  everyMs = WATCH_MS,
) {
  if (store.engine !== 'sqlite') return
  for (;;) {
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => {})
    if (signal.aborted) return
    await undoUnfinishedImport(store).catch(report)
  }
}

/** Runs work as a transaction with the write lock, after waiting until no import is half stored. */
export async function lockRecords<Result>(
  store: Store,
  db: Kysely<Tables>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (store.engine !== 'sqlite') return store.locked(db, work)
  for (;;) {
    const result = await store.locked(db, async () => ((await isUnfinished(db)) ? undefined : { value: await work() }))
    if (result !== undefined) return result.value
    await waitForImport(store, db, transaction => store.locked(db, () => transaction(db)))
  }
}

/** Runs reads that all see one state of the database, in which no import is half stored. */
export async function snapshotOfRecords<Result>(
  store: Store,
  work: (db: Kysely<Tables>) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const result = await store.snapshot(async db => ((await isUnfinished(db)) ? undefined : { value: await work(db) }))
    if (result !== undefined) return result.value
    await waitForImport(store, store.db, transaction => store.db.transaction().execute(transaction))
  }
}

/** Notes the keys of rows that are not stored yet; `from` names them `incoming`. */
export async function noteAdded(db: Kysely<Tables>, part: number, { name, table, key }: Kind, from: string) {
  const keys = key.map(column => `incoming.${column}`).join(', ')
  const same = key.map(column => `stored.${column} = incoming.${column}`).join(' and ')
  await sql
    .raw(`insert into import_part (part, kind, added)
      select ${part}, '${name}', json_group_array(json_array(${keys})) from ${from}
      where not exists (select 1 from ${table} as stored where ${same}) having count(*) > 0`)
    .execute(db)
}

/** Notes rows as they are stored; `from` names them `stored`. */
export async function noteReplaced(db: Kysely<Tables>, part: number, { name, columns }: Kind, from: string) {
  await sql
    .raw(`insert into import_part (part, kind, replaced)
      select ${part}, '${name}', json_array(${columns.map(column => `stored.${column}`).join(', ')}) from ${from}`)
    .execute(db)
}

/** The name of a note that exists from before the first part until the last commit. */
const UNFINISHED = 'import to be undone'
const LOCK = 'import'

/** How long a part should hold the write lock. */
const PART_MS = 20
/** Longer than the interval at which other writers retry, so that each can write between two parts. */
const PAUSE_MS = 30
const MAX_ROWS = 10_000

const WATCH_MS = 10_000

function makeParts(store: Store, db: Kysely<Tables>, signal: AbortSignal | undefined): Parts {
  let rows = 100
  let part = 0
  return {
    get rows() {
      return rows
    },
    async store(work) {
      signal?.throwIfAborted()
      part += 1
      const { result, ms } = await store.locked(db, async () => {
        const startedAt = performance.now()
        return { result: await work(part), ms: performance.now() - startedAt }
      })
      rows = Math.max(1, Math.min(MAX_ROWS, 2 * rows, Math.floor((rows * PART_MS) / Math.max(1, ms))))
      await sleep(PAUSE_MS)
      return result
    },
    async complete(work) {
      signal?.throwIfAborted()
      await sql`pragma synchronous = full`.execute(db)
      return store.locked(db, async () => {
        const result = await work()
        await db.deleteFrom('note').where('name', '=', UNFINISHED).execute()
        return result
      })
    },
  }
}

async function lockImports(store: Store, signal: AbortSignal | undefined): Promise<() => Promise<void>> {
  for (;;) {
    signal?.throwIfAborted()
    const release = await store.tryLock(LOCK)
    if (release !== undefined) return release
    await sleep(PAUSE_MS)
  }
}

/** Waits a while for an import, or undoes what is left of one that was killed. */
async function waitForImport(store: Store, db: Kysely<Tables>, run: RunTransaction) {
  await withImportLock(store, () => settle(db, run))
  await sleep(PAUSE_MS)
}

/** Runs work with the lock, unless an import is running. */
async function withImportLock(store: Store, work: () => Promise<void>) {
  const release = await store.tryLock(LOCK)
  if (release === undefined) return
  try {
    await work()
  } finally {
    await release()
  }
}

/** Runs work as one transaction. */
type RunTransaction = <Result>(work: (db: Kysely<Tables>) => Promise<Result>) => Promise<Result>

/** Undoes the parts of an incomplete import, or deletes the notes of a complete one. Needs the lock of imports. */
async function settle(db: Kysely<Tables>, run: RunTransaction) {
  if (!(await hasParts(db))) return
  while (await run(settleSome)) await sleep(PAUSE_MS)
}

/** Returns whether there may be more. */
async function settleSome(db: Kysely<Tables>): Promise<boolean> {
  if (await isUnfinished(db)) return undoLastPart(db)
  const { numDeletedRows } = await db
    .deleteFrom('import_part')
    .where('id', 'in', db.selectFrom('import_part').select('id').orderBy('id').limit(NOTES_AT_ONCE))
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** A row can take a megabyte. */
const NOTES_AT_ONCE = 50

/** Returns whether more may have to be undone. */
async function undoLastPart(db: Kysely<Tables>): Promise<boolean> {
  const { part } = await db
    .selectFrom('import_part')
    .select(({ fn }) => fn.max<number | null>('part').as('part'))
    .executeTakeFirstOrThrow()
  if (part === null) {
    await db.deleteFrom('note').where('name', '=', UNFINISHED).execute()
    return false
  }
  for (const kind of kinds.toReversed()) {
    const rows = `from import_part where part = ${part} and kind = '${kind.name}'`
    if (kind.isOwned) await noteChangedRecords(db, kind.table, sql.raw(ownersOf(kind, rows)))
    await removeAdded(db, kind, rows)
    await putBack(db, kind, rows)
  }
  await db.deleteFrom('import_part').where('part', '=', part).execute()
  return true
}

async function removeAdded(db: Kysely<Tables>, kind: Kind, rows: string) {
  const { table, key } = kind
  await sql.raw(`delete from ${table} where (${key.join(', ')}) in (${addedKeys(kind, rows)})`).execute(db)
}

function addedKeys({ key }: Kind, rows: string): string {
  const cells = key.map((_, index) => `entry.value ->> ${index}`).join(', ')
  return `select ${cells} from (select added ${rows} and added is not null) as noted, json_each(noted.added) as entry`
}

/** The owners of records that are undone, before and after. */
function ownersOf(kind: Kind, rows: string): string {
  const cell = (column: string) => `replaced ->> ${kind.columns.indexOf(column)}`
  const replaced = `${rows} and replaced is not null`
  return `select owner_id from ${kind.table} where id in (${addedKeys(kind, rows)} union all select ${cell('id')} ${replaced})
    union all select ${cell('owner_id')} ${replaced}`
}

async function putBack(db: Kysely<Tables>, kind: Kind, rows: string) {
  const { table, key, columns, ownerColumn } = kind
  const cell = (column: string) => `replaced ->> ${columns.indexOf(column)}`
  const replaced = `${rows} and replaced is not null`
  if (kind === account) {
    // Accounts may have swapped names, so each first gets a name that no account can have.
    await sql
      .raw(`update account set username = '\u0001' || id where id in (select ${cell('id')} ${replaced})`)
      .execute(db)
  }
  const rest = columns.filter(column => !key.includes(column))
  // An account that was removed meanwhile does not come back.
  await sql
    .raw(`insert into ${table} (${columns.join(', ')}) select ${columns.map(cell).join(', ')} ${replaced}
      and exists (select 1 from account where id = ${cell(ownerColumn)})
      on conflict (${key.join(', ')}) do update set ${rest.map(column => `${column} = excluded.${column}`).join(', ')}`)
    .execute(db)
}

async function isUnfinished(db: Kysely<Tables>): Promise<boolean> {
  return (await db.selectFrom('note').select('name').where('name', '=', UNFINISHED).executeTakeFirst()) !== undefined
}

/** Whether an import is incomplete, or notes of a complete one are still stored. */
async function hasParts(db: Kysely<Tables>): Promise<boolean> {
  if (await isUnfinished(db)) return true
  return (await db.selectFrom('import_part').select('id').limit(1).executeTakeFirst()) !== undefined
}
