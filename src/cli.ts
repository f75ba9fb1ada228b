import { Command, CommanderError } from 'commander'
import { ImportError } from './archive/import.ts'
import { addAccountCommands, addLinkCommands } from './cli/accounts.ts'
import { addArchiveCommands } from './cli/archive.ts'
import { addBackupCommand } from './cli/backup.ts'
import { addServeCommands } from './cli/serve.ts'
import { InterruptedError, say, UsageError } from './cli/terminal.ts'
import { addTokenCommands } from './cli/tokens.ts'
import { isWorker } from './cli/workers.ts'
import { ConfigError, settings } from './config.ts'
import { StoreError, StoreUnavailableError } from './store/index.ts'
import { SchemaError } from './store/migrations.ts'
import { RefusedError } from './accounts/errors.ts'

/** What a command ends with. */
const EXIT = { refused: 1, usage: 2, storage: 3, interrupted: 130 }

const program = new Command('lockstep')
  .description('A self-hosted read API for lock and training history.')
  .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
  .showHelpAfterError('(add --help to see what there is)')
  .exitOverride()
  .addHelpText(
    'after',
    `
Settings come from the environment; the most used are ${settings.databaseUrl.env}, ${settings.host.env} and ${settings.port.env}.
Exit codes: 0 done, 1 data refused, 2 wrong usage, 3 storage, 130 interrupted.`,
  )

addServeCommands(program)
addArchiveCommands(program)
addBackupCommand(program)
addAccountCommands(program)
addLinkCommands(program)
addTokenCommands(program)

process.stdout.on('error', error => {
  // Whoever read our output has seen enough.
  process.exit('code' in error && error.code === 'EPIPE' ? 0 : EXIT.storage)
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
  // The channel to the process that supervises it would keep a worker alive.
  if (isWorker) process.exit()
}

/** Says what went wrong and returns the exit code for it. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage
  if (error instanceof InterruptedError) return tell(error, EXIT.interrupted)
  if (error instanceof RefusedError || error instanceof ImportError) return tell(error, EXIT.refused)
  if (error instanceof UsageError || error instanceof ConfigError) return tell(error, EXIT.usage)
  if (error instanceof StoreError || error instanceof SchemaError || error instanceof StoreUnavailableError) {
    return tell(error, EXIT.storage)
  }
  // Of the database itself, or of the system: a disk that is full, a file that went away.
  if (error instanceof Error && ('errcode' in error || 'severity' in error || 'syscall' in error)) {
    return tell(error, EXIT.storage)
  }
  throw error
}

function tell({ message }: Error, code: number): number {
  say(`lockstep: ${message}`)
  return code
}
