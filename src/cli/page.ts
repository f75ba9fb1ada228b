import { type Command, Option } from 'commander'
import { readPreferences } from '../accounts/preferences.ts'
import { recordOperatorExport } from '../accounts/read-log.ts'
import { workFoldersOf } from '../backup/files.ts'
import { knownTimeZone } from '../contract/time.ts'
import { keptPage } from '../dashboard/keep/kept-page.ts'
import { inWords, languageOf } from '../dashboard/text/text.ts'
import { isUnits } from '../dashboard/visit.ts'
import { STDOUT, writeOutput } from './output-file.ts'
import { databaseUrlOf, type StoreOptions, withAccount } from './opening.ts'
import { databaseOption, withOptions } from './options.ts'

export function addPageCommand(program: Command) {
  withOptions(
    program.command('page'),
    new Option('--account <id|username>', 'whose records').makeOptionMandatory(),
    new Option('--out <file>', 'the file to write or replace; - is stdout').default(STDOUT),
    databaseOption(),
  )
    .summary('write the history of an account as one HTML file')
    .description('Writes all years and tables of an account as one HTML file, which needs no network.')
    .action(async (flags: StoreOptions & { readonly account: string; readonly out: string }) => {
      await withAccount(flags, async (store, { id, username }) => {
        const { timeZone, units, language } = await readPreferences(store, id)
        await recordOperatorExport(store, id)
        const keeper = {
          session: { accountId: id, username },
          discreet: false,
          timeZone: knownTimeZone(timeZone) ?? 'UTC',
          units: isUnits(units) ? units : ('metric' as const),
        }
        await writeOutput(flags.out, workFoldersOf(databaseUrlOf(flags)), async write => {
          await inWords({ language: languageOf(language) }, async () => {
            for await (const part of keptPage(store, keeper, Date.now())) await write(part)
          })
        })
      })
    })
}
