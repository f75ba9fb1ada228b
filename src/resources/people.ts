import { type RawBuilder, sql } from 'kysely'
import { isOpenAccess } from '../accounts/access.ts'
import { expiryOf } from '../accounts/grants.ts'
import { checkedQuery, readChecked } from '../accounts/checked-reads.ts'
import { accountText, people } from '../contract/people.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import type { Params } from '../store/query.ts'
import type { AccountRow, KeyRow } from '../store/tables.ts'
import { type Caller, type Handlers, jsonResult } from './handler.ts'
import { recordResult } from './record-queries.ts'
import { idRangeOf, readListPage } from './lists/list-pages.ts'
import { pageQueries } from './lists/page-queries.ts'

interface Person {
  readonly document: string
  readonly etag: string
}

/** Who asks for people, and when: access that has ended by then does not count. */
interface Asker {
  /** The caller. */
  readonly owner: number
  readonly now: number
}

/**
 * The caller and everybody with whom the caller shares access, in either direction. An account that was given access by its username is not
 * among them before it has read: nothing tells its owner whether there is such an account.
 */
const linked = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> => sql`
  id in (
    select ${param('owner')}
    union all select owner_id from partnership where partner_id = ${param('owner')} and ${isOpenAccess(param('now'))}
    union all select partner_id from partnership where owner_id = ${param('owner')} and ${isOpenAccess(param('now'))} and ${isKnown})`

/** Whether the owner knows that the partner has an account. */
const isKnown = sql`(by_name = 0 or exists (
  select 1 from read_log where read_log.owner_id = partnership.owner_id and read_log.reader_id = partnership.partner_id))`

/** Rows of people say who asked for them. */
const askedBy = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> =>
  sql`cast(${param('owner')} as bigint) as owner_id`

const person = <Values extends Asker & { id: number }>(param: Params<Values>) =>
  sql`select ${askedBy(param)}, document, etag from account where ${linked(param)} and id = ${param('id')}`

/** `owners` is the person who is asked for. */
const personById = checkedQuery<Asker & { id: number; owners: readonly number[] }, Person>(
  'person by id',
  (param, named) => sql`
    select ${named}, id as owner_id, document, etag from account where ${linked(param)} and id = ${param('id')}`,
)

type PeopleRange = Asker & { after: number; limit: number; offset: number }

/** The people at some positions in the list. */
const peopleAt = (param: Params<PeopleRange>, positions: RawBuilder<unknown>) => sql`
  select ${askedBy(param)}, document, etag, octet_length(document) as size, '0.' || position.id as position
  from (${positions}) as position
  join account on account.id = position.id
  order by position.id`

// The engine merges three index ranges, so that a page does not read all accounts.
const peoplePages = pageQueries<PeopleRange>({
  name: 'people',
  rows: param =>
    peopleAt(
      param,
      sql`
      select id from account where id = ${param('owner')} and id > ${param('after')}
      union select owner_id from partnership
        where partner_id = ${param('owner')} and owner_id > ${param('after')} and ${isOpenAccess(param('now'))}
      union select partner_id from partnership
        where owner_id = ${param('owner')} and partner_id > ${param('after')} and ${isOpenAccess(param('now'))} and ${isKnown}
      order by id limit ${param.count('limit')} offset ${param.count('offset')}`,
    ),
  row: person,
  ofOneOwner: true,
})

/** For an API key that reads nothing of others. */
const callerPages = pageQueries<PeopleRange>({
  name: 'the caller',
  rows: param =>
    peopleAt(
      param,
      sql`
      select id from account where id = ${param('owner')} and id > ${param('after')}
      order by id limit ${param.count('limit')} offset ${param.count('offset')}`,
    ),
  row: person,
  ofOneOwner: true,
})

function seesOthers({ grant: { scopes } }: Caller): boolean {
  return scopes.includes('shared:access')
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

export const handlers: Handlers<typeof people> = {
  listUsers(caller, params) {
    const { store, now } = caller
    const values = { owner: caller.grant.accountId, now, ...idRangeOf(params) }
    const source = { params, list: people.listUsers.listOf(params) }
    return readListPage(store, seesOthers(caller) ? peoplePages : callerPages, values, source)
  },

  async getCurrentUser({ store, grant: { accountId }, now }) {
    const [person] = await readChecked(store, personById, {
      owner: accountId,
      now,
      id: accountId,
      owners: [accountId],
    })
    return recordResult(person)
  },

  async getUser(caller, { id }) {
    const { store, now } = caller
    const { accountId } = caller.grant
    const [person] = await readChecked(store, personById, { owner: accountId, now, id, owners: [id] })
    return seesOthers(caller) || id === accountId ? recordResult(person) : undefined
  },

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
