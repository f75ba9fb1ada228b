import { StoreUnavailable, type Store } from './store.ts'
import { findGrant, type Grant } from './tokens.ts'

/** What tokens grant, kept for a moment, so that a token in steady use costs no look-up for each request. */
export interface Grants {
  /** The grant of a token; undefined when nobody has it. At most one look-up. */
  find(token: string): Promise<Grant | undefined>
  /** Forgets everything, so that a change made here holds at once. */
  forget(): void
}

/**
 * A grant is kept for less than a second, so that revoking a token, or anything else it rests on, holds everywhere within
 * one. While the store cannot be asked, the last known grant holds on for `grace` milliseconds.
 */
export function makeGrants(store: Store, grace: number): Grants {
  const kept = new Map<string, { readonly grant: Grant; readonly since: number }>()
  return {
    async find(token) {
      const known = kept.get(token)
      const now = performance.now()
      if (known !== undefined && now - known.since < KEPT_FOR) return known.grant
      let grant: Grant | undefined
      try {
        grant = await findGrant(store, token)
      } catch (error) {
        if (error instanceof StoreUnavailable && known !== undefined && now - known.since < grace) return known.grant
        throw error
      }
      // Taken out first, so that the oldest stand first.
      kept.delete(token)
      if (grant !== undefined) kept.set(token, { grant, since: now })
      if (kept.size > MOST_KEPT)
        for (const oldest of kept.keys()) {
          kept.delete(oldest)
          break
        }
      return grant
    },
    forget: () => kept.clear(),
  }
}

const KEPT_FOR = 900
const MOST_KEPT = 10_000
