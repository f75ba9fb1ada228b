import { type PrimaryHealth, type Store, StoreUnavailableError } from '../store/index.ts'
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

  /** Looks the token up, or returns its last known grant if the primary is down. */
  const lookUpOr = async (last: Grant, token: string, now: number, primary: PrimaryHealth) => {
    if (primary.isDown) return last
    const lookup = lookUp(token, now)
    try {
      // Does not wait for the look-up to time out, because reading the record needs that time.
      if ((await isSlow(lookup)) && (await primary.checkIsDown())) return last
      return await lookup
    } catch (error) {
      if (error instanceof StoreUnavailableError && (await primary.checkIsDown())) return last
      throw error
    }
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
        ? lookUpOr(entry.grant, token, now, store.primary)
        : lookUp(token, now)
    },
  }
}

const CACHE_TTL_MS = 900
const MAX_ENTRIES = 10_000

/** After this time a look-up counts as slow, and the primary is checked. */
const SLOW_LOOKUP_MS = 300

async function isSlow(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const slow = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, SLOW_LOOKUP_MS, true)
  })
  try {
    return await Promise.race([work.then(() => false), slow])
  } finally {
    clearTimeout(timer)
  }
}
