import { type AccessPair, addAccess } from '../../src/accounts/shared-access.ts'
import type { AccessTerms } from '../../src/accounts/access.ts'
import type { Store } from '../../src/store/index.ts'

/** Access to everything, without an end. */
export const FULL_ACCESS: AccessTerms = { areas: ['lkbx', 'dtt'], recordsFrom: null, until: null }

/** Gives access as `lockstep access add --again` does: to everything and without an end, unless a test says otherwise. */
export function giveAccess(store: Store, pair: AccessPair, terms: Partial<AccessTerms> = {}, now = Date.now()) {
  return addAccess(store, { ...pair, ...FULL_ACCESS, ...terms, again: true }, now)
}
