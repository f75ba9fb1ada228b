import { sql } from '../vendor/kysely.js'
import type { Kysely } from 'kysely'
import { recordSteps } from '../archive/schema-steps.ts'
import { isDistributed } from '../store/distributed.ts'
import { type Store, StoreError } from '../store/index.ts'
import { migrateWithin } from '../store/migrations.ts'
import type { Tables } from '../store/tables.ts'
import { copyRows, type Watching } from './copy.ts'
import { countRows, readTables, removeAllRows, type Table } from './tables.ts'
import type { VerifiedBackup } from './verify.ts'

export interface RestoreOptions extends Watching {
  /** Replaces the rows of a database that is not empty. */
  readonly force?: boolean
  readonly revokeTokens?: boolean
  /** Whether people stay signed in. */
  readonly keepSessions?: boolean
}

export interface RestoreReport {
  /** Of all tables. */
  readonly rows: number
  readonly tokens: number
  readonly links: number
}

/** Writes all rows of a backup into a database that only this process has open, in one transaction. Throws StoreError. */
export async function restoreBackup(
  backup: VerifiedBackup,
  target: Store,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  const { engine } = target
  const now = Date.now()
  return target.db.connection().execute(db =>
    target.locked(db, async () => {
      if (engine === 'postgres') await requireWhole(db)
      await migrateWithin(db, engine, now, recordSteps)
      const tables = await readTables()
      if (options.force !== true) await requireEmpty(db, tables)
      await removeAllRows(db, engine, tables)
      const { rows } = await backup.store.snapshot(from =>
        copyRows(tables, { db: from, engine: backup.store.engine }, { db, engine }, options),
      )
      if (options.keepSessions !== true) await db.deleteFrom('browser_session').execute()
      if (options.revokeTokens === true) await revokeAll(db, now)
      const valid = { tokens: await countValidTokens(db, now), links: await countLinks(db, now) }
      await target.requireAlone()
      return { rows: Object.values(rows).reduce((sum, count) => sum + count, 0), ...valid }
    }),
  )
}

/** Refuses tables that are distributed: one transaction cannot empty and fill all of them. */
async function requireWhole(db: Kysely<Tables>) {
  if (!(await isDistributed(text => sql.raw(text).execute(db)))) return
  throw new StoreError(
    'the tables of the database are distributed: name one whose tables are not, and distribute them afterwards',
  )
}

async function requireEmpty(db: Kysely<Tables>, tables: readonly Table[]) {
  for (const { name } of tables) {
    // Facts about the store itself.
    if (name === 'note' || (await countRows(db, name)) === 0) continue
    throw new StoreError('the database is not empty: name another one, or replace everything in it with --force')
  }
}

async function revokeAll(db: Kysely<Tables>, now: number) {
  await db.updateTable('token').set({ revoked_at: now }).where('revoked_at', 'is', null).execute()
}

async function countValidTokens(db: Kysely<Tables>, now: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from token
    where revoked_at is null and (expires_at is null or expires_at > ${now})`.execute(db)
  return Number(rows[0]?.count)
}

async function countLinks(db: Kysely<Tables>, now: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from partnership
    where ended_at is null and (expires_at is null or expires_at > ${now})`.execute(db)
  return Number(rows[0]?.count)
}
