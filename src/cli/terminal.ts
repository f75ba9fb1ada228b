import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { cancel, confirm, isCancel, password } from '@clack/prompts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type AccountFacts, findAccount } from '../accounts/accounts.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../accounts/passwords.ts'
import { eraseDeleted } from '../accounts/removal.ts'
import { openMigrated } from '../archive/migrate.ts'
import { removeLeftWorkFolders, workFoldersOf } from '../backup/files.ts'
import { type Config, databaseUrl, readConfig, settings } from '../config.ts'
import { escapeControls } from '../contract/control-characters.ts'
import { parseId } from '../contract/parameters.ts'
import { formatTimestamp } from '../contract/time.ts'
import { UploadFolder } from '../uploads/folder.ts'
import {
  messageOf,
  open,
  type OpenOptions,
  type Store,
  StoreError,
  StoreLocationError,
  StoreUnavailableError,
} from '../store/index.ts'
import { Refusal } from '../contract/refusal.ts'

/** What all commands share: opening the store, printing and asking. */

export function databaseOption(): Option {
  return new Option('--database <url>', `where the records are (${sourceOf(settings.databaseUrl)})`)
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON instead of a table')
}

/** A command runs once and alone, so it can wait for longer than a server may. */
export const COMMAND_BUSY_TIMEOUT_MS = 60_000

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
    busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS,
    create: false,
    ...(options.create === true ? {} : { schema: 'current' }),
    ...options,
  })
  try {
    if (store.erase !== undefined && options.exclusive !== true && options.schema !== 'any') await eraseLeft(store)
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Runs work on the account that an option names. Throws Refusal if there is none. */
export function withAccount<Result>(
  flags: StoreOptions & { readonly account: string },
  work: (store: Store, account: AccountFacts) => Promise<Result>,
): Promise<Result> {
  return withStore(flags, async store => work(store, await findAccount(store, flags.account)))
}

/** Runs work on a store that is only read, and of which nothing is changed or removed. */
export async function withInspected<Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await open(url, { busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS, create: false, schema: 'any', inspect: true })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** The address of the service, as far as the settings say it. A service on all addresses has one on this machine. */
export function serviceAddress({ publicUrl, host, port }: Pick<Config, 'publicUrl' | 'host' | 'port'>): string {
  if (publicUrl !== '') return publicUrl
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Says of a link that begins with `serviceAddress` that it may lead nowhere. */
export function sayIfGuessed({ publicUrl }: Pick<Config, 'publicUrl'>) {
  if (publicUrl === '')
    say(
      `The start of this link is a guess: if people reach the service at another address or port, set ${settings.publicUrl.env} to that.`,
    )
}

/** Erases what a killed command has deleted but not erased. If that is not possible now, says so. */
async function eraseLeft(store: Store) {
  try {
    await eraseDeleted(store)
  } catch (error) {
    if (!(error instanceof StoreError || error instanceof StoreUnavailableError)) throw error
    say(error.message)
  }
}

/** The database that the options or the settings name. */
export function databaseUrlOf({ database }: StoreOptions): string {
  return database === undefined
    ? readConfig(process.env, ['databaseUrl']).databaseUrl
    : databaseOf('--database', database)
}

/** The database that an option names. Throws Refusal. */
export function databaseOf(option: string, value: string): string {
  try {
    return databaseUrl(value)
  } catch (error) {
    throw new Refusal('usage', `${option} ${messageOf(error)}`)
  }
}

/**
 * Opens a store; brings its schema up to date unless `options.schema` says what to do with it. Throws StoreError that says what to do.
 * Unencrypted copies that killed commands left, and old uploads, are removed first.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  for (const parent of new Set([workFoldersOf(url), tmpdir()])) await removeLeftWorkFolders(parent)
  await new UploadFolder(url).sweep(Date.now()).catch(() => {})
  try {
    if (options.schema !== undefined) return await open(url, options)
    return await openMigrated(url, options, saySaved)
  } catch (error) {
    if (!(error instanceof StoreLocationError)) throw error
    throw new StoreError(`${error.message}\n${STORE_HINT}`, { cause: error })
  }
}

/** Before records are rewritten: says where their copy is. */
export function saySaved(copy: string) {
  say(`Records are rewritten for this version. The database as it was is in ${copy}: remove it when all is well.`)
}

/** Writes data to stdout. */
export function print(text: string) {
  process.stdout.write(`${escapeControls(text)}\n`)
}

/** Writes data to stdout, as it is unless that is a terminal, and waits while the reader is slow. */
export async function writeToStdout(data: string | Uint8Array): Promise<void> {
  const shown = process.stdout.isTTY && typeof data === 'string' ? escapeControls(data) : data
  if (!process.stdout.write(shown)) await once(process.stdout, 'drain')
}

/** Writes everything else to stderr. */
export function say(text: string) {
  process.stderr.write(`${escapeControls(text)}\n`)
}

/** Prints rows as a table of their fields, or of those that are named, or as JSON. Numbers under the name of a time are instants. */
export function printRows(rows: readonly object[], json = false, fields?: readonly string[]) {
  const shown = rows.map(row => Object.fromEntries(Object.entries(row).map(shownField)))
  if (json) return print(JSON.stringify(shown, null, 2))
  if (rows.length === 0) return
  const names = fields ?? Object.keys(shown[0] ?? {})
  const titles = names.map(name => name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`))
  const table = [titles, ...shown.map(row => names.map(name => cellText(row[name])))]
  const widths = titles.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0)))
  for (const row of table)
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** As the API has them: names without underscores, and instants as text. */
function shownField([column, value]: readonly [column: string, value: unknown]): [name: string, shown: unknown] {
  const name = column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return [name, typeof value === 'number' && INSTANT.test(name) ? formatTimestamp(value) : value]
}

const INSTANT = /^(at|hour|since|until)$|At$/

/** On one line, as wide as it is shown. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : JSON.stringify(value)
  return escapeControls(text).replaceAll('\n', '\\n')
}

function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Asks for confirmation of what cannot be undone, unless --yes gives it. Throws Refusal if there is no terminal. */
export async function requireConfirmation(flags: { readonly yes?: boolean }, question: string): Promise<void> {
  if (flags.yes === true) return
  if (!isInteractive()) throw new Refusal('usage', 'this cannot be undone: add --yes to go ahead without a question')
  const answer = await confirm({ message: escapeControls(question), initialValue: false, output: process.stderr })
  if (answer !== true) {
    cancel('Nothing was changed.', { output: process.stderr })
    throw new Refusal('interrupted', 'nothing was changed')
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
  if (isCancel(first) || isCancel(second)) throw new Refusal('interrupted', 'nothing was changed')
  if (first !== second) throw new Refusal('usage', 'the two passwords differ: nothing was changed')
  return first
}

export interface StopSignals {
  /** Aborted by the first SIGTERM or SIGINT; a second one ends the program at once. */
  readonly signal: AbortSignal
  readonly isInterrupted: () => boolean
}

/** `message` says what an interrupted command has changed. */
export function stopSignals(message: string): StopSignals {
  const controller = new AbortController()
  const stop = () => controller.abort(new Refusal('interrupted', message))
  let interrupted = false
  process.once('SIGTERM', stop)
  process.once('SIGINT', () => {
    interrupted = true
    stop()
  })
  return { signal: controller.signal, isInterrupted: () => interrupted }
}

/** What reads a number of something; `what` completes "It must be". */
export function idParser(what: string): (text: string) => number {
  return text => {
    const id = parseId(text)
    if (id === undefined) throw new InvalidArgumentError(`It must be ${what}.`)
    return id
  }
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

/** The code of an error of the system, such as ENOENT. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
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
