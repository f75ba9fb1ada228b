import { Command, CommanderError, Help } from 'commander'
import { ImportError } from './archive/report.ts'
import { say } from './cli/print.ts'
import { addVersionOptions, asksForVersion, printVersion } from './cli/version.ts'
// Loaded first in a worker: its supervisor sends it a message at once.
import { isWorker } from './cli/workers.ts'
import { settings } from './config.ts'
import { Refusal, type RefusalCode } from './contract/refusal.ts'
import { SourceError } from './pull/source.ts'
import { StoreError, StoreUnavailableError } from './store/index.ts'

/** The commands of each file, in the order of the help. A command loads its file alone, so that it starts sooner. */
const files: readonly (readonly [commands: readonly string[], load: () => Promise<(program: Command) => void>])[] = [
  [['serve', 'migrate'], async () => (await import('./cli/serve.ts')).addServeCommands],
  [['demo'], async () => (await import('./cli/demo.ts')).addDemoCommand],
  [['doctor'], async () => (await import('./cli/doctor.ts')).addDoctorCommand],
  [['pull'], async () => (await import('./cli/pull.ts')).addPullCommands],
  [['import', 'export'], async () => (await import('./cli/import-export.ts')).addArchiveCommands],
  [['page'], async () => (await import('./cli/page.ts')).addPageCommand],
  [['imports'], async () => (await import('./cli/records.ts')).addImportsCommands],
  [['record'], async () => (await import('./cli/records.ts')).addRecordCommands],
  [['rejected'], async () => (await import('./cli/rejected.ts')).addRejectedCommands],
  [['backup'], async () => (await import('./cli/backup.ts')).addBackupCommands],
  [['restore'], async () => (await import('./cli/restore.ts')).addRestoreCommand],
  [['move'], async () => (await import('./cli/move.ts')).addMoveCommand],
  [['account'], async () => (await import('./cli/accounts.ts')).addAccountCommands],
  [['access', 'link'], async () => (await import('./cli/access.ts')).addAccessCommands],
  [['key', 'token'], async () => (await import('./cli/keys.ts')).addKeyCommands],
  [['mcp'], async () => (await import('./cli/mcp.ts')).addMcpCommand],
  // It completes all commands.
  [[], async () => (await import('./cli/completion.ts')).addCompletionCommand],
  [['homeassistant'], async () => (await import('./cli/homeassistant.ts')).addHomeAssistantCommands],
  [['upload'], async () => (await import('./cli/upload.ts')).addUploadCommand],
]

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

/** The program with a command, or with all commands. @public Manual pages are made from it. */
export async function makeProgram(name?: string): Promise<Command> {
  const program = new Command('lockstep')
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
  const named = files.filter(([commands]) => commands.some(command => command === name))
  for (const [, load] of named.length === 0 ? files : named) (await load())(program)
  return program
}

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
    else await (await makeProgram(words[0])).parseAsync(words, { from: 'user' })
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
