import type { Command } from 'commander'
import { retryRejected } from '../archive/retry-rejected.ts'
import { countRejected, findRejected, listRejected } from '../archive/rejected-rows.ts'
import { type StoreOptions, withStore } from './opening.ts'
import { databaseOption, idParser, jsonOption, withOptions } from './options.ts'
import { print, printRows, say, writeToStdout } from './print.ts'
import { Refusal } from '../contract/refusal.ts'

export function addRejectedCommands(program: Command) {
  const rejected = program
    .command('rejected')
    .summary('see rows that could not be stored, and try them again')
    .description('Rows of imports and pulls that could not be stored as records.')

  withOptions(rejected.command('list'), databaseOption(), jsonOption())
    .description('Lists rejected rows by reason, with the first row of each; --json lists all of them.')
    .action(async (flags: StoreOptions & { json?: boolean }) => {
      const rows = await withStore(flags, listRejected)
      if (flags.json === true) return printRows(rows, true)
      const groups = Map.groupBy(rows, ({ source, kind, reason }) => JSON.stringify([source, kind, reason]))
      printRows([...groups.values()].map(group => ({ ...group[0], rows: group.length })))
    })

  withOptions(
    rejected
      .command('show')
      .argument('<id>', 'number of the row in the list', idParser('a number from `rejected list`')),
    databaseOption(),
  )
    .description('Prints a rejected row as it was received.')
    .action(async (id: number, flags: StoreOptions) => {
      const row = await withStore(flags, store => findRejected(store, id))
      if (row === undefined) throw new Refusal('refused', 'there is no such row: see `lockstep rejected list`')
      const { raw, encoding, reason } = row
      say(encoding === 'utf-8' ? reason : `${reason} (shown in base64)`)
      await writeToStdout(`${raw}\n`)
    })

  withOptions(rejected.command('retry'), databaseOption())
    .description(
      'Tries again to store rejected rows. Records that are stored with other content stay as they are. The exit code is 1 if rows are rejected and none was stored.',
    )
    .action(async (flags: StoreOptions) => {
      const { tried, stored, left } = await withStore(flags, async store => {
        const retried = await retryRejected(store)
        return { ...retried, left: await countRejected(store) }
      })
      if (stored === 0 && left > 0) process.exitCode = NONE_STORED
      print(`${stored} of ${tried} rows are stored now; ${left} ${left === 1 ? 'stays' : 'stay'} rejected.`)
    })
}

const NONE_STORED = 1
