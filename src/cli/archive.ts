import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { type Command, Option } from 'commander'
import { findAccount } from '../accounts/accounts.ts'
import { OPERATOR, recordEvent } from '../accounts/events.ts'
import { writeOperatorExport } from '../accounts/read-log.ts'
import { exportArchive } from '../archive/export.ts'
import {
  conflictChoices,
  errorChoices,
  importArchive,
  ImportError,
  type ImportReport,
  type OnConflict,
  type OnError,
} from '../archive/import.ts'
import { decryptIfEncrypted, encryptWritten } from '../backup/encryption.ts'
import type { RejectedReport } from '../archive/report.ts'
import { STDOUT, writeArchive } from './archive-file.ts'
import { deviationLines } from './deviations.ts'
import { identitiesOf, identityOption, recipientOption, warnOfOneRecipient } from './encryption.ts'
import { hasNewAccounts, sayNextSteps } from './next-steps.ts'
import { startBar } from './progress.ts'
import {
  COMMAND_BUSY_TIMEOUT_MS,
  databaseOption,
  errorCode,
  interruption,
  jsonOption,
  print,
  printRows,
  say,
  type StoreOptions,
  UsageError,
  withOptions,
  withStore,
} from './terminal.ts'

export function addArchiveCommands(program: Command) {
  withOptions(
    program.command('import').argument('<file...>', 'archives to read; - is stdin'),
    new Option('--on-conflict <what>', 'what to do with a record that is stored with other content')
      .choices(conflictChoices)
      .default('fail'),
    new Option('--on-error <what>', 'what to do with an invalid line: store nothing, or reject it and store the others')
      .choices(errorChoices)
      .default('fail'),
    new Option('--tiers', 'also update the tier of stored accounts'),
    identityOption(),
    databaseOption(),
    jsonOption(),
  )
    .summary('read records from archives')
    .description(
      'Reads archives (NDJSON, one record a line) into the store. Each file is checked whole and then stored whole, or not at all; with --on-error set-aside, invalid lines are rejected (see rejected) and the others are stored.',
    )
    .action(importFiles)

  withOptions(
    program.command('export'),
    new Option('--account <id|username>', 'only this account and its own records'),
    new Option('--out <file>', 'the file to write; - is stdout').default(STDOUT),
    recipientOption(),
    databaseOption(),
  )
    .summary('write all records as an archive')
    .description(
      'Writes records as an archive, which another Lockstep can read. It has no API keys and no passwords, so it is not a backup (see backup).',
    )
    .action(exportRecords)
}

interface ImportFlags extends StoreOptions {
  readonly onConflict: OnConflict
  readonly onError: OnError
  readonly tiers?: boolean
  readonly identity?: string
  readonly json?: boolean
}

async function importFiles(files: readonly string[], flags: ImportFlags) {
  // Checked first: otherwise a wrong name would be noticed only after the archives before it were stored.
  checkNames(files)
  const identities = identitiesOf(flags)
  const signal = interruption()
  await withStore(
    flags,
    async store => {
      let isFirst = false
      for (const [index, file] of files.entries()) {
        await using source = await openArchive(file, signal)
        const bar = startBar(file, source.size)
        try {
          const report = await importArchive(store, decryptIfEncrypted(source.chunks, identities), {
            onConflict: flags.onConflict,
            onError: flags.onError,
            source: file === STDIN ? 'stdin' : basename(file),
            tiers: flags.tiers === true,
            signal,
            progress: bytes => bar?.show(bytes),
            onWait: what => say(`${what}; giving up after ${COMMAND_BUSY_TIMEOUT_MS / 60_000} minute`),
          })
          bar?.end('stored')
          printReport(file, report, flags.json)
          isFirst ||= hasNewAccounts(report)
          if ((report.setAside?.newCount ?? 0) > 0) process.exitCode = 1
        } catch (error) {
          bar?.end('not stored')
          signal.throwIfAborted()
          if (error instanceof ImportError) sayErrors(file, error, files.slice(index + 1))
          throw error
        }
      }
      if (isFirst && flags.json !== true) await sayNextSteps(store, flags)
    },
    { create: true, bulk: true },
  )
}

interface ExportFlags extends StoreOptions {
  readonly account?: string
  readonly out: string
  readonly recipient?: readonly string[]
}

async function exportRecords(flags: ExportFlags) {
  const { recipient: recipients } = flags
  warnOfOneRecipient(recipients)
  await withStore(flags, async store => {
    const account = flags.account === undefined ? undefined : await findAccount(store, flags.account)
    if (account !== undefined) {
      const now = Date.now()
      await writeOperatorExport(store, account.id, now)
      await recordEvent(store.db, { accountId: account.id, kind: 'exported', now, actor: OPERATOR })
    }
    await writeArchive(flags.out, async write => {
      if (recipients === undefined) return exportArchive(store, write, account?.id)
      const chunks = encryptWritten(plain => exportArchive(store, plain, account?.id), recipients)
      for await (const chunk of chunks) await write(chunk)
    })
  })
}

function checkNames(files: readonly string[]) {
  if (files.filter(file => file === STDIN).length > 1) throw new UsageError('- is stdin: give it once')
  for (const file of files) {
    if (file === STDIN) continue
    try {
      if (statSync(file).isDirectory()) throw new UsageError(`${file} is a folder: give the archives in it`)
      accessSync(file, constants.R_OK)
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw new UsageError(`${file} cannot be read (${errorCode(error) ?? 'unknown error'}): nothing was stored`)
    }
  }
}

interface OpenArchive extends AsyncDisposable {
  readonly chunks: AsyncIterable<Buffer>
  /** Undefined if it is unknown, as for a pipe. */
  readonly size: number | undefined
}

async function openArchive(file: string, signal: AbortSignal): Promise<OpenArchive> {
  if (file === STDIN) {
    // A pipe may never deliver a byte, so the signal must end the wait itself.
    return { chunks: addAbortSignal(signal, process.stdin), size: undefined, [Symbol.asyncDispose]: async () => {} }
  }
  const handle = await openFile(file)
  const stats = await handle.stat()
  const stream = createReadStream(file, { fd: handle, highWaterMark: CHUNK_BYTES })
  // Without an encoding, a stream of a file gives buffers.
  return {
    chunks: addAbortSignal(signal, stream) as AsyncIterable<Buffer>,
    size: stats.isFile() ? stats.size : undefined,
    // An import that fails does not read to the end.
    async [Symbol.asyncDispose]() {
      stream.destroy()
      if (!stream.closed) await new Promise(resolve => stream.once('close', resolve))
    },
  }
}

const STDIN = '-'
const CHUNK_BYTES = 256 * 1024

function printReport(file: string, report: ImportReport, json: boolean | undefined) {
  if (!report.hasEnd) say(`${file}: has no end line, so it may be truncated`)
  if (json === true) return print(JSON.stringify({ file, ...report }))
  printRows(
    report.kinds.filter(({ added, replaced, skipped, unchanged }) => added + replaced + skipped + unchanged > 0),
    {
      kind: row => row.kind,
      added: row => row.added,
      replaced: row => row.replaced,
      unchanged: row => row.unchanged,
      skipped: row => row.skipped,
    },
    false,
  )
  for (const { line, kind, id } of report.unfinished) {
    const state = kind === 'lock-session' ? 'has not started' : 'is not finished'
    say(`line ${line}: ${kind.replace('-', ' ')} ${id} ${state}, not stored`)
  }
  if (report.unfinishedCount > report.unfinished.length) {
    say(`${report.unfinishedCount} sessions in all have not started or are not finished`)
  }
  for (const { ownerId, partnerId } of report.endedAccess) {
    say(`access of account ${partnerId} to the records of account ${ownerId}: ended by its owner, left unchanged`)
  }
  for (const line of deviationLines(report)) say(line)
  if (report.setAside !== undefined) sayRejected(report.setAside)
}

function sayRejected({ count, notKept, rows }: RejectedReport) {
  for (const { line, reason } of rows) say(`line ${line}: ${reason}: rejected`)
  if (count > rows.length) say(`${count} lines in all are rejected`)
  if (notKept > 0)
    say(`${notKept} of them are counted but not kept: they are too long, too many, or of an account that was removed`)
  if (count > 0) say('See them with `lockstep rejected list`.')
}

function sayErrors(file: string, { errors, count }: ImportError, untouched: readonly string[]) {
  for (const { line, reason } of errors) say(`${file}: line ${line}: ${reason}`)
  if (count > errors.length) say(`${file}: ${count - errors.length} more errors`)
  if (untouched.length > 0) say(`not read: ${untouched.join(', ')}`)
}
