import { type RawBuilder, sql } from 'kysely'
import { ApiError } from '../contract/errors.ts'
import type { Params } from '../store/query.ts'
import type { Grant } from './tokens.ts'

/** Which rows an account may see: the first condition of every query of records. */

/** What a query of records may show; its values contain one. */
export interface Access {
  readonly owners: readonly number[]
}

/** Access to the records of one account: the one named, or the caller. Throws owner_not_accessible. */
export function accessToOne(grant: Grant, ownerId: number = grant.accountId): Access {
  requireAccess(grant, ownerId)
  return { owners: [ownerId] }
}

/** Throws owner_not_accessible where the caller may not read the records of an account. */
export function requireAccess(grant: Grant, ownerId: number) {
  if (ownerId !== grant.accountId && !grant.owners.includes(ownerId)) throw new ApiError('owner_not_accessible')
}

/** Access to the records a list shows: of the account named, or of all the caller may read. Throws owner_not_accessible. */
export function accessTo(grant: Grant, ownerId?: number): Access {
  return ownerId === undefined ? { owners: grant.owners } : accessToOne(grant, ownerId)
}

/** For how many owners a query is built. Beyond the limit one query serves any number. */
export type OwnerCount = number | 'many'

export function ownerCountOf({ owners: { length } }: Access): OwnerCount {
  return length <= MAX_MERGED_OWNERS ? length : 'many'
}

// The engine merges the rows of each owner in a union; it is not built for a longer one, and sorts instead.
const MAX_MERGED_OWNERS = 100

/** The condition that a row may be shown. */
export function isReadable(param: Params<Access>, count: OwnerCount = 'many'): RawBuilder<boolean> {
  if (count === 'many') return sql`owner_id in ${param.rows(({ owners }) => owners)}`
  const owners = param.each(access => access.owners, count)
  const [only] = owners
  return count === 1 && only !== undefined ? sql`owner_id = ${only}` : sql`owner_id in (${sql.join(owners)})`
}

/** The same as conditions that each select the rows of one owner, unless there are too many. */
export function isReadableByOwner(param: Params<Access>, count: OwnerCount): RawBuilder<boolean>[] {
  if (count === 'many') return [isReadable(param)]
  return param.each(({ owners }) => owners, count).map(owner => sql`owner_id = ${owner}`)
}

/** The condition that a row of one account, which the caller may read, may be shown. */
export function isReadableOf(param: Params<{ owner: number }>): RawBuilder<boolean> {
  return sql`owner_id = ${param('owner')}`
}
