import { type Command, Option } from 'commander'
import { findAccount } from '../accounts/accounts.ts'
import { createKey, listKeys, revokeKey } from '../accounts/api-keys.ts'
import { defaultScopes, scopes, type Scope } from '../contract/endpoint.ts'
import { MAX_NAME_LENGTH } from '../contract/names.ts'
import { formatTimestamp } from '../contract/time.ts'
import { accountOption } from './accounts.ts'
import { parseExpiry } from './instants.ts'
import { listing, type StoreOptions, withAccount, withStore } from './opening.ts'
import { databaseOption, idParser, withOptions } from './options.ts'
import { print, say } from './print.ts'

export function addKeyCommands(program: Command) {
  const key = program
    .command('key')
    .alias('token')
    .summary('create, list and revoke API keys')
    .description('API keys: programs read the API with them.')

  withOptions(
    key.command('create'),
    accountOption(),
    new Option('--name <name>', `what it is for, 1 to ${MAX_NAME_LENGTH} characters`).makeOptionMandatory(),
    new Option('--scope <scope...>', `what it may read; ${defaultScopes.join(', ')} if not given`).choices(scopes),
    new Option('--expires <when>', 'a span such as 30d, a time, or never')
      .argParser(parseExpiry)
      .default(parseExpiry('365d'), '365d'),
    databaseOption(),
  )
    .description('Creates an API key and prints it. It is not shown again.')
    .action(async (flags: CreateFlags) => {
      const now = Date.now()
      const expiresAt = flags.expires(now)
      const { name, scope: scopes = defaultScopes } = flags
      const key = await withAccount(flags, (store, { id: accountId }) =>
        createKey(store, { accountId, name, scopes, expiresAt }, now),
      )
      print(key)
      if (flags.scope?.includes('shared:access') === false) {
        say("It reads this account's own records only, because --scope leaves out shared:access.")
      }
      say('Store it now: it is not shown again.')
      say(expiresAt === null ? 'It never expires.' : `It expires at ${formatTimestamp(expiresAt)}.`)
    })

  listing(
    key.command('list'),
    async (store, { account }: StoreOptions & { readonly account?: string }) => {
      const keys = await listKeys(store, account === undefined ? undefined : (await findAccount(store, account)).id)
      return keys.map(({ replaced_at: _, ...key }) => ({ ...key, scopes: key.scopes.split(' ') }))
    },
    new Option('--account <id|username>', 'only of this account'),
  ).description('Lists API keys, revoked ones included.')

  withOptions(
    key.command('revoke').argument('<id>', 'id of the key, from key list', idParser(KEY_ID)),
    databaseOption(),
  )
    .description('Revokes an API key for good, within a second.')
    .action(async (id: number, flags: StoreOptions) => {
      await withStore(flags, store => revokeKey(store, { id }, Date.now()))
      say('The API key is revoked.')
    })
}

const KEY_ID = 'the id of an API key, as key list shows it'

interface CreateFlags extends StoreOptions {
  readonly account: string
  readonly name: string
  readonly scope?: readonly Scope[]
  readonly expires: (now: number) => number | null
}
