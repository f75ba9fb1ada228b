import { type Command, InvalidArgumentError, Option } from 'commander'
import {
  type AccountFacts,
  addAccount,
  addLink,
  findAccount,
  listAccounts,
  listLinks,
  removeAccount,
  removeLink,
  setTier,
} from '../accounts/accounts.ts'
import { parseId } from '../contract/parameters.ts'
import { type Tier, tiers } from '../contract/people.ts'
import { formatTimestamp } from '../contract/time.ts'
import { setPassword } from '../accounts/passwords.ts'
import { parseUntil } from './instants.ts'
import {
  askPassword,
  confirmOr,
  databaseOption,
  jsonOption,
  printRows,
  say,
  type StoreOptions,
  UsageError,
  withOptions,
  withStore,
} from './terminal.ts'

export function addAccountCommands(program: Command) {
  const account = program
    .command('account')
    .summary('add, list, change and remove accounts')
    .description('Accounts: whose records there are, and who may sign in.')

  withOptions(
    account.command('add'),
    new Option('--username <name>', 'name of the account').makeOptionMandatory(),
    new Option('--id <id>', 'identifier; the next free one if not given').argParser(wholeId),
    new Option('--tier <tier>', 'subscription tier').choices([...tiers, 'none']).default('ultra'),
    databaseOption(),
    jsonOption(),
  )
    .description('Adds an account.')
    .action(async (flags: StoreOptions & { username: string; id?: number; tier: Tier | 'none'; json?: boolean }) => {
      const { username, id, tier } = flags
      const added = await withStore(flags, store => addAccount(store, { username, id, tier: tierOrNull(tier) }), {
        create: true,
      })
      printAccounts([added], flags.json)
    })

  withOptions(account.command('list'), databaseOption(), jsonOption())
    .description('Lists all accounts.')
    .action(async (flags: StoreOptions & { json?: boolean }) => {
      printAccounts(await withStore(flags, listAccounts), flags.json)
    })

  withOptions(
    account.command('set-tier'),
    accountOption(),
    new Option('--tier <tier>', 'subscription tier').choices([...tiers, 'none']).makeOptionMandatory(),
    new Option('--until <time>', 'when it ends: RFC 3339, or a day that still belongs').argParser(parseUntil),
    databaseOption(),
  )
    .description('Gives an account a subscription tier, or takes it away. Without a tier its tokens do not work.')
    .action(async (flags: StoreOptions & { account: string; tier: Tier | 'none'; until?: number }) => {
      await withStore(flags, async store => {
        const { id } = await findAccount(store, flags.account)
        await setTier(store, id, tierOrNull(flags.tier), flags.until ?? null)
      })
      say('The tier is set.')
    })

  // A password that somebody gives as an argument all the same must not be repeated by an error about arguments.
  withOptions(account.command('set-password').allowExcessArguments(), accountOption(), databaseOption())
    .description('Sets the password of an account: asked for on a terminal, else the first line of stdin.')
    .action(async (flags: StoreOptions & { account: string }, { args }: Command) => {
      if (args.length > 0) {
        throw new UsageError('a password is no argument, which others can see: type it when asked, or pipe it to stdin')
      }
      await withStore(flags, async store => {
        const { id } = await findAccount(store, flags.account)
        await setPassword(store, id, await askPassword())
      })
      say('The password is set.')
    })

  withOptions(account.command('remove'), accountOption(), new Option('--yes', 'do not ask'), databaseOption())
    .description('Removes an account with all its records, tokens and links.')
    .action(async (flags: StoreOptions & { account: string; yes?: boolean }) => {
      await withStore(flags, async store => {
        const { id, username } = await findAccount(store, flags.account)
        if (flags.yes !== true) {
          await confirmOr('--yes', `Remove account ${id} (${username}) with all its records, tokens and links?`)
        }
        await removeAccount(store, id)
      })
      say('The account is removed.')
    })
}

export function addLinkCommands(program: Command) {
  const link = program
    .command('link')
    .summary('let accounts read the records of others')
    .description('Links: who may read whose records.')

  for (const [name, description, change, done] of [
    ['add', 'Lets the partner read the records of the owner.', addLink, 'The link is set.'],
    ['remove', 'Takes the access of the partner away.', removeLink, 'The link is removed.'],
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

export function accountOption(): Option {
  return new Option('--account <id|username>', 'which account').makeOptionMandatory()
}

function printAccounts(accounts: readonly AccountFacts[], json: boolean | undefined) {
  printRows(
    accounts.map(account => ({
      id: account.id,
      username: account.username,
      subscriptionTier: account.subscription_tier,
      subscriptionEndsAt: account.subscription_ends_at === null ? null : formatTimestamp(account.subscription_ends_at),
    })),
    {
      id: row => row.id,
      username: row => row.username,
      tier: row => row.subscriptionTier,
      until: row => row.subscriptionEndsAt,
    },
    json,
  )
}

function tierOrNull(tier: Tier | 'none'): Tier | null {
  return tier === 'none' ? null : tier
}

function wholeId(text: string): number {
  const id = parseId(text)
  if (id === undefined || id < 1) throw new InvalidArgumentError('It must be an integer of 1 or more.')
  return id
}
