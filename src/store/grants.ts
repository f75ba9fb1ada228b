import { type Reach, type Store, StoreUnavailable } from './store.ts'
import { findGrant, type Grant, revocations } from './tokens.ts'

/** What tokens grant, kept for a moment, so that a token in steady use costs no look-up for each request. */
export interface Grants {
  /** The grant of a token; undefined when nobody has it. At most one look-up. */
  find(token: string): Promise<Grant | undefined>
}

/**
 * A grant is kept for less than a second, so that revoking a token, or anything else it rests on, holds everywhere within
 * one; a token revoked by this process is forgotten at once. Only while the server of the store is not there, the last
 * known grant holds on, for `grace` milliseconds: on one that is slow or busy, a token may have been revoked.
 */
export function makeGrants(store: Store, grace: number): Grants {
  const kept = new Map<string, { readonly grant: Grant; readonly since: number }>()
  let seen = revocations()

  const keep = (token: string, grant: Grant | undefined, since: number) => {
    // Taken out first, so that the oldest stand first.
    kept.delete(token)
    if (grant === undefined) return
    kept.set(token, { grant, since })
    if (kept.size <= MOST_KEPT) return
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
  const lookUpOr = async (last: Grant, token: string, since: number, reach: Reach) => {
    if (reach.lost) return last
    const found = lookUp(token, since)
    try {
      // One that is silent is not waited for until the look-up fails: the read that comes after needs the time.
      if ((await isLate(found)) && (await reach.isLost())) return last
      return await found
    } catch (error) {
      if (error instanceof StoreUnavailable && (await reach.isLost())) return last
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
      if (age < KEPT_FOR) return known.grant
      return age < grace && store.reach !== undefined
        ? lookUpOr(known.grant, token, now, store.reach)
        : lookUp(token, now)
    },
  }
}

const KEPT_FOR = 900
const MOST_KEPT = 10_000

/** Milliseconds after which a look-up that has not ended is late. */
const LATE = 300

async function isLate(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, LATE, true)
  })
  try {
    return await Promise.race([work.then(() => false), late])
  } finally {
    clearTimeout(timer)
  }
}
