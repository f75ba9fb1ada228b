import { type PrimaryHealth, type Store, StoreUnavailableError } from '../store/store.ts'
import { findGrant, type Grant, revocations } from './tokens.ts'

/** What tokens grant, kept for a moment, so that a token in steady use costs no look-up for each request. */
export interface GrantCache {
  /** The grant of a token; undefined when nobody has it. At most one look-up. */
  find(token: string): Promise<Grant | undefined>
}

/**
 * A grant is kept for less than a second, so that revoking a token, or anything else it rests on, holds everywhere within
 * one; a token revoked by this process is forgotten at once. Only while the server of the store is not there, the last
 * known grant holds on, for `grace` milliseconds: on one that is slow or busy, a token may have been revoked.
 */
export function makeGrantCache(store: Store, grace: number): GrantCache {
  const kept = new Map<string, { readonly grant: Grant; readonly since: number }>()
  let seen = revocations()

  const keep = (token: string, grant: Grant | undefined, since: number) => {
    // Taken out first, so that the oldest stand first.
    kept.delete(token)
    if (grant === undefined) return
    kept.set(token, { grant, since })
    if (kept.size <= MAX_CACHED) return
    for (const oldest of kept.keys()) {
      kept.delete(oldest)
      return
    }
  }

  const lookUp = async (token: string, since: number) => {
    const began = revocations()
    const grant = await findGrant(store, token)
    if (revocations() === began) keep(token, grant, since)
    return grant
  }

  /** What is looked up, or the last known grant where nobody is there to answer. */
  const lookUpOr = async (last: Grant, token: string, since: number, reach: PrimaryHealth) => {
    if (reach.lost) return last
    const found = lookUp(token, since)
    try {
      // One that is silent is not waited for until the look-up fails: the read that comes after needs the time.
      if ((await isLate(found)) && (await reach.isLost())) return last
      return await found
    } catch (error) {
      if (error instanceof StoreUnavailableError && (await reach.isLost())) return last
      throw error
    }
  }

  return {
    async find(token) {
      if (revocations() !== seen) kept.clear()
      seen = revocations()
      const known = kept.get(token)
      const now = performance.now()
      if (known === undefined) return lookUp(token, now)
      const age = now - known.since
      if (age < CACHE_TTL_MS) return known.grant
      return age < grace && store.reach !== undefined
        ? lookUpOr(known.grant, token, now, store.reach)
        : lookUp(token, now)
    },
  }
}

const CACHE_TTL_MS = 900
const MAX_CACHED = 10_000

/** Milliseconds after which a look-up that has not ended is late. */
const SLOW_LOOKUP_MS = 300

async function isLate(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, SLOW_LOOKUP_MS, true)
  })
  try {
    return await Promise.race([work.then(() => false), late])
  } finally {
    clearTimeout(timer)
  }
}
