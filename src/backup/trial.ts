import { closeSync, openSync } from 'node:fs'
import packageJson from '../../package.json' with { type: 'json' }
import { open } from '../store/index.ts'
import { currentVersion } from '../store/migrations.ts'
import type { Watching } from './copy.ts'
import { digestOfExport } from './create.ts'
import { BackupFileError } from './errors.ts'
import { restoreBackup } from './restore.ts'
import type { VerifiedBackup } from './verify.ts'

/**
 * Restores a backup into a new SQLite database at a path, and compares an export of it with the one that was made of the
 * backed up database. Throws BackupFileError.
 */
export async function restoreFully(backup: VerifiedBackup, path: string, watching: Watching): Promise<void> {
  closeSync(openSync(path, 'wx', 0o600))
  const store = await open(`sqlite:${path}`, { busyTimeoutMs: 0, exclusive: true, schema: 'any' })
  try {
    await restoreBackup(backup, store, watching)
    const digest = await digestOfExport(store)
    const { manifest } = backup
    // Another version may write the same records in another way.
    if (manifest?.version !== packageJson.version || manifest.schema !== currentVersion) return
    if (digest !== manifest.exportSha256) {
      throw new BackupFileError('an export of the restored backup is not the one of the database it was made of')
    }
  } finally {
    await store.close()
  }
}
