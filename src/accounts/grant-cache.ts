import type { Store } from '../store/index.ts'
import { unlessDown } from '../store/unless-down.ts'
import { grantChangeCount } from './grant-changes.ts'
import { findGrant, type Grant } from './tokens.ts'

/** Keeps grants for less than a second, so that a token in steady use does not cost a look-up for each request. */
export interface GrantCache {
  /** The grant of a token; undefined if there is no such token. Takes at most one look-up. */
  find(token: string): Promise<Grant | undefined>
}

/**
 * Entries live for less than a second, so that revoking a token, or changing anything else that a grant depends on,
 * takes effect everywhere within a second. A change by this process clears the cache at once. While the primary is
 * down, the last known grant is used for up to `graceMs`; while it is only slow it is not, because the token may have
 * been revoked there.
 */
export function makeGrantCache(store: Store, graceMs: number): GrantCache {
  const entries = new Map<string, { readonly grant: Grant; readonly readAt: number }>()
  let knownChanges = grantChangeCount()

  const keep = (token: string, grant: Grant | undefined, readAt: number) => {
    // Deleted first, so that the map stays ordered by age.
    entries.delete(token)
    if (grant === undefined) return
    entries.set(token, { grant, readAt })
    if (entries.size <= MAX_ENTRIES) return
    for (const oldest of entries.keys()) {
      entries.delete(oldest)
      return
    }
  }

  const lookUp = async (token: string, now: number) => {
    const changesBefore = grantChangeCount()
    const grant = await findGrant(store, token)
    if (grantChangeCount() === changesBefore) keep(token, grant, now)
    return grant
  }

  return {
    async find(token) {
      if (grantChangeCount() !== knownChanges) entries.clear()
      knownChanges = grantChangeCount()
      const entry = entries.get(token)
      const now = performance.now()
      if (entry === undefined) return lookUp(token, now)
      const age = now - entry.readAt
      if (age < CACHE_TTL_MS) return entry.grant
      return age < graceMs && store.primary !== undefined
        ? unlessDown(
            store.primary,
            () => lookUp(token, now),
            () => entry.grant,
          )
        : lookUp(token, now)
    },
  }
}

const CACHE_TTL_MS = 900
const MAX_ENTRIES = 10_000
