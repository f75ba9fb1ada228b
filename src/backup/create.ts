import { createHash } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { exportArchive } from '../archive/export.ts'
import { createDatabaseFile, open, type Store, StoreError } from '../store/index.ts'
import { currentVersion } from '../store/migrations.ts'
import { copyRows, type Watching } from './copy.ts'
import { encryptFile } from './encryption.ts'
import { publish, sha256Of, withUnfinished, workFoldersOf, writeDigest } from './files.ts'
import { writeFileDigest, writeManifest } from './manifest.ts'
import { readTables, removeAllRows } from './tables.ts'

export interface BackupOptions extends Watching {
  /** The age recipients who can decrypt it; it is not encrypted if there are none. */
  readonly recipients?: readonly string[]
  /** Beside it is the work folder: an unencrypted copy must not be written beside an encrypted backup. */
  readonly databaseUrl: string
  /** Whether its digest gets a file beside it. */
  readonly hasDigest?: boolean
}

/**
 * Writes a backup of one moment while the store is in use. The file is written completely or not at all. Throws StoreError, also if a
 * record is damaged.
 */
export async function writeBackup(store: Store, path: string, options: BackupOptions) {
  const { recipients = [], hasDigest = false, databaseUrl, signal } = options
  return withUnfinished(path, workFoldersOf(databaseUrl), async (unfinished, folder) => {
    const isPlain = recipients.length === 0
    const plain = isPlain ? unfinished : join(folder, 'backup.db')
    const madeAt = await fillBackup(store, plain, options)
    if (!isPlain) await encryptFile(plain, unfinished, recipients, signal)
    const { size: bytes } = statSync(unfinished)
    if (hasDigest) writeDigest(path, await sha256Of(unfinished), unfinished)
    publish(unfinished, path)
    return { bytes, madeAt }
  })
}

/** Writes an unencrypted backup, and returns the time of its content. */
export async function fillBackup(store: Store, path: string, watching: Watching): Promise<number> {
  // The engine would create the file with permissions for others.
  createDatabaseFile(path)
  try {
    let madeAt = 0
    let placeholder: string
    {
      await using copy = await open(`sqlite:${path}`, { busyTimeoutMs: 0, exclusive: true })
      const tables = await readTables()
      const copied = await store.snapshot(from =>
        copy.db.connection().execute(to =>
          copy.locked(to, async () => {
            madeAt = Date.now()
            // Migrations may have written rows.
            await removeAllRows(to, copy.engine, tables)
            return copyRows(tables, { db: from, engine: store.engine }, { db: to, engine: copy.engine }, watching)
          }),
        ),
      )
      if (copied.damaged.length > 0) {
        throw new StoreError(
          `records in the database are damaged, their content does not match its hash: ${copied.damaged.join(', ')}\nRestore a backup from before, or import these records again with --on-conflict replace.`,
        )
      }
      placeholder = await writeManifest(copy.db, {
        version: packageJson.version,
        schema: currentVersion,
        madeAt: new Date(madeAt).toISOString(),
        engine: store.engine,
        rows: copied.rows,
        exportSha256: await digestOfExport(copy),
      })
    }
    await writeFileDigest(path, placeholder)
    return madeAt
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}

export async function digestOfExport(store: Store): Promise<string> {
  const digest = createHash('sha256')
  await exportArchive(store, async text => void digest.update(text))
  return digest.digest('hex')
}
