import { type RawBuilder, sql } from 'kysely'
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

/** Who asks for people. `linkedAt` is the instant at which people must be linked; beyond all ends it finds none. */
interface Asker {
  readonly caller: number
  readonly linkedAt: number
}

/** The caller and everybody linked to the caller, in either direction. */
const linked = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> => sql`
  id in (
    select ${param('caller')}
    union all select owner_id from partnership where partner_id = ${param('caller')} and ${isOpen(param)}
    union all select partner_id from partnership where owner_id = ${param('caller')} and ${isOpen(param)})`

const isOpen = <Values extends Asker>(param: Params<Values>): RawBuilder<unknown> =>
  sql`ended_at is null and coalesce(expires_at, ${NEVER}) > ${param('linkedAt')}`

/** Beyond all ends of access; a token that does not reach others asks for links after that. */
const NEVER = Number.MAX_SAFE_INTEGER - 1

const askerOf = ({ grant: { accountId, scopes }, now }: Caller): Asker => {
  return { caller: accountId, linkedAt: scopes.includes('shared:access') ? now : NEVER }
}

const person = <Values extends Asker & { id: number }>(param: Params<Values>) =>
  sql<Person>`select id, document, etag from account where ${linked(param)} and id = ${param('id')}`

const personById = query<Asker & { id: number }, Person>(person)

// The engine merges three index ranges, so that a page does not read all accounts.
const peoplePages = pageQueries<Asker & { after: number; limit: number; offset: number }>({
  rows: param => sql`
    select document, etag, octet_length(document) as size, '0.' || position.id as position
    from (
      select id from account where id = ${param('caller')} and id > ${param('after')}
      union select owner_id from partnership where partner_id = ${param('caller')} and owner_id > ${param('after')} and ${isOpen(param)}
      union select partner_id from partnership where owner_id = ${param('caller')} and partner_id > ${param('after')} and ${isOpen(param)}
      order by id limit ${param('limit')} offset ${param('offset')}) as position
    join account on account.id = position.id
    order by position.id`,
  row: person,
  onlyRecords: false,
})

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
    const values = { ...askerOf(caller), ...idRangeOf(params) }
    return readPage(caller.store, peoplePages, values, params, people.listUsers)
  },

  async getCurrentUser(caller) {
    const [person] = await caller.store.read(personById, { ...askerOf(caller), id: caller.grant.accountId })
    return one(person)
  },

  async getUser(caller, { id }) {
    const [person] = await caller.store.read(personById, { ...askerOf(caller), id })
    return one(person)
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
