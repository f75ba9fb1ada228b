import { sql } from 'kysely'
import { ApiError } from '../contract/errors.ts'
import { type Query, recordQuery, type Params } from '../store/query.ts'
import type { Grant } from './tokens.ts'
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
export interface RecordRow {
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
): (owners: readonly number[]) => Query<ById, RecordRow> {
  return byOwnerCount(width =>
    recordQuery(param => {
      const { mine } = ownedBy(param, width)
      return sql`
        select id, owner_id, document, etag from ${sql.table(table)}
        where ${orPublic ? sql`(${mine} or is_public = 1)` : mine} and id = ${param('id')}`
    }),
  )
}

/** The newest row of one account; with a column, the newest in which it is 1. */
export function newestOf(table: RecordName, column?: 'is_active'): Query<{ owner: number }, RecordRow> {
  return recordQuery(
    param => sql`
      select id, owner_id, document, etag from ${sql.table(table)}
      where owner_id = ${param('owner')} ${column === undefined ? sql`` : sql`and ${sql.ref(column)} = 1`}
      order by at desc, id desc limit 1`,
  )
}

// Beyond this many accounts the engine sorts what it finds instead of merging: it is not built for a longer union.
const MAX_MERGED_OWNERS = 100

/** The query for as many accounts as there are; each width is compiled once. */
export function byOwnerCount<Values, Row>(build: (width: number) => Query<Values, Row>) {
  const queries = new Map<number, Query<Values, Row>>()
  return ({ length }: readonly number[]): Query<Values, Row> => {
    const width = length <= MAX_MERGED_OWNERS ? length : ANY
    const known = queries.get(width)
    if (known !== undefined) return known
    const built = build(width)
    queries.set(width, built)
    return built
  }
}

const ANY = 0

export type Owners = { readonly owners: readonly number[] }

/** The condition that a row belongs to one of the owners, and the same as conditions for one owner each. */
export function ownedBy<Values extends Owners>(param: Params<Values>, width: number) {
  if (width === ANY) {
    const mine = sql<boolean>`owner_id in ${param.rows('owners')}`
    return { mine, apart: [mine] }
  }
  const owners = param.each('owners', width)
  const apart = owners.map(owner => sql<boolean>`owner_id = ${owner}`)
  const [only] = apart
  return { mine: width === 1 && only !== undefined ? only : sql<boolean>`owner_id in (${sql.join(owners)})`, apart }
}
