import { type Store, StoreUnavailableError } from '../store/index.ts'
import { withFallback } from '../store/fallback.ts'
import { grantChangeCount } from './grant-changes.ts'
import { findGrant, type Grant } from './api-keys.ts'

/** Keeps grants for less than a second, so that an API key in steady use does not cost a look-up for each request. */
export interface GrantCache {
  /** The grant of an API key; undefined if there is no such key. Takes at most one look-up. */
  find(key: string): Promise<Grant | undefined>
}

/**
 * Entries live for less than a second, so that revoking an API key, or changing anything else that a grant depends on,
 * takes effect everywhere within a second. A change by this process clears the cache at once. While the primary is
 * down, the last known grant is used for up to `graceMs`; while it is only slow it is not, because the API key may have
 * been revoked there.
 */
export function makeGrantCache(store: Store, graceMs: number): GrantCache {
  const entries = new Map<string, { readonly grant: Grant; readonly readAt: number }>()
  let knownChanges = grantChangeCount()

  const remember = (key: string, grant: Grant | undefined, readAt: number) => {
    // Deleted first, so that the map stays ordered by age.
    entries.delete(key)
    if (grant === undefined) return
    entries.set(key, { grant, readAt })
    if (entries.size <= MAX_ENTRIES) return
    for (const oldest of entries.keys()) {
      entries.delete(oldest)
      return
    }
  }

  const lookUp = async (key: string, now: number) => {
    const changesBefore = grantChangeCount()
    const grant = await findGrant(store, key)
    if (grantChangeCount() === changesBefore) remember(key, grant, now)
    return grant
  }

  return {
    async find(key) {
      if (grantChangeCount() !== knownChanges) entries.clear()
      knownChanges = grantChangeCount()
      const entry = entries.get(key)
      const now = performance.now()
      const age = entry === undefined ? Infinity : now - entry.readAt
      if (entry !== undefined && age < CACHE_TTL_MS) return entry.grant
      if (store.primary === undefined) return lookUp(key, now)
      const lastKnown = () => {
        if (entry !== undefined && age < graceMs) return entry.grant
        throw new StoreUnavailableError('the primary is down, and this process has not looked up the API key lately')
      }
      return withFallback(store.primary, () => lookUp(key, now), lastKnown)
    },
  }
}

const CACHE_TTL_MS = 900
const MAX_ENTRIES = 10_000
