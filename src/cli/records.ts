import { type Command, Option } from 'commander'
import { findAccount } from '../accounts/accounts.ts'
import { allowRecords, deleteRecords, listDeleted, ownKinds } from '../accounts/deleted-records.ts'
import { listFiles, undoFile } from '../accounts/imported-files.ts'
import { accountOption } from './accounts.ts'
import { listing, type StoreOptions, withAccount } from './opening.ts'
import { databaseOption, idParser, withOptions } from './options.ts'
import { print, say } from './print.ts'
import { requireConfirmation } from './terminal.ts'
import type { Store } from '../store/index.ts'

/** Taking out again what came in: single records, and what a file added. */

interface Flags extends StoreOptions {
  readonly account: string
  readonly yes?: boolean
}

export function addRecordCommands(program: Command) {
  const record = program
    .command('record')
    .summary('delete single records, and allow deleted ones again')
    .description(
      'Records that were deleted stay away: no import and no pull brings them back until they are allowed again.',
    )

  addList(record, (store, accountId) => listDeleted(store, accountId, { limit: MAX_ROWS })).description(
    'Lists the records that were deleted, the newest deletions first.',
  )

  withOptions(withRecord(record.command('remove')), accountOption(), yesOption('delete'), databaseOption())
    .description('Deletes a record.')
    .action(async (kind: string, id: number, flags: Flags) => {
      await withAccount(flags, async (store, { id: accountId, username }) => {
        await requireConfirmation(flags, `Delete ${kind} ${id} of ${username}?`)
        await deleteRecords(store, { accountId, records: [{ kind, id }] }, Date.now())
      })
      say('It is deleted.')
    })

  withOptions(withRecord(record.command('allow')), accountOption(), databaseOption())
    .description('Allows imports and pulls to bring a deleted record again.')
    .action(async (kind: string, id: number, flags: Flags) => {
      await withAccount(flags, (store, { id: accountId }) =>
        allowRecords(store, { accountId, records: [{ kind, id }] }, Date.now()),
      )
      say('It comes back with the next import or pull that has it.')
    })
}

function withRecord(command: Command): Command {
  return command
    .argument('<kind>', ownKinds.map(({ name }) => name).join(', '))
    .argument('<id>', 'its number', idParser('the number of a record'))
}

const MAX_ROWS = 100_000

export function addImportsCommands(program: Command) {
  const imports = program
    .command('imports')
    .summary('list the files that brought records in, and undo one')
    .description('Files that brought records of an account in, with import or in the browser.')

  addList(imports, listFiles).description(
    'Lists the last files, the newest first, and how many records undoing each would remove.',
  )

  const file = idParser('a number from `imports list`')
  withOptions(
    imports.command('undo').argument('<id>', 'number of the file in the list', file),
    accountOption(),
    yesOption('remove'),
    databaseOption(),
  )
    .description('Removes the records that only this file brought. What it changed stays as it is.')
    .action(async (file: number, flags: Flags) => {
      const { removable, kept, replaced } = await withAccount(flags, async (store, { id: accountId }) => {
        const [found] = await listFiles(store, accountId, file)
        if (found !== undefined) await requireConfirmation(flags, `Remove ${found.removable} records?`)
        return undoFile(store, { accountId, file }, Date.now())
      })
      print(`${removable} records are removed.`)
      if (kept > 0) print(`${kept} stay: something else has brought or changed them since.`)
      if (replaced > 0) print(`${replaced} that it changed stay as they are.`)
    })
}

function addList(command: Command, rows: (store: Store, accountId: number) => Promise<readonly object[]>): Command {
  const ofAccount = async (store: Store, { account }: Flags) => rows(store, (await findAccount(store, account)).id)
  return listing(command.command('list'), ofAccount, accountOption())
}

function yesOption(what: string): Option {
  return new Option('--yes', `${what} without a question`)
}
