import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/tables.ts'
import { account } from './account-kinds.ts'
import type { DecideOptions } from './decide.ts'

export interface NameOptions extends Pick<DecideOptions, 'onConflict'> {
  readonly db: Kysely<Tables>
  /** Whether the rows that can be stored are stored if others cannot. */
  readonly setsAside: boolean
}

/** Refuses incoming accounts whose usernames others have, in the file or in the store. */
export async function refuseNames(options: NameOptions) {
  const { onConflict, setsAside } = options
  const has = (accounts: string, condition: string) =>
    `exists (select 1 from ${accounts} as someone where someone.username = incoming.username and someone.id <> incoming.id and ${condition})`
  await refuse(
    options,
    'has the username of another account in this archive',
    has('incoming', isCounted('someone', options)),
  )
  const keepsName =
    onConflict === 'replace'
      ? `not exists (select 1 from incoming as renamed
          where renamed.kind = '${account.name}' and renamed.id = someone.id and ${isCounted('renamed', options)})`
      : 'not exists (select 1 from account as stored where stored.id = incoming.id)'
  const isTaken = has('account', keepsName)
  // An account that is refused keeps its name, which another one may want.
  for (let isMore = true; isMore;) isMore = (await refuse(options, NAME_TAKEN, isTaken)) > 0n && setsAside
}

/** Whether an account will be stored. Where one line that cannot be stored refuses the file, it causes no further errors. */
export function isCounted(row: string, { setsAside }: Pick<NameOptions, 'setsAside'>): string {
  return `${row}.decided not in ('repeated', 'contradicts'${setsAside ? `, 'refused', 'invalid'` : ''})`
}

async function refuse(options: NameOptions, reason: string, condition: string): Promise<bigint> {
  const { db } = options
  // Citus: an update of a temporary table may not read a reference table.
  await sql`drop table if exists refused_line`.execute(db)
  await sql
    .raw(
      `create temporary table refused_line as select line from incoming
        where username is not null and ${isCounted('incoming', options)} and ${condition}`,
    )
    .execute(db)
  const { numAffectedRows = 0n } = await sql`update incoming
    set decided = 'refused', reason = coalesce(reason || '; ', '') || cast(${reason} as text)
    where line in (select line from refused_line)`.execute(db)
  return numAffectedRows
}

const NAME_TAKEN =
  'has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name'
