import packageJson from '../../package.json' with { type: 'json' }
import { Refusal } from '../contract/refusal.ts'
import { createDatabaseFile, open } from '../store/index.ts'
import { currentVersion } from '../store/migrations.ts'
import type { Watching } from './copy.ts'
import { digestOfExport } from './create.ts'
import { restoreBackup } from './restore.ts'
import type { VerifiedBackup } from './verify.ts'

/**
 * Restores a backup into a new SQLite database at a path, and compares the digest of an export of it with the one in the
 * manifest. Throws Refusal.
 */
export async function restoreFully(backup: VerifiedBackup, path: string, watching: Watching): Promise<void> {
  createDatabaseFile(path)
  const store = await open(`sqlite:${path}`, { busyTimeoutMs: 0, exclusive: true, schema: 'any' })
  try {
    await restoreBackup(backup, store, watching)
    const digest = await digestOfExport(store)
    const { manifest } = backup
    // Other versions may export the same records differently.
    if (manifest?.version !== packageJson.version || manifest.schema !== currentVersion) return
    if (digest !== manifest.exportSha256) {
      throw new Refusal('no-backup', 'an export of the restored backup differs from that of the original database')
    }
  } finally {
    await store.close()
  }
}
