import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import { basename } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { findAccount } from '../accounts/accounts.ts'
import { recordOperatorExport } from '../accounts/read-log.ts'
import { archiveParts, exportArchive } from '../archive/export.ts'
import {
  conflictChoices,
  errorChoices,
  importLines,
  ImportError,
  type ImportReport,
  type OnConflict,
  type OnError,
  withProgress,
} from '../archive/import.ts'
import { FormatError, UnclearKindError, UnclearOwnerError } from '../archive/formats/errors.ts'
import { type FormatOptions, openRecords, type Records } from '../archive/formats/open.ts'
import { ownKinds } from '../accounts/deleted-records.ts'
import { decryptArchive, encryptTexts } from '../backup/encryption.ts'
import { workFoldersOf } from '../backup/files.ts'
import type { RejectedReport } from '../archive/rejected-rows.ts'
import { readKnownTime } from '../stats/known-time.ts'
import type { Store } from '../store/index.ts'
import { STDOUT, writeOutput } from './output-file.ts'
import { deviationLines } from './deviations.ts'
import { identitiesOf, identityOption, recipientOption, warnOfOneRecipient } from './encryption.ts'
import { hasNewAccounts, sayNextSteps } from './next-steps.ts'
import { startProgress } from './progress.ts'
import { databaseUrlOf, type StoreOptions, withStore } from './opening.ts'
import { databaseOption, jsonOption, withOptions } from './options.ts'
import { print, printRows, say } from './print.ts'
import { errorCode, stopSignals } from './terminal.ts'
import { isRefusal, Refusal } from '../contract/refusal.ts'

export function addArchiveCommands(program: Command) {
  withOptions(
    program.command('import').argument('<file...>', 'archives to read; - is stdin'),
    new Option('--on-conflict <what>', 'what to do with a record that is stored with other content')
      .choices(conflictChoices)
      .default('fail'),
    new Option('--on-error <what>', 'what to do with an invalid line: store nothing, or reject it and store the others')
      .choices(errorChoices)
      .default('fail'),
    new Option('--tiers', 'also update the tier of stored accounts, with --on-conflict replace'),
    new Option('--kind <kind>', 'the kind of records that do not say it').choices(ownKinds.map(({ name }) => name)),
    new Option(
      '--column <theirs=ours>',
      'a column of a table with another title: Reps=Repetitions; may be repeated',
    ).argParser(addColumn),
    new Option(
      '--account <id|username>',
      'the account of records that do not say whose they are; when you save responses, ask for your own (ownerId=me)',
    ),
    identityOption(),
    databaseOption(),
    jsonOption(),
  )
    .summary('read records from archives and other files')
    .description(
      'Reads archives (NDJSON, one record a line), saved responses of the API and tables (CSV) into the store, also compressed (gzip, zstd) or encrypted (age). Each file is checked whole and then stored whole, or not at all; with --on-error set-aside, invalid lines are rejected (see rejected) and the others are stored.',
    )
    .action(importFiles)

  withOptions(
    program.command('export'),
    new Option('--account <id|username>', 'only this account and its own records'),
    new Option('--out <file>', 'the file to write or replace; - is stdout').default(STDOUT),
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
  readonly kind?: string
  readonly account?: string
  readonly column?: ReadonlyMap<string, string>
  readonly tiers?: boolean
  readonly identity?: string
  readonly json?: boolean
}

async function importFiles(files: readonly string[], flags: ImportFlags) {
  // Checked first: otherwise a wrong name would be noticed only after the archives before it were stored.
  checkNames(files)
  const identities = identitiesOf(flags)
  const { signal } = stopSignals('interrupted: nothing of this archive was stored')
  await withStore(
    flags,
    async store => {
      const account = flags.account === undefined ? undefined : (await findAccount(store, flags.account)).id
      const known = account === undefined ? undefined : await readKnownTime(store, account, account, Date.now())
      const format = {
        kind: flags.kind,
        account,
        columns: flags.column,
        timeZone: known?.timeZone,
        decrypt: (chunks: AsyncIterable<Buffer>) => decryptArchive(chunks, identities && { identities }),
      }
      let isFirst = false
      for (const [index, file] of files.entries()) {
        try {
          const kinds = await importFile(store, file, { flags, format, signal })
          isFirst ||= hasNewAccounts(kinds)
        } catch (error) {
          signal.throwIfAborted()
          if (files.length > index + 1) say(`not read: ${files.slice(index + 1).join(', ')}`)
          throw error
        }
      }
      if (isFirst && flags.json !== true) await sayNextSteps(store, flags)
    },
    { create: true, bulk: true },
  )
}

interface ImportContext {
  readonly flags: ImportFlags
  readonly format: FormatOptions
  readonly signal: AbortSignal
}

async function importFile(store: Store, file: string, { flags, format, signal }: ImportContext) {
  const name = file === STDIN ? 'stdin' : basename(file)
  const size = file === STDIN ? 0 : statSync(file).size
  const shown = startProgress()
  const progress = (bytes = size) => {
    const share = bytes === size ? 'being stored' : `${Math.floor((bytes / size) * 100)} % read`
    if (size > 0) shown?.show(name, bytes, size, share)
  }
  let unit = 'line'
  const { onConflict, onError, tiers = false } = flags
  try {
    const records = await openRecords(withProgress(chunksOf(file, signal), { progress, signal }), format)
    const isArchive = records.format === 'archive'
    if (records.format === 'responses') unit = 'record'
    const report = await importLines(store, records.lines, {
      onConflict,
      onError,
      source: name,
      file: name,
      tiers,
      isArchive,
      signal,
      progress,
      confirm: db => records.found.confirm(db),
    })
    shown?.end()
    sayFound(file, records, format)
    if (isArchive && !report.hasEnd) say(`${file}: has no end line, so it may be truncated`)
    if (flags.json === true) print(JSON.stringify({ file, ...report }))
    else printReport(report, unit)
    if ((report.setAside?.newCount ?? 0) > 0) process.exitCode = 1
    return report.kinds
  } catch (error) {
    shown?.end()
    signal.throwIfAborted()
    if (error instanceof ImportError) {
      const { errors, count } = error
      for (const { line, reason } of errors) say(`${file}: ${unit} ${line}: ${reason}`)
      if (count > errors.length) say(`${file}: ${count - errors.length} more errors`)
    }
    if (error instanceof UnclearKindError) throw new Refusal('usage', `${file}: ${error.message}: name it with --kind`)
    if (error instanceof UnclearOwnerError) {
      throw new Refusal('usage', `${file}: ${error.message}: name the account with --account`)
    }
    throw error instanceof FormatError ? new Refusal('refused', `${file}: ${error.message}`) : error
  }
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
    if (account !== undefined) await recordOperatorExport(store, account.id)
    await writeOutput(flags.out, workFoldersOf(databaseUrlOf(flags)), async write => {
      if (recipients === undefined) return exportArchive(store, write, account?.id)
      const chunks = await encryptTexts(archiveParts(store, account?.id), recipients)
      for await (const chunk of chunks) await write(chunk)
    })
  })
}

function checkNames(files: readonly string[]) {
  if (files.filter(file => file === STDIN).length > 1) throw new Refusal('usage', '- is stdin: give it once')
  for (const file of files) {
    if (file === STDIN) continue
    try {
      if (statSync(file).isDirectory()) throw new Refusal('usage', `${file} is a folder: give the archives in it`)
      accessSync(file, constants.R_OK)
    } catch (error) {
      if (isRefusal(error, 'usage')) throw error
      throw new Refusal('usage', `${file} cannot be read (${errorCode(error) ?? 'unknown error'}): nothing was stored`)
    }
  }
}

function chunksOf(file: string, signal: AbortSignal): AsyncIterable<Buffer> {
  const stream = file === STDIN ? process.stdin : createReadStream(file, { highWaterMark: CHUNK_BYTES })
  // A pipe may never deliver a byte, so the signal must end the wait itself. Without an encoding, a stream gives buffers.
  return addAbortSignal(signal, stream) as AsyncIterable<Buffer>
}

const STDIN = '-'
const CHUNK_BYTES = 256 * 1024

function sayFound(file: string, { found }: Records, { timeZone = 'UTC' }: FormatOptions) {
  if (found.usesTimeZone) say(`${file}: times without a zone are read as times in ${timeZone}`)
  if (found.notRead.length > 0) {
    say(`${file}: columns that are not read: ${found.notRead.map(({ title }) => title).join(', ')}`)
  }
  for (const { title, meant } of found.notRead) {
    if (meant !== undefined) say(`${file}: --column '${title}=${meant}' reads ${title} as ${meant}`)
  }
  for (const [what, { count, before, after }] of found.converted) {
    say(`${file}: converted ${what}: ${count}, such as ${before} to ${after}`)
  }
  if (found.differing.length > 0) {
    const lines = found.differing.slice(0, MAX_LINES).join(', ')
    say(`${file}: ${found.differing.length} rows differ from records that no table made, which stay: line ${lines}`)
  }
  if (found.beside.length > 0) {
    const lines = found.beside.slice(0, MAX_LINES).join(', ')
    say(`${file}: ${found.beside.length} new sessions begin within 15 minutes of one that no table made: line ${lines}`)
  }
  if (found.offset !== undefined) {
    const { count, minutes } = found.offset
    say(
      `${file}: ${count} new sessions begin ${Math.abs(minutes)} minutes ${minutes > 0 ? 'after' : 'before'} stored ones: is their time zone another one?`,
    )
  }
}

const MAX_LINES = 10

function addColumn(pair: string, before: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [, theirs = '', ours = ''] = /^(.+)=(.+)$/.exec(pair) ?? []
  if (ours === '') throw new InvalidArgumentError('It must name both titles, as in Reps=Repetitions.')
  return new Map([...before, [theirs.trim(), ours.trim()]])
}

/** `unit` is what the numbers of a file count. */
function printReport(report: ImportReport, unit: string) {
  printRows(
    report.kinds.filter(({ added, replaced, skipped, unchanged }) => added + replaced + skipped + unchanged > 0),
    false,
    ['kind', 'added', 'replaced', 'unchanged', 'skipped'],
  )
  for (const { line, kind, id } of report.unfinished) {
    const state = kind === 'lock-session' ? 'has not started' : 'is not finished'
    say(`${unit} ${line}: ${kind.replace('-', ' ')} ${id} ${state}, not stored`)
  }
  if (report.unfinishedCount > report.unfinished.length) {
    say(`${report.unfinishedCount} sessions in all have not started or are not finished`)
  }
  for (const { ownerId, partnerId } of report.endedAccess) {
    say(`access of account ${partnerId} to the records of account ${ownerId}: ended by its owner, left unchanged`)
  }
  for (const line of deviationLines(report)) say(line)
  if (report.setAside !== undefined) sayRejected(report.setAside, unit)
}

function sayRejected({ count, notKept, rows }: RejectedReport, unit: string) {
  for (const { line, reason } of rows) say(`${unit} ${line}: ${reason}: rejected`)
  if (count > rows.length) say(`${count} ${unit}s in all are rejected`)
  if (notKept > 0)
    say(`${notKept} of them are counted but not kept: they are too long, too many, or of an account that was removed`)
  if (count > 0) say('See them with `lockstep rejected list`.')
}
