import { existsSync, realpathSync, statSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { restoreBackup, type RestoreReport } from '../backup/restore.ts'
import { removeDatabase, workFoldersOf } from '../backup/files.ts'
import type { VerifiedBackup } from '../backup/verify.ts'
import { sqliteFile } from '../store/index.ts'
import { plainCopyOption, requireFile, type VerifyFlags, withVerified } from './backup.ts'
import { identityOption } from './encryption.ts'
import { startProgress } from './progress.ts'
import { databaseUrlOf, openStore } from './opening.ts'
import { databaseOption, withOptions } from './options.ts'
import { print, say } from './print.ts'
import { stopSignals } from './terminal.ts'
import { Refusal } from '../contract/refusal.ts'

export function addRestoreCommand(program: Command) {
  withOptions(
    program.command('restore').argument('<file>', 'the backup'),
    identityOption(),
    plainCopyOption(),
    new Option('--force', 'replace everything in a database that is not empty'),
    new Option('--revoke-keys', 'revoke all API keys of the backup'),
    // The name of earlier versions.
    new Option('--revoke-tokens').implies({ revokeKeys: true }).hideHelp(),
    databaseOption(),
  )
    .summary('write a backup into a database')
    .description(
      'Checks a backup whole, then writes it into an empty database that nothing else has open, in one transaction. People have to sign in again.',
    )
    .action(restore)
}

async function restore(file: string, flags: VerifyFlags & { readonly force?: boolean; readonly revokeKeys?: boolean }) {
  requireFile(file)
  const databaseUrl = databaseUrlOf(flags)
  const path = sqliteFile(databaseUrl)
  if (path !== undefined && existsSync(path) && realpathSync(path) === realpathSync(file)) {
    throw new Refusal('usage', `${file} is the database itself: name another one with --database`)
  }
  const { signal } = stopSignals('interrupted: the database is as before')
  await withVerified(file, flags, { parent: workFoldersOf(databaseUrl), signal }, async backup => {
    const { force = false, revokeKeys = false } = flags
    const report = await writeTo(databaseUrl, backup, { force, revokeKeys, signal })
    sayRestored(backup, report, revokeKeys)
  })
}

/** Restores a backup. A database that does not exist is created, and removed if the restore fails. */
export async function writeTo(
  databaseUrl: string,
  backup: VerifiedBackup,
  options: Parameters<typeof restoreBackup>[2],
): Promise<RestoreReport> {
  const path = sqliteFile(databaseUrl)
  const isNew = path !== undefined && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
  // The engine would apply a log that an earlier database left there to the new one.
  if (isNew) removeDatabase(path)
  using progress = startProgress('Restoring')
  try {
    await using store = await openStore(databaseUrl, { busyTimeoutMs: 60_000, exclusive: true, schema: 'any' })
    return await restoreBackup(backup, store, { ...options, progress: progress?.show })
  } catch (error) {
    // With its journal: the engine would apply it to the next database of that name.
    if (isNew) removeDatabase(path)
    throw error
  }
}

function sayRestored({ manifest }: VerifiedBackup, { rows, keys, access }: RestoreReport, isRevoked: boolean) {
  const moment = manifest === undefined ? 'the time of the backup' : manifest.madeAt
  print(`restored ${rows} rows, as of ${moment}`)
  const grants = access === 1 ? '1 grant' : `${access} grants`
  say(
    isRevoked
      ? `All API keys are revoked. Valid again, as they were then: ${grants} of access.`
      : `Valid again, as they were then: ${keys === 1 ? '1 API key' : `${keys} API keys`} and ${grants} of access${keys === 0 ? '' : ' (--revoke-keys revokes the API keys)'}.`,
  )
  say('Everybody has to sign in again.')
}
