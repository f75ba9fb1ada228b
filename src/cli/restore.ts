import { existsSync, realpathSync, rmSync, statSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { restoreBackup, type RestoreReport } from '../backup/restore.ts'
import { removeDatabase, withWorkFolder } from '../backup/files.ts'
import { openVerified, type VerifiedBackup } from '../backup/verify.ts'
import type { Store } from '../store/index.ts'
import { requireFile } from './backup.ts'
import { identitiesOf, identityOption } from './encryption.ts'
import { startRowProgress } from './row-progress.ts'
import {
  databaseOption,
  databaseUrlOf,
  openStore,
  print,
  say,
  stopSignals,
  type StoreOptions,
  UsageError,
  withOptions,
} from './terminal.ts'

export function addRestoreCommand(program: Command) {
  withOptions(
    program.command('restore').argument('<file>', 'the backup'),
    identityOption(),
    new Option('--force', 'replace everything in a database that is not empty'),
    new Option('--revoke-tokens', 'revoke all API keys of the backup'),
    databaseOption(),
  )
    .summary('write a backup into a database')
    .description(
      'Checks a backup whole, then writes it into an empty database that nothing else has open, in one transaction. People have to sign in again.',
    )
    .action(restore)
}

interface RestoreFlags extends StoreOptions {
  readonly identity?: string
  readonly force?: boolean
  readonly revokeTokens?: boolean
}

async function restore(file: string, flags: RestoreFlags) {
  requireFile(file)
  const identities = identitiesOf(flags)
  const databaseUrl = databaseUrlOf(flags)
  refuseSameFile(file, databaseUrl)
  const { signal } = stopSignals('interrupted: the database is as before')
  const progress = startRowProgress('Checking')
  await withWorkFolder({ databaseUrl, purpose: `restore ${databaseUrl}` }, async workFolder => {
    const backup = await openVerified(file, { identities, workFolder, signal, progress: progress?.show })
    progress?.end()
    try {
      const { force = false, revokeTokens = false } = flags
      const report = await writeTo(databaseUrl, backup, { force, revokeTokens, signal })
      sayRestored(backup, report, revokeTokens)
    } finally {
      await backup.close()
    }
  })
}

/** Restores a backup. A database that does not exist is created, and removed if the restore fails. */
export async function writeTo(
  databaseUrl: string,
  backup: VerifiedBackup,
  options: Parameters<typeof restoreBackup>[2],
): Promise<RestoreReport> {
  const path = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined
  const isNew = path !== undefined && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
  // The engine would apply a log that an earlier database left there to the new one.
  if (isNew) removeDatabase(path)
  const progress = startRowProgress('Restoring')
  let store: Store | undefined
  try {
    store = await openStore(databaseUrl, { busyTimeoutMs: 60_000, exclusive: true, schema: 'any' })
    return await restoreBackup(backup, store, { ...options, progress: progress?.show })
  } catch (error) {
    await store?.close()
    store = undefined
    if (isNew) rmSync(path, { force: true })
    throw error
  } finally {
    progress?.end()
    await store?.close()
  }
}

function refuseSameFile(file: string, databaseUrl: string) {
  if (!databaseUrl.startsWith('sqlite:')) return
  const path = databaseUrl.slice('sqlite:'.length)
  if (existsSync(path) && realpathSync(path) === realpathSync(file)) {
    throw new UsageError(`${file} is the database itself: name another one with --database`)
  }
}

function sayRestored({ manifest }: VerifiedBackup, { rows, tokens, links }: RestoreReport, isRevoked: boolean) {
  const moment = manifest === undefined ? 'the time of the backup' : manifest.madeAt
  print(`restored ${rows} rows, as of ${moment}`)
  say(
    isRevoked
      ? `All API keys are revoked. ${links} links are valid again, as they were then.`
      : `${tokens} API keys and ${links} links are valid again, as they were then (--revoke-tokens revokes the API keys).`,
  )
  say('Everybody has to sign in again.')
}
