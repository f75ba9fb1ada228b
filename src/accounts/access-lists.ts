import { sql } from 'kysely'
import type { Store } from '../store/index.ts'
import {
  accessColumns,
  type AccessRow,
  checkedQuery,
  endsAfter,
  isOpenAccess,
  readChecked,
  receivedOf,
  termsOf,
} from './access.ts'

/** Lists of access: for its owners, for those who have it, and for the operator. */

/**
 * Who may read the records of an account now, and whose records it may read, by identifier. Access that was given to a username
 * comes last, by name, until somebody has read with it: so the order does not tell whether there is such an account.
 */
export async function listAccess(store: Store, accountId: number, now: number) {
  const rows = await readChecked(store, givenAndReceived, { owner: accountId, now })
  // A username may have been given access before an account got that name, and later the account itself.
  const matched = new Set(rows.filter(row => row.is_given === 1 && row.is_account === 1).map(row => row.username))
  return {
    given: rows
      .filter(row => row.is_given === 1 && (row.is_account === 1 || !matched.has(row.username)))
      .map(givenOf)
      .toSorted((a, b) => {
        if (a.accountId === null && b.accountId === null) return a.username < b.username ? -1 : 1
        return (a.accountId ?? Infinity) - (b.accountId ?? Infinity)
      }),
    received: rows
      .filter(row => row.is_given === 0)
      .map(receivedOf)
      .toSorted((a, b) => a.accountId - b.accountId),
  }
}

/** All access, ended access included, for the operator. */
export async function listAllAccess(store: Store) {
  const rows = await store.reads
    .selectFrom('partnership')
    .innerJoin('account as owner', 'owner.id', 'partnership.owner_id')
    .innerJoin('account as partner', 'partner.id', 'partnership.partner_id')
    .select([
      'owner.id as ownerId',
      'owner.username as owner',
      'partner.id as partnerId',
      'partner.username as partner',
    ])
    .select(['areas', 'records_from', 'expires_at', 'given_at', 'ended_at'])
    .orderBy('owner.id')
    .orderBy('partner.id')
    .execute()
  return rows.map(({ ownerId, owner, partnerId, partner, given_at: since, ended_at: endedAt, ...row }) => {
    return { ownerId, owner, partnerId, partner, ...termsOf(row), since, endedAt }
  })
}

function givenOf(row: AccessListRow) {
  const { id, last_read_at: lastReadAt } = row
  const isKnown = row.by_name === 0 || lastReadAt !== null
  return {
    ...receivedOf(row),
    /** Null if it was given to a username and nobody read yet: there may be no such account. */
    accountId: isKnown ? id : null,
    /** The start of the hour in which the reader last read; null if that is not known. */
    lastReadAt,
  }
}

interface AccessListRow extends AccessRow {
  readonly is_given: number
  /** 0 for a username that no account had when it was given access. */
  readonly is_account: number
  readonly by_name: number
  readonly last_read_at: number | null
}

const givenAndReceived = checkedQuery<{ owner: number; now: number }, AccessListRow>(
  'given and received access',
  (param, named) => sql`
    select ${named}, partnership.owner_id, ${accessColumns}, 1 as is_given, 1 as is_account, by_name,
      (select max(hour) from read_log
        where read_log.owner_id = partnership.owner_id and read_log.reader_id = partnership.partner_id) as last_read_at
    from partnership join account on account.id = partnership.partner_id
    where partnership.owner_id = ${param('owner')}
      and ${isOpenAccess(param('now'))}
    union all
    select ${named}, owner_id, 0, username, areas, records_from, expires_at, given_at, 1, 0, 1, null from unmatched_access
    where owner_id = ${param('owner')} and ${endsAfter(sql`expires_at`, param('now'))}
    union all
    select ${named}, partnership.partner_id, ${accessColumns}, 0, 1, 0, null from partnership join account on account.id = partnership.owner_id
    where partnership.partner_id = ${param('owner')}
      and ${isOpenAccess(param('now'))}`,
)
