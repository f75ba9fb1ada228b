import { type RawBuilder, sql } from '../vendor/kysely.js'
import { expiryOf } from '../accounts/tokens.ts'
import { accountText, people } from '../contract/people.ts'
import { formatOptionalTimestamp, formatTimestamp } from '../contract/time.ts'
import { query, type Params } from '../store/query.ts'
import type { Caller, Handlers } from './handler.ts'
import { idRangeOf, readPage } from './lists.ts'
import { pageQueries } from './page-queries.ts'
import { made, one } from './results.ts'

interface Person {
  readonly id: number
  readonly document: string
  readonly etag: string
}

/** Who asks for people, and when: links that have ended do not count. */
interface Asker {
  readonly caller: number
  readonly now: number
}

/**
 * The caller and everybody linked to the caller, in either direction. An account that was given access by its username is not
 * among them before it has read: nothing tells its owner whether there is such an account.
 */
const linked = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> => sql`
  id in (
    select ${param('caller')}
    union all select owner_id from partnership where partner_id = ${param('caller')} and ${isOpen(param)}
    union all select partner_id from partnership where owner_id = ${param('caller')} and ${isOpen(param)} and ${isKnown})`

const isOpen = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> =>
  sql`ended_at is null and (expires_at is null or expires_at > ${param('now')})`

/** Whether the owner knows that the partner has an account. */
const isKnown = sql`(by_name = 0 or exists (
  select 1 from read_log where read_log.owner_id = partnership.owner_id and read_log.reader_id = partnership.partner_id))`

const person = <Values extends Asker & { id: number }>(param: Params<Values>) =>
  sql<Person>`select id, document, etag from account where ${linked(param)} and id = ${param('id')}`

const personById = query<Asker & { id: number }, Person>(person)

type PeopleRange = Asker & { after: number; limit: number; offset: number }

/** The people at some positions in the list. */
const peopleAt = (positions: RawBuilder<unknown>) => sql`
  select document, etag, octet_length(document) as size, '0.' || position.id as position
  from (${positions}) as position
  join account on account.id = position.id
  order by position.id`

// The engine merges three index ranges, so that a page does not read all accounts.
const peoplePages = pageQueries<PeopleRange>({
  rows: param =>
    peopleAt(sql`
      select id from account where id = ${param('caller')} and id > ${param('after')}
      union select owner_id from partnership
        where partner_id = ${param('caller')} and owner_id > ${param('after')} and ${isOpen(param)}
      union select partner_id from partnership
        where owner_id = ${param('caller')} and partner_id > ${param('after')} and ${isOpen(param)} and ${isKnown}
      order by id limit ${param.count('limit')} offset ${param.count('offset')}`),
  row: person,
  onlyRecords: false,
})

/** For a token that reads nothing of others. */
const callerPages = pageQueries<PeopleRange>({
  rows: param =>
    peopleAt(sql`
      select id from account where id = ${param('caller')} and id > ${param('after')}
      order by id limit ${param.count('limit')} offset ${param.count('offset')}`),
  row: person,
  onlyRecords: false,
})

function seesOthers({ grant: { scopes } }: Caller): boolean {
  return scopes.includes('shared:access')
}

const accountAndToken = query<{ tokenId: number }, AccountAndToken>(
  param => sql`
    select account.document, account.subscription_ends_at, token.id, token.name, token.last4, token.scopes,
      token.created_at, token.expires_at, token.replaced_at, token.last_used_at
    from token join account on account.id = token.account_id
    where token.id = ${param('tokenId')}`,
)

interface AccountAndToken {
  readonly document: string
  readonly subscription_ends_at: number | null
  readonly id: number
  readonly name: string
  readonly last4: string
  readonly scopes: string
  readonly created_at: number
  readonly expires_at: number | null
  readonly replaced_at: number | null
  readonly last_used_at: number | null
}

export const handlers: Handlers<typeof people> = {
  listUsers(caller, params) {
    const { store, now } = caller
    const values = { caller: caller.grant.accountId, now, ...idRangeOf(params) }
    const source = { params, list: people.listUsers.listOf(params) }
    return readPage(store, seesOthers(caller) ? peoplePages : callerPages, values, source)
  },

  async getCurrentUser({ store, grant: { accountId }, now }) {
    const [person] = await store.read(personById, { caller: accountId, now, id: accountId })
    return one(person)
  },

  async getUser(caller, { id }) {
    const { store, now } = caller
    const { accountId } = caller.grant
    const [person] = await store.read(personById, { caller: accountId, now, id })
    return seesOthers(caller) || id === accountId ? one(person) : undefined
  },

  async getMe({ store, grant }) {
    const [row] = await store.read(accountAndToken, { tokenId: grant.tokenId })
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
    return made(`{"account":${account},"token":${JSON.stringify(token)}}`)
  },
}
