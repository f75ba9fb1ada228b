import { tmpdir } from 'node:os'
import type { Command, Option } from 'commander'
import { type AccountFacts, findAccount } from '../accounts/accounts.ts'
import { eraseDeleted } from '../accounts/removal.ts'
import { openMigrated } from '../archive/migrate.ts'
import { removeLeftWorkFolders, workFoldersOf } from '../backup/files.ts'
import { databaseUrl, readConfig, settings } from '../config.ts'
import { Refusal } from '../contract/refusal.ts'
import { messageOf, open, type OpenOptions } from '../store/index.ts'
import { type Store, StoreError, StoreLocationError, StoreUnavailableError } from '../store/store.ts'
import { UploadFolder } from '../uploads/folder.ts'
import { databaseOption, jsonOption, withOptions } from './options.ts'
import { printRows, say } from './print.ts'

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
  await using store = await openStore(databaseUrlOf(flags), {
    busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS,
    create: false,
    ...(options.create === true ? {} : { schema: 'current' }),
    ...options,
  })
  if (store.erase !== undefined && options.exclusive !== true && options.schema !== 'any') await eraseLeft(store)
  return await work(store)
}

/** Runs work on the account that an option names. Throws Refusal if there is none. */
export function withAccount<Result>(
  flags: StoreOptions & { readonly account: string },
  work: (store: Store, account: AccountFacts) => Promise<Result>,
): Promise<Result> {
  return withStore(flags, async store => work(store, await findAccount(store, flags.account)))
}

/** Makes a command that prints rows, as a table or as JSON. */
export function listing<Flags extends StoreOptions>(
  command: Command,
  rows: (store: Store, flags: Flags) => Promise<readonly object[]>,
  ...options: Option[]
): Command {
  return withOptions(command, ...options, databaseOption(), jsonOption()).action(
    async (flags: Flags & { readonly json?: boolean }) =>
      printRows(await withStore(flags, store => rows(store, flags)), flags.json),
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

const STORE_HINT = `(--database or ${settings.databaseUrl.env} set the location; serve, import, pull and account add create a new one)`
