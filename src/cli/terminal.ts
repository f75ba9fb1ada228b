import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { cancel, confirm, isCancel, password } from '@clack/prompts'
import { type Command, Option } from 'commander'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../accounts/passwords.ts'
import { recordSteps } from '../archive/schema-steps.ts'
import { undoUnfinishedImport } from '../archive/unfinished-import.ts'
import { readConfig, settings } from '../config.ts'
import { open, type OpenOptions, type Store, StoreError, StoreUnavailableError } from '../store/index.ts'

/** What all commands share: opening the store, printing and asking. */

/** The command was used incorrectly; the message says what to do instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The person interrupted the command or declined. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
}

export function databaseOption(): Option {
  return new Option('--database <url>', `where the records are (${sourceOf(settings.databaseUrl)})`)
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON instead of a table')
}

export interface StoreOptions {
  readonly database?: string
}

/** Opens the store that the options or the settings name, runs the work on it and closes it. */
export async function withStore<Result>(
  flags: StoreOptions,
  work: (store: Store) => Promise<Result>,
  options: Partial<OpenOptions> = {},
): Promise<Result> {
  const store = await openStore(databaseUrlOf(flags), {
    // A command runs once and alone, so it can wait for longer than a server may.
    busyTimeoutMs: 60_000,
    create: false,
    schema: options.create === true ? 'migrate' : 'current',
    ...options,
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The database that the options or the settings name. */
export function databaseUrlOf({ database }: StoreOptions): string {
  return database ?? readConfig(process.env).databaseUrl
}

/** Opens a store. Throws StoreError that says what to do. */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  try {
    const store = await open(url, { recordSteps, ...options })
    // An old schema may lack the tables for this; `migrate` does it later.
    if (options.schema !== 'any') await undoImport(store)
    return store
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new StoreError(`${error.message}\n${STORE_HINT}`, { cause: error })
  }
}

/** Undoes an import that was killed. If that is not possible now, as on a full disk, says so: reads are still possible. */
export async function undoImport(store: Store): Promise<void> {
  try {
    await undoUnfinishedImport(store)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    say(`an incomplete import could not be undone: ${error.message}; the next command tries again`)
  }
}

/** Writes data to stdout. */
export function print(text: string) {
  process.stdout.write(`${text}\n`)
}

/** Writes data to stdout, and waits while the reader is slow. */
export async function writeToStdout(text: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** Writes everything else to stderr. */
export function say(text: string) {
  process.stderr.write(`${text}\n`)
}

type Cell = string | number | null

/** Prints rows as a table with a heading, or as JSON. */
export function printRows<Row extends object>(
  rows: readonly Row[],
  columns: Readonly<Record<string, (row: Row) => Cell>>,
  json: boolean | undefined,
) {
  if (json === true) return print(JSON.stringify(rows, null, 2))
  const table = [Object.keys(columns), ...rows.map(row => Object.values(columns).map(cell => String(cell(row) ?? '–')))]
  const widths = Object.keys(columns).map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0)))
  for (const row of table)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Asks for confirmation of what cannot be undone. Throws UsageError if there is no terminal. */
export async function requireConfirmation(flag: string, question: string): Promise<void> {
  if (!isInteractive()) throw new UsageError(`this cannot be undone: add ${flag} to go ahead without a question`)
  const answer = await confirm({ message: question, initialValue: false, output: process.stderr })
  if (answer !== true) {
    cancel('Nothing was changed.', { output: process.stderr })
    throw new InterruptedError('nothing was changed')
  }
}

/** A password: entered twice on a terminal, else the first line of stdin. */
export async function askPassword(): Promise<string> {
  if (!isInteractive()) return firstLine()
  const first = await password({
    message: `New password (${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters)`,
    output: process.stderr,
  })
  const second = isCancel(first) ? first : await password({ message: 'Once more', output: process.stderr })
  if (isCancel(first) || isCancel(second)) throw new InterruptedError('nothing was changed')
  if (first !== second) throw new UsageError('the two passwords differ: nothing was changed')
  return first
}

/** Aborts on SIGINT. */
export function interruption(): AbortSignal {
  const controller = new AbortController()
  process.once('SIGINT', () =>
    controller.abort(new InterruptedError('interrupted: nothing of this archive was stored')),
  )
  return controller.signal
}

export interface StopSignals {
  /** Aborted by the first SIGTERM or SIGINT; a second one ends the program at once. */
  readonly signal: AbortSignal
  readonly isInterrupted: () => boolean
}

/** `message` says what an interrupted command has changed. */
export function stopSignals(message: string): StopSignals {
  const controller = new AbortController()
  const stop = () => controller.abort(new InterruptedError(message))
  let interrupted = false
  process.once('SIGTERM', stop)
  process.once('SIGINT', () => {
    interrupted = true
    stop()
  })
  return { signal: controller.signal, isInterrupted: () => interrupted }
}

/** Adds options to a command. */
export function withOptions(command: Command, ...options: Option[]): Command {
  for (const option of options) command.addOption(option)
  return command
}

/** Where the value of an option comes from if it is not given, for the help of that option. */
export function sourceOf({ env, fallback }: { readonly env: string; readonly fallback: string }): string {
  return `${env}, else ${fallback}`
}

const STORE_HINT = `(--database or ${settings.databaseUrl.env} set the location; serve, import, pull and account add create a new one)`

async function firstLine(): Promise<string> {
  try {
    for await (const line of createInterface({ input: process.stdin })) return line
    return ''
  } finally {
    // The writer may keep the pipe open, which would keep this process alive.
    process.stdin.destroy()
  }
}
