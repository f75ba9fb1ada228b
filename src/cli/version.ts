import { type Command, Option } from 'commander'
import { open, StoreError, StoreUnavailableError } from '../store/index.ts'
import { currentVersion, schemaVersion } from '../store/migrations.ts'
import { findCommit, version } from '../version.ts'
import { COMMAND_BUSY_TIMEOUT_MS, databaseUrlOf } from './opening.ts'
import { withOptions } from './options.ts'
import { print } from './print.ts'

const FLAGS = ['--version', '--verbose']

/** Adds the options to the help; `runCommand` asks here for the words of the command line first. */
export function addVersionOptions(program: Command) {
  withOptions(
    program,
    new Option('--version', 'print the version, the commit if it is known, and the version of Node.js'),
    new Option('--verbose', 'with --version: also the engine and the schema of the database'),
  )
}

export function asksForVersion(words: readonly string[]): boolean {
  return words.includes('--version') && words.every(word => FLAGS.includes(word))
}

export async function printVersion(words: readonly string[]) {
  const commit = findCommit()
  print(
    `lockstep ${version} (${commit === undefined ? '' : `commit ${commit.slice(0, 12)}, `}Node.js ${process.version})`,
  )
  if (words.includes('--verbose')) print(`database: ${await databaseText()}`)
}

async function databaseText(): Promise<string> {
  try {
    const options = { busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS, create: false, schema: 'any', inspect: true } as const
    await using store = await open(databaseUrlOf({}), options)
    const name = store.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL'
    return `${name}, schema ${await schemaVersion(store)} of ${currentVersion}`
  } catch (error) {
    if (error instanceof StoreError || error instanceof StoreUnavailableError) return error.message
    throw error
  }
}
