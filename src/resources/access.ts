import { type RawBuilder, sql } from 'kysely'
import { ApiError } from '../contract/errors.ts'
import { type Query, recordQuery, type Slots } from '../store/query.ts'
import type { Grant } from '../store/tokens.ts'
import type { RecordName } from '../store/tables.ts'

/** Which rows an account may see: the start of every query. */

/** The account whose records are asked for: the one named, or the caller. Throws owner_not_accessible. */
export function ownerOf(grant: Grant, named: number | undefined): number {
  if (named === undefined) return grant.accountId
  if (!grant.owners.includes(named)) throw new ApiError('owner_not_accessible')
  return named
}

/** The accounts whose records a list shows: the one named, or all the caller may read. Throws owner_not_accessible. */
export function ownersOf(grant: Grant, named: number | undefined): readonly number[] {
  return named === undefined ? grant.owners : [ownerOf(grant, named)]
}

/** Rows of a table, as far as answers need them. */
export interface Found {
  readonly id: number
  readonly owner_id: number
  readonly document: string
  readonly etag: string
}

interface ById {
  readonly id: number
  readonly owners: readonly number[]
}

/** One row by its identifier, where the caller may see it. `orPublic` also finds rows that are public. */
export function rowById(
  table: RecordName,
  { orPublic = false } = {},
): (owners: readonly number[]) => Query<ById, Found> {
  return byWidth(width =>
    recordQuery(slot => {
      const { mine } = ownedBy(slot, width)
      return sql`
        select id, owner_id, document, etag from ${sql.table(table)}
        where ${orPublic ? sql`(${mine} or is_public = 1)` : mine} and id = ${slot('id')}`
    }),
  )
}

/** The newest row of one account; with a column, the newest in which it is 1. */
export function newestOf(table: RecordName, column?: 'is_active'): Query<{ owner: number }, Found> {
  return recordQuery(
    slot => sql`
      select id, owner_id, document, etag from ${sql.table(table)}
      where owner_id = ${slot('owner')} ${column === undefined ? sql`` : sql`and ${sql.ref(column)} = 1`}
      order by at desc, id desc limit 1`,
  )
}

/**
 * Rows of a list, joined by the engine: one long text costs much less than an object for each row. The texts are null
 * when there are none. No document has a line break in it, so one stands between two of them.
 */
export interface Joined {
  readonly documents: string | null
  /** By commas. */
  readonly etags: string | null
  /** `<at>.<id>` of each row, by commas; `at` is 0 in lists by identifier. */
  readonly places: string | null
}

export const BETWEEN_DOCUMENTS = ',\n'

/**
 * Joins the rows of a query that has `document`, `etag` and `place`, in its order. Both engines aggregate a sorted subquery
 * in its order; asking for it again would cost a sort. The tests of paging hold both to it.
 */
export function joined(rows: RawBuilder<unknown>): RawBuilder<Joined> {
  return sql`
    select string_agg(document, ${sql.lit(BETWEEN_DOCUMENTS)}) as documents, string_agg(etag, ',') as etags,
      string_agg(place, ',') as places
    from (${rows}) as shown`
}

/** Where lists begin and end: rows before (`at`, `id`), not before `from`. */
export interface Stretch {
  readonly owners: readonly number[]
  readonly from: number
  readonly beforeAt: number
  readonly beforeId: number
  readonly filter: string | number
  readonly limit: number
  readonly offset: number
}

/** What a row shows in a list. */
type Shown = keyof typeof shown
const shown = {
  document: { document: sql`found.document`, etag: sql`found.etag` },
  summary: { document: sql`found.summary`, etag: sql`found.etag` },
  withOwner: {
    document: sql`substr(found.document, 1, length(found.document) - 1) || ',"ownerId":' || found.owner_id || '}'`,
    etag: sql`found.etag || '-' || found.owner_id`,
  },
}

interface ListOptions {
  /** The column that must equal `filter`. */
  readonly filter?: 'passed' | 'lock_state'
  readonly show?: Shown
}

/**
 * Rows of some accounts, newest first. Each account is a stretch of an index that is already in order, so the engine
 * merges them: a page costs what it shows, whatever the accounts hold.
 */
export function newestFirst(
  table: RecordName,
  { filter, show = 'document' }: ListOptions = {},
): (owners: readonly number[]) => Query<Stretch, Joined> {
  return byWidth(width =>
    recordQuery(slot => {
      const arm = (mine: RawBuilder<boolean>) => sql`
        select at, id from ${sql.table(table)}
        where ${mine} ${filter === undefined ? sql`` : sql`and ${sql.ref(filter)} = ${slot('filter')}`}
          and at >= ${slot('from')} and (at, id) < (${slot('beforeAt')}, ${slot('beforeId')})
        order by at desc, id desc`
      const { document, etag } = shown[show]
      return joined(sql`
        select ${document} as document, ${etag} as etag, place.at || '.' || place.id as place
        from (${merged(slot, width, arm)}
          order by at desc, id desc limit ${slot('limit')} offset ${slot('offset')}) as place
        join ${sql.table(table)} as found on found.id = place.id
        order by place.at desc, place.id desc`)
    }),
  )
}

export interface IdStretch {
  readonly owners: readonly number[]
  readonly after: number
  readonly limit: number
  readonly offset: number
}

/** Rows of some accounts, by identifier. */
export function byIdentifier(table: RecordName): (owners: readonly number[]) => Query<IdStretch, Joined> {
  return byWidth(width =>
    recordQuery(slot => {
      const arm = (mine: RawBuilder<boolean>) => sql`
        select id from ${sql.table(table)} where ${mine} and id > ${slot('after')} order by id`
      return joined(sql`
        select found.document, found.etag, '0.' || place.id as place
        from (${merged(slot, width, arm)}
          order by id limit ${slot('limit')} offset ${slot('offset')}) as place
        join ${sql.table(table)} as found on found.id = place.id
        order by place.id`)
    }),
  )
}

// Beyond this many accounts the engine sorts what it finds instead of merging: it is not built for a longer union.
const MOST_ARMS = 100

/** The query for as many accounts as there are; each width is compiled once. */
export function byWidth<Values, Row>(build: (width: number) => Query<Values, Row>) {
  const queries = new Map<number, Query<Values, Row>>()
  return ({ length }: readonly number[]): Query<Values, Row> => {
    const width = length <= MOST_ARMS ? length : ANY
    const known = queries.get(width)
    if (known !== undefined) return known
    const built = build(width)
    queries.set(width, built)
    return built
  }
}

const ANY = 0

type Owners = { readonly owners: readonly number[] }

/** The condition that a row belongs to one of the owners, and the same as conditions for one owner each. */
export function ownedBy<Values extends Owners>(slot: Slots<Values>, width: number) {
  if (width === ANY) {
    const mine = sql<boolean>`owner_id in ${slot.rows('owners')}`
    return { mine, apart: [mine] }
  }
  const owners = slot.each('owners', width)
  const apart = owners.map(owner => sql<boolean>`owner_id = ${owner}`)
  const [only] = apart
  return { mine: width === 1 && only !== undefined ? only : sql<boolean>`owner_id in (${sql.join(owners)})`, apart }
}

function merged<Values extends Owners>(
  slot: Slots<Values>,
  width: number,
  arm: (mine: RawBuilder<boolean>) => RawBuilder<unknown>,
) {
  // PostgreSQL merges only what comes to it in order.
  const arms = ownedBy(slot, width).apart.map(mine => sql`select * from (${arm(mine)}) as mine`)
  return sql.join(arms, sql` union all `)
}
