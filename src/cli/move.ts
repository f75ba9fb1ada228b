import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { fillBackup } from '../backup/create.ts'
import { withWorkFolder, workFoldersOf } from '../backup/files.ts'
import { openVerified } from '../backup/verify.ts'
import { writeTo } from './restore.ts'
import { startProgress } from './progress.ts'
import { databaseOf, databaseUrlOf, type StoreOptions, withStore } from './opening.ts'
import { databaseOption, withOptions } from './options.ts'
import { print } from './print.ts'
import { stopSignals } from './terminal.ts'
import { Refusal } from '../contract/refusal.ts'

export function addMoveCommand(program: Command) {
  withOptions(
    program.command('move'),
    new Option('--to <url>', 'the database to write to; must be empty').makeOptionMandatory(),
    databaseOption(),
  )
    .summary('copy everything into another database, also of the other engine')
    .description(
      'Copies everything (records, accounts, access, API keys, browser sessions, logs) into another database, in one transaction. No other process may have either open; the source stays as it is.',
    )
    .action(async (flags: StoreOptions & { readonly to: string }) => {
      const source = databaseUrlOf(flags)
      if (source === flags.to)
        throw new Refusal('usage', '--to is the database that you are moving from: give another one')
      databaseOf('--to', flags.to)
      const { signal } = stopSignals('interrupted: nothing was moved')
      const progress = startProgress('Reading')
      await withStore(
        flags,
        store =>
          withWorkFolder(workFoldersOf(source), async workFolder => {
            const file = join(workFolder, 'backup.db')
            await fillBackup(store, file, { signal, progress: progress?.show })
            progress?.end()
            await using backup = await openVerified(file, { workFolder, signal })
            const { rows } = await writeTo(flags.to, backup, { keepSessions: true, signal })
            await store.requireAlone()
            print(`moved ${rows} rows`)
          }),
        { exclusive: true },
      )
    })
}
