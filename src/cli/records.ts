import { type Command, InvalidArgumentError, Option } from 'commander'
import { allowRecords, deleteRecord, listDeleted, ownKinds } from '../accounts/deleted-records.ts'
import { parseId } from '../contract/parameters.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import { accountOption } from './accounts.ts'
import {
  databaseOption,
  jsonOption,
  printRows,
  requireConfirmation,
  say,
  type StoreOptions,
  withAccount,
  withOptions,
} from './terminal.ts'

interface Flags extends StoreOptions {
  readonly account: string
  readonly json?: boolean
  readonly yes?: boolean
}

export function addRecordCommands(program: Command) {
  const record = program
    .command('record')
    .summary('delete single records, and allow deleted ones again')
    .description(
      'Records that were deleted stay away: no import and no pull brings them back until they are allowed again.',
    )

  withOptions(record.command('list'), accountOption(), databaseOption(), jsonOption())
    .description('Lists the records that were deleted, the newest deletions first.')
    .action(list)

  withOptions(
    withRecord(record.command('remove')),
    accountOption(),
    new Option('--yes', 'delete without a question'),
    databaseOption(),
  )
    .description('Deletes a record.')
    .action(remove)

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
    .argument('<id>', 'its number', parseRecordId)
}

async function list(flags: Flags) {
  const rows = await withAccount(flags, (store, { id }) => listDeleted(store, id, { limit: MAX_ROWS }))
  const listed = rows.map(row => ({
    ...row,
    at: formatOptionalTimestamp(row.at),
    deletedAt: formatTimestamp(row.deletedAt),
  }))
  printRows(listed, ['kind', 'id', ['of', row => row.at], ['deleted', row => row.deletedAt]], flags.json)
}

const MAX_ROWS = 100_000

async function remove(kind: string, id: number, flags: Flags) {
  await withAccount(flags, async (store, { id: accountId, username }) => {
    if (flags.yes !== true) await requireConfirmation('--yes', `Delete ${kind} ${id} of ${username}?`)
    await deleteRecord(store, { accountId, kind, id }, Date.now())
  })
  say('It is deleted.')
}

function parseRecordId(text: string): number {
  const id = parseId(text)
  if (id === undefined) throw new InvalidArgumentError('It must be the number of a record.')
  return id
}
