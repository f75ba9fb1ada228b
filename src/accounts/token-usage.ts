import type { Store } from '../store/index.ts'

/** Records when tokens were last used. */
export interface TokenUsage {
  /** Records that a token was used; written later, at most once a minute for each token. */
  recordUse(tokenId: number, now: number): void
  /** Writes what is pending and stops. */
  close(): Promise<void>
}

/** Writes token usage in the background, so that no request waits for it or fails with it. */
export function makeTokenUsage(store: Store, onFailure: (error: unknown) => void): TokenUsage {
  const recorded = new Map<number, number>()
  const pending = new Map<number, number>()

  const flush = async () => {
    if (pending.size === 0) return
    const lastUsed = new Map(pending)
    pending.clear()
    try {
      await writeUsage(store, lastUsed)
    } catch (error) {
      onFailure(error)
      // Retried with the next flush; newer times win.
      for (const [id, at] of lastUsed) if (!pending.has(id)) pending.set(id, at)
    }
  }
  const timer = setInterval(() => void flush(), FLUSH_INTERVAL_MS)
  timer.unref()

  return {
    recordUse(tokenId, now) {
      // The clock may have been set back.
      if (Math.abs(now - (recorded.get(tokenId) ?? 0)) < USAGE_INTERVAL_MS) return
      if (recorded.size >= MAX_TOKENS) {
        recorded.clear()
        pending.clear()
      }
      recorded.set(tokenId, now)
      pending.set(tokenId, now)
    },
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

/**
 * Stores when tokens were last used (milliseconds since 1970, by token id). A stored time that is less than a minute
 * older or newer stays, so that several processes together do not write more often than one.
 */
export async function writeUsage(store: Store, lastUsed: ReadonlyMap<number, number>): Promise<void> {
  // The same order in every process, so that two of them cannot deadlock.
  const byId = [...lastUsed].toSorted(([a], [b]) => a - b)
  await store.db.transaction().execute(async transaction => {
    for (const [id, at] of byId) {
      await transaction
        .updateTable('token')
        .set({ last_used_at: at })
        .where('id', '=', id)
        .where(({ or, eb }) =>
          or([
            eb('last_used_at', 'is', null),
            eb('last_used_at', '<=', at - USAGE_INTERVAL_MS),
            eb('last_used_at', '>', at + USAGE_INTERVAL_MS),
          ]),
        )
        .execute()
    }
  })
}

/** How often the last use of one token is written at most. */
const USAGE_INTERVAL_MS = 60_000
const FLUSH_INTERVAL_MS = 1000
const MAX_TOKENS = 100_000
