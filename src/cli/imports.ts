import { type Command, InvalidArgumentError, Option } from 'commander'
import { listFiles, undoFile } from '../accounts/imported-files.ts'
import { parseId } from '../contract/parameters.ts'
import { formatTimestamp } from '../contract/time.ts'
import { accountOption } from './accounts.ts'
import {
  databaseOption,
  jsonOption,
  print,
  printRows,
  requireConfirmation,
  type StoreOptions,
  withAccount,
  withOptions,
} from './terminal.ts'

interface Flags extends StoreOptions {
  readonly account: string
  readonly json?: boolean
  readonly yes?: boolean
}

export function addImportsCommands(program: Command) {
  const imports = program
    .command('imports')
    .summary('list the files that brought records in, and undo one')
    .description('Files that brought records of an account in, with import or in the browser.')

  withOptions(imports.command('list'), accountOption(), databaseOption(), jsonOption())
    .description('Lists the last files, the newest first, and how many records undoing each would remove.')
    .action(list)

  withOptions(
    imports.command('undo').argument('<id>', 'number of the file in the list', parseFileId),
    accountOption(),
    new Option('--yes', 'remove without a question'),
    databaseOption(),
  )
    .description('Removes the records that only this file brought. What it changed stays as it is.')
    .action(undo)
}

async function list(flags: Flags) {
  const files = await withAccount(flags, (store, { id }) => listFiles(store, id))
  printRows(
    files.map(file => ({ ...file, at: formatTimestamp(file.at) })),
    [
      'id',
      'at',
      'name',
      ['new', row => row.added],
      ['changed', row => row.replaced],
      ['undo removes', row => row.removable],
    ],
    flags.json,
  )
}

async function undo(file: number, flags: Flags) {
  const { removable, kept, replaced } = await withAccount(flags, async (store, { id: accountId }) => {
    const [found] = await listFiles(store, accountId, file)
    const count = found?.removable ?? 0
    if (found !== undefined && flags.yes !== true) await requireConfirmation('--yes', `Remove ${count} records?`)
    return undoFile(store, { accountId, file }, Date.now())
  })
  print(`${removable} records are removed.`)
  if (kept > 0) print(`${kept} stay: something else has brought or changed them since.`)
  if (replaced > 0) print(`${replaced} that it changed stay as they are.`)
}

function parseFileId(text: string): number {
  const id = parseId(text)
  if (id === undefined) throw new InvalidArgumentError('It must be a number from `imports list`.')
  return id
}
