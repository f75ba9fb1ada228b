import { existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { checkDigest, openVerified, type VerifiedBackup } from '../backup/verify.ts'
import { writeBackup } from '../backup/create.ts'
import { isEncryptedFile } from '../backup/encryption.ts'
import { recordBackup, recordCheck } from '../backup/facts.ts'
import { withWorkFolder } from '../backup/files.ts'
import { nameBackup, removeOld, type Retention } from '../backup/retention.ts'
import { restoreFully } from '../backup/restore.ts'
import { Refusal, isRefusal } from '../contract/refusal.ts'
import { ownCommand } from '../version.ts'
import { makeFolders, messageOf, sqliteFile, type Store, StoreError } from '../store/index.ts'
import { identitiesOf, identityOption, recipientOption, warnOfOneRecipient } from './encryption.ts'
import { parseSpan } from './instants.ts'
import { requireFolderOf } from './output-file.ts'
import { startProgress } from './progress.ts'
import { databaseUrlOf, type StoreOptions, withStore } from './opening.ts'
import { databaseOption, withOptions } from './options.ts'
import { print, say } from './print.ts'
import { stopSignals, type StopSignals } from './terminal.ts'

export function addBackupCommands(program: Command) {
  const command = withOptions(
    program.command('backup').argument('[file]', 'path of the backup; must not exist'),
    new Option(
      '--to <folder>',
      'write a backup with its digest into this folder, which is created if missing, named by its time',
    ),
    recipientOption(),
    new Option(
      '--keep <rule>',
      'keep one for each of the last days, weeks and months, such as 7d,4w,12m; remove others',
    ).argParser(parseRetention),
    new Option('--check', 'then check it as `backup check --full` does; of an encrypted one, the digest'),
    new Option('--every <span>', 'repeat after this time, such as 1d, until stopped').argParser(parseSpan),
    databaseOption(),
  )
    // The subcommand has an option of the same name.
    .enablePositionalOptions()
    .summary('write everything to one file while the database is in use')
    .description(
      'Writes everything, API keys and passwords included, to one SQLite file while the database is in use, and verifies it.',
    )
    .action(backup)

  withOptions(
    command.command('check').argument('<file>', 'the backup'),
    identityOption(),
    plainCopyOption(),
    new Option('--full', 'also restore it into a temporary database, and compare an export'),
    databaseOption(),
  )
    .summary('check that a backup can be restored')
    .description(
      'Checks the digest of a backup, its manifest and every record. The time is stored in the database, if there is one.',
    )
    .action(check)
}

export function plainCopyOption(): Option {
  return new Option('--plain-copy', 'accept a copy of a database file, which may lack what was written last')
}

const PLAIN_COPY =
  'It has no manifest: whether it is complete cannot be checked. A database file that was copied without its -wal file lacks what was written last.'

/** Throws Refusal for a file that cannot be read. */
export function requireFile(file: string) {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new Refusal('usage', `there is no file ${file}`)
}

export interface VerifyFlags extends StoreOptions {
  readonly identity?: string
  readonly plainCopy?: boolean
}

/** Checks a backup, with progress, and runs work on it; `parent` is where decrypted copies may be written. */
export async function withVerified(
  file: string,
  { plainCopy, ...flags }: VerifyFlags,
  { parent, signal }: { readonly parent: string; readonly signal: AbortSignal },
  work: (backup: VerifiedBackup, workFolder: string) => Promise<void>,
) {
  const identities = identitiesOf(flags)
  using progress = startProgress('Checking')
  await withWorkFolder(parent, async workFolder => {
    const options = { identities, workFolder, plainCopy, signal, progress: progress?.show }
    await using backup = await openVerified(file, options)
    progress?.end()
    await work(backup, workFolder)
    if (backup.manifest === undefined) say(PLAIN_COPY)
  })
}

interface BackupFlags extends StoreOptions {
  readonly to?: string
  readonly recipient?: readonly string[]
  readonly keep?: Retention
  readonly check?: boolean
  readonly every?: number
}

async function backup(file: string | undefined, flags: BackupFlags) {
  if ((file === undefined) === (flags.to === undefined))
    throw new Refusal('usage', 'name a file, or a folder with --to')
  warnOfOneRecipient(flags.recipient)
  const stop = stopSignals('interrupted: no backup was written')
  if (file !== undefined) {
    const isOfFolder = [flags.keep, flags.check, flags.every].some(value => value !== undefined)
    if (isOfFolder) throw new Refusal('usage', '--keep, --check and --every need --to')
    if (existsSync(file)) throw new Refusal('usage', `${file} exists: name a new file`)
    requireFolderOf(file)
    await withStore(flags, store => write(store, file, flags, stop.signal))
    say(`The backup is complete and verified: ${file}`)
    if (flags.recipient === undefined) say(NOT_ENCRYPTED)
    return
  }
  const { to: folder = '' } = flags
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new Refusal('usage', `${folder} is a file: name a folder`)
  }
  makeFolders(folder)
  const once = async () => {
    const path = await backUpToFolder(folder, flags, stop)
    if (flags.check !== true) return
    const isFull = flags.recipient === undefined
    say(await checkBackup(path, { ...flags, full: isFull }, { parent: folder, signal: stop.signal }))
  }
  if (flags.every === undefined) await once()
  else await repeat(flags.every, stop, once)
}

const NOT_ENCRYPTED = 'It is not encrypted: only the owner of the file may read it.'

async function backUpToFolder(folder: string, flags: BackupFlags, { signal }: StopSignals): Promise<string> {
  const path = nameBackup(folder, Date.now(), flags.recipient !== undefined)
  await withStore(flags, async store => {
    const bytes = await write(store, path, flags, signal, true)
    print(path)
    say(
      flags.recipient === undefined
        ? `The backup of ${bytes} bytes is complete and verified. ${NOT_ENCRYPTED}`
        : `The backup of ${bytes} bytes is complete, verified and encrypted.`,
    )
    if (flags.keep === undefined) return
    for (const removed of removeOld(folder, path, flags.keep)) say(`removed: ${basename(removed)}`)
  })
  return path
}

/** Writes a backup, stores its time in the database, and returns its size. */
async function write(store: Store, path: string, flags: BackupFlags, signal: AbortSignal, hasDigest = false) {
  using progress = startProgress('Copying')
  try {
    const report = await writeBackup(store, path, {
      recipients: flags.recipient ?? [],
      databaseUrl: databaseUrlOf(flags),
      signal,
      progress: progress?.show,
      hasDigest,
    })
    await noting(() => recordBackup(store, report))
    return report.bytes
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new StoreError(`no backup was made, because ${path} cannot be written: ${error.message}`, { cause: error })
  }
}

/** Stores a time. If that fails, the backup is still good: a role that may only read can also make one. */
async function noting(note: () => Promise<void>) {
  try {
    await note()
  } catch (error) {
    say(`the time could not be stored in the database: ${messageOf(error)}`)
  }
}

/** Repeats until stopped; a failure is tried again after a tenth of the time. */
async function repeat(everyMs: number, { signal, isInterrupted }: StopSignals, work: () => Promise<void>) {
  while (!signal.aborted) {
    const startedAt = performance.now()
    let waitMs = everyMs
    try {
      await work()
    } catch (error) {
      if (signal.aborted) break
      if (!(error instanceof Error) || isRefusal(error, 'usage')) throw error
      waitMs = everyMs / 10
      say(`lockstep: ${error.message}; trying again in ${Math.round(waitMs / 1000)} s`)
    }
    await sleep(Math.max(0, waitMs - (performance.now() - startedAt)), undefined, { signal }).catch(() => {})
  }
  if (isInterrupted()) throw new Refusal('interrupted', 'interrupted')
}

interface CheckFlags extends VerifyFlags {
  readonly full?: boolean
}

async function check(file: string, flags: CheckFlags) {
  requireFile(file)
  const { signal } = stopSignals('interrupted')
  print(await checkBackup(file, flags, { parent: tmpdir(), signal }))
}

/** Returns what was found to be intact. `parent` is where decrypted and restored copies are written. */
async function checkBackup(
  file: string,
  flags: CheckFlags,
  { parent, signal }: { readonly parent: string; readonly signal: AbortSignal },
): Promise<string> {
  if (isEncryptedFile(file) && flags.identity === undefined && flags.full !== true) {
    if (!(await checkDigest(file, signal))) {
      throw new Refusal('no-identity', `${file} is encrypted and has no digest next to it: name a file with --identity`)
    }
    return `${file} matches its digest. It is encrypted, so nothing more was checked: for that, run \`${ownCommand} backup check --full --identity FILE\` where the identity is.`
  }
  let intact = ''
  await withVerified(file, flags, { parent, signal }, async (backup, workFolder) => {
    if (flags.full === true) await restoreFully(backup, join(workFolder, 'restored.db'), { signal })
    const { manifest, accounts, records } = backup
    const origin = manifest === undefined ? 'a plain copy' : `of ${manifest.madeAt}`
    intact = `${file} is intact: ${origin}, ${accounts} accounts, ${records} records`
  })
  const database = sqliteFile(databaseUrlOf(flags))
  // There is none on a machine that only checks backups.
  if (database === undefined || existsSync(database)) {
    await noting(() => withStore(flags, store => recordCheck(store, Date.now())))
  }
  return intact
}

function parseRetention(text: string): Retention {
  const retention = { days: 0, weeks: 0, months: 0 }
  const units = { d: 'days', w: 'weeks', m: 'months' } as const
  for (const part of text.split(',')) {
    const [, count, unit] = /^([1-9][0-9]{0,3})([dwm])$/.exec(part.trim()) ?? []
    if (count === undefined || (unit !== 'd' && unit !== 'w' && unit !== 'm')) {
      throw new InvalidArgumentError('It must be numbers of days, weeks and months, such as 7d,4w,12m.')
    }
    retention[units[unit]] = Number(count)
  }
  return retention
}
