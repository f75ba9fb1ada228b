import { type Command, Option } from 'commander'
import { addAccount, findAccount, listAccounts, setTier } from '../accounts/accounts.ts'
import { eraseDeleted, removeAccount } from '../accounts/removal.ts'
import { createInvitation, INVITATION_PATH } from '../accounts/invitations.ts'
import { setPassword } from '../accounts/passwords.ts'
import { readConfig, settings } from '../config.ts'
import { type Tier, tiers } from '../contract/people.ts'
import { parseUntil } from './instants.ts'
import { serviceAddress } from './next-steps.ts'
import { listing, type StoreOptions, withAccount, withStore } from './opening.ts'
import { databaseOption, idParser, jsonOption, withOptions } from './options.ts'
import { print, printRows, say } from './print.ts'
import { askPassword, requireConfirmation } from './terminal.ts'
import { Refusal } from '../contract/refusal.ts'

export function addAccountCommands(program: Command) {
  const account = program
    .command('account')
    .summary('add, list, change and remove accounts')
    .description('Accounts: people who own records and may sign in.')

  withOptions(
    account.command('add'),
    new Option('--username <name>', 'name of the account').makeOptionMandatory(),
    new Option('--id <id>', 'id (default: the next free one)').argParser(idParser('an integer of 1 or more')),
    new Option('--tier <tier>', 'subscription tier').choices([...tiers, 'none']).default('ultra'),
    databaseOption(),
    jsonOption(),
  )
    .description('Adds an account.')
    .action(async (flags: StoreOptions & { username: string; id?: number; tier: TierFlag; json?: boolean }) => {
      const { username, id, tier } = flags
      await withStore(
        flags,
        async store => {
          const added = await addAccount(store, { username, id, tier: tierOrNull(tier) })
          printRows([await findAccount(store, String(added.id))], flags.json)
        },
        { create: true },
      )
    })

  listing(account.command('list'), listAccounts).description('Lists all accounts.')

  withOptions(
    account.command('set-tier'),
    accountOption(),
    new Option('--tier <tier>', 'subscription tier').choices([...tiers, 'none']).makeOptionMandatory(),
    new Option('--until <time>', 'when the tier ends: an RFC 3339 date-time, or its last day').argParser(parseUntil),
    databaseOption(),
  )
    .description(
      'Sets the subscription tier of an account, or removes it. API keys of an account without a tier do not work.',
    )
    .action(async (flags: StoreOptions & { account: string; tier: TierFlag; until?: number }) => {
      await withAccount(flags, (store, { id }) => setTier(store, id, tierOrNull(flags.tier), flags.until ?? null))
      say('The tier is set.')
    })

  addSignInCommands(account)

  withOptions(account.command('remove'), accountOption(), new Option('--yes', 'do not ask'), databaseOption())
    .description(
      'Removes an account with all its records, API keys and access, and erases them from the database file. Its id stays marked as removed.',
    )
    .action(async (flags: StoreOptions & { account: string; yes?: boolean }) => {
      await withAccount(flags, async (store, { id, username }) => {
        const what = `account ${id} (${username}) with all its records, API keys and access`
        await requireConfirmation(flags, `Remove ${what}?`)
        await removeAccount(store, id, Date.now())
        say(`The account is removed. Imports and pulls do not bring it back, but account add --id ${id} does.`)
        await eraseDeleted(store)
      })
    })
}

function addSignInCommands(account: Command) {
  // Excess arguments are allowed here and refused below: the message of commander would repeat the password.
  withOptions(account.command('set-password').allowExcessArguments(), accountOption(), databaseOption())
    .description(
      'Sets the password of an account. It is asked for on a terminal, else read from the first line of stdin.',
    )
    .action(async (flags: StoreOptions & { account: string }, { args }: Command) => {
      if (args.length > 0) {
        throw new Refusal(
          'usage',
          'a password must not be an argument, because others can see it: type it when asked, or pipe it to stdin',
        )
      }
      await withAccount(flags, async (store, { id }) =>
        setPassword(store, { accountId: id, password: await askPassword() }, Date.now()),
      )
      say('The password is set.')
    })

  withOptions(account.command('invite'), accountOption(), databaseOption())
    .description(
      `Prints a link with which the account chooses a password or a passkey, once and within 24 hours. It begins with ${settings.publicUrl.env}.`,
    )
    .action(async (flags: StoreOptions & { account: string }) => {
      const address = serviceAddress(readConfig(process.env, ['publicUrl', 'host', 'port']))
      const secret = await withAccount(flags, (store, { id }) => createInvitation(store, { accountId: id }, Date.now()))
      print(`${address}${INVITATION_PATH}${secret}`)
      say(
        'Whoever opens this link chooses how to sign in to the account: pass it on in private. Earlier links no longer work.',
      )
    })
}

export function accountOption(): Option {
  return new Option('--account <id|username>', 'which account').makeOptionMandatory()
}

type TierFlag = Tier | 'none'

function tierOrNull(tier: TierFlag): Tier | null {
  return tier === 'none' ? null : tier
}
