import { type Command, Option } from 'commander'
import { findAccount } from '../accounts/accounts.ts'
import { createKey, listKeys, revokeKey, type ListedKey } from '../accounts/api-keys.ts'
import { defaultScopes, scopes, type Scope } from '../contract/endpoint.ts'
import { MAX_NAME_LENGTH } from '../contract/names.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import { accountOption } from './accounts.ts'
import { parseExpiry } from './instants.ts'
import {
  databaseOption,
  idParser,
  jsonOption,
  print,
  printRows,
  say,
  type StoreOptions,
  withAccount,
  withOptions,
  withStore,
} from './terminal.ts'
import { Refusal } from '../contract/refusal.ts'

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
    .action(create)

  withOptions(
    key.command('list'),
    new Option('--account <id|username>', 'only of this account'),
    databaseOption(),
    jsonOption(),
  )
    .description('Lists API keys, revoked ones included.')
    .action(async (flags: StoreOptions & { account?: string; json?: boolean }) => {
      const keys = await withStore(flags, async store =>
        listKeys(store, flags.account === undefined ? undefined : (await findAccount(store, flags.account)).id),
      )
      printKeys(keys, flags.json)
    })

  withOptions(
    key.command('revoke').argument('[id]', 'id of the key, from key list', idParser(KEY_ID)),
    new Option('--all', 'all keys of the account'),
    new Option('--account <id|username>', 'whose keys, with --all'),
    databaseOption(),
  )
    .description('Revokes an API key, or all of an account, for good, within a second.')
    .action(revoke)
}

const KEY_ID = 'the id of an API key, as key list shows it'

async function revoke(id: number | undefined, flags: StoreOptions & { all?: boolean; account?: string }) {
  const { all = false, account } = flags
  if (all !== (account !== undefined) || all === (id !== undefined)) {
    throw new Refusal('usage', 'name one key by its id, or all keys of an account with --all --account')
  }
  if (id !== undefined) {
    await withStore(flags, store => revokeKey(store, { id }, Date.now()))
    say('The API key is revoked.')
    return
  }
  await withAccount({ ...flags, account: account ?? '' }, (store, owner) =>
    revokeKey(store, { accountId: owner.id }, Date.now()),
  )
  say('All API keys of the account are revoked.')
}

interface CreateFlags extends StoreOptions {
  readonly account: string
  readonly name: string
  readonly scope?: readonly Scope[]
  readonly expires: (now: number) => number | null
}

async function create(flags: CreateFlags) {
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
}

function printKeys(keys: readonly ListedKey[], json: boolean | undefined) {
  const rows = keys.map(row => ({
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    last4: row.last4,
    scopes: row.scopes.split(' '),
    createdAt: formatTimestamp(row.created_at),
    expiresAt: formatOptionalTimestamp(row.expires_at),
    lastUsedAt: formatOptionalTimestamp(row.last_used_at),
    revokedAt: formatOptionalTimestamp(row.revoked_at),
  }))
  printRows(
    rows,
    [
      'id',
      ['account', row => row.accountId],
      'name',
      ['key', row => `lks_…${row.last4}`],
      ['scopes', row => row.scopes.join(' ')],
      ['created', row => row.createdAt],
      ['expires', row => row.expiresAt ?? 'never'],
      ['last used', row => row.lastUsedAt ?? 'never'],
      ['revoked', row => row.revokedAt],
    ],
    json,
  )
}
