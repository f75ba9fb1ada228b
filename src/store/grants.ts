import { StoreUnavailable, type Store } from './store.ts'
import { findGrant, type Grant, revocations } from './tokens.ts'

/** What tokens grant, kept for a moment, so that a token in steady use costs no look-up for each request. */
export interface Grants {
  /** The grant of a token; undefined when nobody has it. At most one look-up. */
  find(token: string): Promise<Grant | undefined>
}

/**
 * A grant is kept for less than a second, so that revoking a token, or anything else it rests on, holds everywhere within
 * one; a token revoked by this process is forgotten at once. While the store cannot be asked, the last known grant holds
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

  return {
    async find(token) {
      if (revocations() !== seen) kept.clear()
      const began = revocations()
      seen = began
      const known = kept.get(token)
      const since = performance.now()
      if (known !== undefined && since - known.since < KEPT_FOR) return known.grant
      const holds = () => known !== undefined && performance.now() - known.since < grace
      // One request at a time finds out whether the store is back; the others need not wait for it.
      if (known !== undefined && away && asking > 0 && holds()) return known.grant
      asking += 1
      try {
        const grant = await findGrant(store, token)
        away = false
        if (revocations() === began) keep(token, grant, since)
        return grant
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        away = true
        if (known !== undefined && holds()) return known.grant
        throw error
      } finally {
        asking -= 1
      }
    },
  }
}

const KEPT_FOR = 900
const MOST_KEPT = 10_000
