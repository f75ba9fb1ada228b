import { type Command, Option } from 'commander'
import { addLink, findAccount, listLinks, removeLink } from '../accounts/accounts.ts'
import { databaseOption, jsonOption, printRows, say, type StoreOptions, withOptions, withStore } from './terminal.ts'

export function addLinkCommands(program: Command) {
  const link = program
    .command('link')
    .summary('let accounts read the records of others')
    .description('Links: who may read whose records.')

  for (const [name, description, change, done] of [
    ['add', 'Lets the partner read the records of the owner.', addLink, 'The link is set.'],
    ['remove', 'Ends the access of the partner.', removeLink, 'The link is removed.'],
  ] as const) {
    withOptions(
      link.command(name),
      new Option('--owner <id|username>', 'whose records').makeOptionMandatory(),
      new Option('--partner <id|username>', 'who may read them').makeOptionMandatory(),
      databaseOption(),
    )
      .description(description)
      .action(async (flags: StoreOptions & { owner: string; partner: string }) => {
        await withStore(flags, async store => {
          const owner = await findAccount(store, flags.owner)
          const partner = await findAccount(store, flags.partner)
          await change(store, owner.id, partner.id)
        })
        say(done)
      })
  }

  withOptions(link.command('list'), databaseOption(), jsonOption())
    .description('Lists all links.')
    .action(async (flags: StoreOptions & { json?: boolean }) => {
      printRows(
        await withStore(flags, listLinks),
        { owner: row => `${row.owner} (${row.ownerId})`, partner: row => `${row.partner} (${row.partnerId})` },
        flags.json,
      )
    })
}
