import { type Kysely, sql } from 'kysely'
import packageJson from '../../package.json' with { type: 'json' }
import { recorder } from '../accounts/act.ts'
import { OPERATOR } from '../accounts/events.ts'
import { isOpenAccess } from '../accounts/access.ts'
import { forgetBrowsers } from '../accounts/known-browsers.ts'
import { countValidKeys, revokeKey, revokeKeys } from '../accounts/api-keys.ts'
import { migrateWithin } from '../archive/migrate.ts'
import { createDatabaseFile, open, type Store, StoreError } from '../store/index.ts'
import { currentVersion } from '../store/migrations.ts'
import type { Tables } from '../store/tables.ts'
import { Refusal } from '../contract/refusal.ts'
import { copyRows, type Watching } from './copy.ts'
import { digestOfExport } from './create.ts'
import { countRows, readTables, removeAllRows, type Table } from './tables.ts'
import type { VerifiedBackup } from './verify.ts'

export interface RestoreOptions extends Watching {
  /** Replaces the rows of a database that is not empty. Undefined if the caller has no such option. */
  readonly force?: boolean
  readonly revokeKeys?: boolean
  /** Whether people stay signed in. */
  readonly keepSessions?: boolean
}

export type RestoreReport = Awaited<ReturnType<typeof restoreBackup>>

/** Writes all rows of a backup into a database that only this process has open, in one transaction. Throws StoreError. */
export async function restoreBackup(backup: VerifiedBackup, target: Store, options: RestoreOptions = {}) {
  const { engine } = target
  const now = Date.now()
  return target.db.connection().execute(db =>
    target.locked(db, async () => {
      await migrateWithin(db, engine, now)
      const tables = await readTables()
      if (options.force !== true) await requireEmpty(db, tables, options.force === false)
      await removeAllRows(db, engine, tables)
      const { rows } = await backup.store.snapshot(from =>
        copyRows(tables, { db: from, engine: backup.store.engine }, { db, engine }, options),
      )
      if (options.keepSessions !== true) {
        await db.deleteFrom('browser_session').execute()
        await forgetBrowsers(db)
      }
      if (options.revokeKeys === true)
        await revokeKeys({ db, now, record: recorder(db, revokeKey.event, now, OPERATOR) })
      // What is valid again; of access, the pairs of accounts.
      const valid = { keys: await countValidKeys(db, now), access: await countAccess(db, now) }
      await target.requireAlone()
      return { rows: Object.values(rows).reduce((sum, count) => sum + count, 0), ...valid }
    }),
  )
}

/**
 * Restores a backup into a new SQLite database at a path, and compares the digest of an export of it with the one in the
 * manifest. Throws Refusal.
 */
export async function restoreFully(backup: VerifiedBackup, path: string, watching: Watching): Promise<void> {
  createDatabaseFile(path)
  await using store = await open(`sqlite:${path}`, { busyTimeoutMs: 0, exclusive: true, schema: 'any' })
  await restoreBackup(backup, store, watching)
  const digest = await digestOfExport(store)
  const { manifest } = backup
  // Other versions may export the same records differently.
  if (manifest?.version !== packageJson.version || manifest.schema !== currentVersion) return
  if (digest !== manifest.exportSha256) {
    throw new Refusal('no-backup', 'an export of the restored backup differs from that of the original database')
  }
}

async function requireEmpty(db: Kysely<Tables>, tables: readonly Table[], canForce: boolean) {
  for (const { name } of tables) {
    // Facts about the store itself.
    if (name === 'note' || (await countRows(db, name)) === 0) continue
    const orForce = canForce ? ', or replace everything in it with --force' : ''
    throw new StoreError(`the database is not empty: name another one${orForce}`)
  }
}

async function countAccess(db: Kysely<Tables>, now: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from partnership
    where ${isOpenAccess(sql`${now}`)}`.execute(db)
  return Number(rows[0]?.count)
}
