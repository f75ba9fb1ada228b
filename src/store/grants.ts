import { StoreUnavailable, type Store } from './store.ts'
import { findGrant, type Grant, revocations } from './tokens.ts'

/** What tokens grant, kept for a moment, so that a token in steady use costs no look-up for each request. */
export interface Grants {
  /** The grant of a token; undefined when nobody has it. At most one look-up. */
  find(token: string): Promise<Grant | undefined>
}

/**
 * A grant is kept for less than a second, so that revoking a token, or anything else it rests on, holds everywhere within
 * one; a token revoked by this process is forgotten at once. While the store does not answer, the last known grant holds
 * on for `grace` milliseconds.
 */
export function makeGrants(store: Store, grace: number): Grants {
  const kept = new Map<string, { readonly grant: Grant; readonly since: number }>()
  let seen = revocations()
  let asking = 0
  let away = false

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
    asking += 1
    try {
      const grant = await findGrant(store, token)
      away = false
      if (revocations() === began) keep(token, grant, since)
      return grant
    } catch (error) {
      if (error instanceof StoreUnavailable) away = true
      throw error
    } finally {
      asking -= 1
    }
  }

  /** What is looked up, or the last known grant when there is no answer, or none in time. */
  const lookUpOr = async (last: Grant, token: string, since: number) => {
    let patience: NodeJS.Timeout | undefined
    const late = new Promise<Grant>(resolve => {
      patience = setTimeout(() => {
        away = true
        resolve(last)
      }, PATIENCE)
    })
    try {
      return await Promise.race([lookUp(token, since), late])
    } catch (error) {
      if (error instanceof StoreUnavailable) return last
      throw error
    } finally {
      clearTimeout(patience)
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
      if (age >= grace) return lookUp(token, now)
      // One request at a time finds out whether the store is back; the others need not wait for it.
      return away && asking > 0 ? known.grant : lookUpOr(known.grant, token, now)
    },
  }
}

const KEPT_FOR = 900
const MOST_KEPT = 10_000

/** Milliseconds that leave time for the read that comes after. */
const PATIENCE = 2500
