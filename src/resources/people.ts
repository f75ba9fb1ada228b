import { type RawBuilder, sql } from 'kysely'
import { isOpenAccess, checkedQuery, readChecked } from '../accounts/access.ts'
import { expiryOf } from '../accounts/grants.ts'
import { accountText, people } from '../contract/people.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import type { Params } from '../store/query.ts'
import type { AccountRow, KeyRow } from '../store/tables.ts'
import { type Caller, type Handlers, jsonResult } from './handler.ts'
import { recordResult, type StoredRecord } from './record-queries.ts'
import { idRangeOf, readListPage } from './lists/list-pages.ts'
import { pageQueries } from './lists/page-queries.ts'

/** Who asks for people, and when: access that has ended by then does not count. */
interface Asker {
  /** The caller. */
  readonly owner: number
  readonly now: number
  /** 1 for an API key that reads of others, else 0. */
  readonly others: number
}

/**
 * Whether the owner knows that the partner has an account. One that was given access by its username is not known before it has read:
 * nothing tells its owner whether there is such an account.
 */
const isKnown = sql`(by_name = 0 or exists (
  select 1 from read_log where read_log.owner_id = partnership.owner_id and read_log.reader_id = partnership.partner_id))`

/** Whether a row is access of others to the caller's records, or of the caller to theirs. */
const isShared = <Values extends Asker>(param: Params<Values>) =>
  sql`${isOpenAccess(param('now'))} and ${param('others')} = 1`

/** The caller and everybody with whom the caller shares access, in either direction. */
const linked = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> => sql`
  id in (
    select ${param('owner')}
    union all select owner_id from partnership where partner_id = ${param('owner')} and ${isShared(param)}
    union all select partner_id from partnership where owner_id = ${param('owner')} and ${isShared(param)} and ${isKnown})`

/** Rows of people say who asked for them. */
const askedBy = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> =>
  sql`cast(${param('owner')} as bigint) as owner_id`

/** `owners` is the person who is asked for. */
const personById = checkedQuery<Asker & { id: number; owners: readonly number[] }, StoredRecord>(
  'person by id',
  (param, named) => sql`
    select ${named}, id as owner_id, document, etag from account where ${linked(param)} and id = ${param('id')}`,
)

// The engine merges three index ranges, so that a page does not read all accounts.
const peoplePages = pageQueries<Asker & { after: number; limit: number; offset: number }>({
  name: 'people',
  rows: param => sql`
    select ${askedBy(param)}, document, etag, octet_length(document) as size, '0.' || position.id as position
    from (
      select id from account where id = ${param('owner')} and id > ${param('after')}
      union select owner_id from partnership
        where partner_id = ${param('owner')} and owner_id > ${param('after')} and ${isShared(param)}
      union select partner_id from partnership
        where owner_id = ${param('owner')} and partner_id > ${param('after')} and ${isShared(param)} and ${isKnown}
      order by id limit ${param.count('limit')} offset ${param.count('offset')}) as position
    join account on account.id = position.id
    order by position.id`,
  row: param =>
    sql`select ${askedBy(param)}, document, etag from account where ${linked(param)} and id = ${param('id')}`,
  ofOneOwner: true,
})

function askerOf({ grant: { accountId, scopes }, now }: Caller): Asker {
  return { owner: accountId, now, others: scopes.includes('shared:access') ? 1 : 0 }
}

const accountAndKey = checkedQuery<{ keyId: number; owner: number }, AccountAndKey>(
  'account and API key',
  (param, named) => sql`
    select ${named}, account.id as owner_id, account.document, account.subscription_ends_at, token.id, token.name, token.last4, token.scopes,
      token.created_at, token.expires_at, token.replaced_at, token.last_used_at
    from token join account on account.id = token.account_id
    where token.id = ${param('keyId')}`,
)

type AccountAndKey = Pick<AccountRow, 'document' | 'subscription_ends_at'> &
  Omit<KeyRow, 'account_id' | 'hash' | 'revoked_at'>

async function findPerson(caller: Caller, id: number) {
  const [person] = await readChecked(caller.store, personById, { ...askerOf(caller), id, owners: [id] })
  return recordResult(person)
}

export const handlers: Handlers<typeof people> = {
  listUsers(caller, params) {
    const values = { ...askerOf(caller), ...idRangeOf(params) }
    return readListPage(caller.store, peoplePages, values, { params, list: people.listUsers.listOf(params) })
  },

  getCurrentUser: caller => findPerson(caller, caller.grant.accountId),

  getUser: (caller, { id }) => findPerson(caller, id),

  async getMe({ store, grant }) {
    const values = { keyId: grant.keyId, owner: grant.accountId }
    const [row] = await readChecked(store, accountAndKey, values)
    if (row === undefined) return undefined
    const token = {
      id: row.id,
      name: row.name,
      last4: row.last4,
      scopes: row.scopes.split(' '),
      createdAt: formatTimestamp(row.created_at),
      expiresAt: formatOptionalTimestamp(expiryOf(row)),
      lastUsedAt: formatOptionalTimestamp(row.last_used_at),
    }
    const account = accountText(row.document, row.subscription_ends_at)
    return jsonResult(`{"account":${account},"token":${JSON.stringify(token)}}`)
  },
}
