import { type Command, InvalidArgumentError, Option } from 'commander'
import { findAccount } from '../accounts/accounts.ts'
import { allReads } from '../accounts/read-log-queries.ts'
import { listAllAccess } from '../accounts/access-lists.ts'
import { addAccess, type AccessPair, endAccess } from '../accounts/shared-access.ts'
import { type Area, areas } from '../contract/areas.ts'
import { DAY_MS, parseDay, formatDate } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { parseUntil } from './instants.ts'
import { listing, type StoreOptions, withStore } from './opening.ts'
import { databaseOption, withOptions } from './options.ts'
import { say } from './print.ts'

export function addAccessCommands(program: Command) {
  const access = program
    .command('access')
    .alias('link')
    .summary('let accounts read the records of others')
    .description('Access: who may read whose records.')

  withOptions(
    access.command('add'),
    ...pairOptions(),
    new Option('--area <area...>', `which records; ${areas.join(' and ')} if not given`).choices(areas),
    new Option('--records-from <day>', 'the first day (UTC) of which sessions are shown; all if not given').argParser(
      parseFirstDay,
    ),
    new Option('--until <time>', 'when it ends: an RFC 3339 date-time, or its last day').argParser(parseUntil),
    new Option('--again', 'also change existing access, or give access again that was ended'),
    databaseOption(),
  )
    .description('Lets the partner read the records of the owner.')
    .action(async (flags: AddFlags) => {
      const { area = areas, recordsFrom = null, until = null, again = false } = flags
      await withStore(flags, async store => {
        const pair = await findPair(store, flags)
        await addAccess(store, { ...pair, areas: area, recordsFrom, until, again }, Date.now())
      })
      say('Access is given.')
    })

  withOptions(access.command('remove'), ...pairOptions(), databaseOption())
    .description('Ends the access of the partner within a second. Only access add --again gives it again.')
    .action(async (flags: PairFlags) => {
      await withStore(flags, async store => endAccess(store, await findPair(store, flags), Date.now()))
      say('Access is ended.')
    })

  const day = (at: number | null) => (at === null ? null : formatDate(at / DAY_MS))
  listing(access.command('list'), async store =>
    (await listAllAccess(store)).map(row => ({ ...row, recordsFrom: day(row.recordsFrom) })),
  ).description('Lists all access, ended access included.')

  listing(
    access.command('reads'),
    async (store, { owner }: StoreOptions & Pick<PairFlags, 'owner'>) =>
      Array.fromAsync(allReads(store, (await findAccount(store, owner)).id)),
    ownerOption(),
  ).description('Lists who read the records of the owner, by the hour, the newest first.')
}

interface PairFlags extends StoreOptions {
  readonly owner: string
  readonly partner: string
}

interface AddFlags extends PairFlags {
  readonly area?: readonly Area[]
  readonly recordsFrom?: number
  readonly until?: number
  readonly again?: boolean
}

function pairOptions(): Option[] {
  return [ownerOption(), new Option('--partner <id|username>', 'who may read them').makeOptionMandatory()]
}

function ownerOption(): Option {
  return new Option('--owner <id|username>', 'whose records').makeOptionMandatory()
}

async function findPair(store: Store, { owner, partner }: PairFlags): Promise<AccessPair> {
  return { ownerId: (await findAccount(store, owner)).id, partnerId: (await findAccount(store, partner)).id }
}

function parseFirstDay(text: string): number {
  const day = parseDay(text)
  if (day === undefined) throw new InvalidArgumentError('It must be a day as YYYY-MM-DD.')
  return day
}
