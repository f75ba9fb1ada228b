import { Command, CommanderError, Help } from 'commander'
import { ImportError } from './archive/import.ts'
import { addAccountCommands } from './cli/accounts.ts'
import { addArchiveCommands } from './cli/archive.ts'
import { addBackupCommands } from './cli/backup.ts'
import { addCompletionCommand } from './cli/completion.ts'
import { addDemoCommand } from './cli/demo.ts'
import { addDoctorCommand } from './cli/doctor.ts'
import { addAccessCommands } from './cli/access.ts'
import { addHomeAssistantCommands } from './cli/homeassistant.ts'
import { addMcpCommand } from './cli/mcp.ts'
import { addPageCommand } from './cli/page.ts'
import { addMoveCommand } from './cli/move.ts'
import { addPullCommands } from './cli/pull.ts'
import { addImportsCommands, addRecordCommands } from './cli/records.ts'
import { addRejectedCommands } from './cli/rejected.ts'
import { addRestoreCommand } from './cli/restore.ts'
import { addServeCommands } from './cli/serve.ts'
import { say } from './cli/terminal.ts'
import { addKeyCommands } from './cli/keys.ts'
import { addUploadCommand } from './cli/upload.ts'
import { addVersionOptions, asksForVersion, printVersion } from './cli/version.ts'
import { isWorker } from './cli/workers.ts'
import { settings } from './config.ts'
import { Refusal, type RefusalCode } from './contract/refusal.ts'
import { SourceError } from './pull/source.ts'
import { StoreError, StoreUnavailableError } from './store/index.ts'

/** The exit codes of failures. */
const EXIT = { refused: 1, usage: 2, storage: 3, source: 4, interrupted: 130 }

const REFUSAL_EXIT: Readonly<Record<RefusalCode, number>> = {
  refused: EXIT.refused,
  'too-often': EXIT.refused,
  'no-backup': EXIT.refused,
  'wrong-identity': EXIT.refused,
  usage: EXIT.usage,
  interrupted: EXIT.interrupted,
  full: EXIT.refused,
  peer: EXIT.source,
  'peer-away': EXIT.source,
  'no-identity': EXIT.usage,
  busy: EXIT.storage,
  removed: EXIT.source,
}

/** All commands. @public Manual pages are made from it. */
export const program = new Command('lockstep')
  .enablePositionalOptions()
  .description('A self-hosted read API for lock and training history.')
  .configureHelp({
    sortSubcommands: false,
    showGlobalOptions: false,
    optionDescription: option => new Help().optionDescription(option) + (option.mandatory ? ' (required)' : ''),
  })
  .helpCommand('help [command]', 'show the help of a command')
  .showHelpAfterError('(add --help for usage)')
  .exitOverride()
  .addHelpText(
    'after',
    `
Settings are environment variables; the most common are ${settings.databaseUrl.env}, ${settings.host.env} and ${settings.port.env}.
The documents that messages name are in docs, or in /usr/share/doc/lockstep.
Exit codes: 0 done, 1 data refused, 2 wrong usage, 3 storage, 4 another server, 130 interrupted.`,
  )

addVersionOptions(program)
addServeCommands(program)
addDemoCommand(program)
addDoctorCommand(program)
addPullCommands(program)
addArchiveCommands(program)
addPageCommand(program)
addImportsCommands(program)
addRecordCommands(program)
addRejectedCommands(program)
addBackupCommands(program)
addRestoreCommand(program)
addMoveCommand(program)
addAccountCommands(program)
addAccessCommands(program)
addKeyCommands(program)
addMcpCommand(program)
addCompletionCommand(program)
addHomeAssistantCommands(program)
addUploadCommand(program)

if (import.meta.main) {
  process.stdout.on('error', error => {
    // A reader that closes the pipe, as `head` does, is not an error.
    if ('code' in error && error.code === 'EPIPE') process.exit(0)
    process.exit(fail(new Error(`the output cannot be written: ${error.message}`), EXIT.storage))
  })
  await runCommand(process.argv.slice(2))
}

/** Runs a command, and sets the exit code of the process. Resolves when it has ended; `serve` and `demo` go on. */
export async function runCommand(words: readonly string[]): Promise<void> {
  try {
    if (asksForVersion(words)) await printVersion(words)
    else await program.parseAsync(words, { from: 'user' })
  } catch (error) {
    process.exitCode = report(error)
    // The channel to the supervisor would keep a worker alive.
    if (isWorker) process.exit()
  }
}

/** Prints the error and returns its exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage
  if (error instanceof Refusal) return fail(error, REFUSAL_EXIT[error.code])
  if (error instanceof ImportError) return fail(error, EXIT.refused)
  if (error instanceof SourceError) return fail(error, EXIT.source)
  if (error instanceof StoreError || error instanceof StoreUnavailableError) {
    return fail(error, EXIT.storage)
  }
  // An error of the database or of the system, such as a full disk or a missing file.
  if (error instanceof Error && ('errcode' in error || 'severity' in error || 'syscall' in error)) {
    say(`lockstep: ${noAccess(error) ?? error.message}`)
    return EXIT.storage
  }
  throw error
}

/** What to do about a file that this user may not open; undefined for another error. */
function noAccess(error: Error): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException
  if ((code !== 'EACCES' && code !== 'EPERM') || path === undefined) return undefined
  return `this user may not open ${path.replace(/\.lock$/, '')}. An installed lockstep runs as the user of the service: send a file through a pipe, with - in place of its name.`
}

function fail({ message }: Error, code: number): number {
  say(`lockstep: ${message}`)
  return code
}
