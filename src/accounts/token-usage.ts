import type { Store } from '../store/index.ts'
import { NOTED_EVERY, noteUses } from './tokens.ts'

export interface TokenUsage {
  /** Remembers that a token was used; written later, at most once a minute for each token. */
  recordUse(tokenId: number, now: number): void
  /** Writes what is pending and stops. */
  close(): Promise<void>
}

/** Notes when tokens are used, out of the way of requests. Where that fails, nothing else does. */
export function makeTokenUsage(store: Store, onFailure: (error: unknown) => void): TokenUsage {
  const written = new Map<number, number>()
  const pending = new Map<number, number>()

  const flush = async () => {
    if (pending.size === 0) return
    const uses = new Map(pending)
    pending.clear()
    try {
      await noteUses(store, uses)
    } catch (error) {
      onFailure(error)
      // The next turn tries again, with what was used since.
      for (const [id, at] of uses) if (!pending.has(id)) pending.set(id, at)
    }
  }
  const timer = setInterval(() => void flush(), FLUSH_EVERY)
  timer.unref()

  return {
    recordUse(tokenId, now) {
      if (now - (written.get(tokenId) ?? 0) < NOTED_EVERY) return
      if (written.size >= MAX_REMEMBERED) {
        written.clear()
        pending.clear()
      }
      written.set(tokenId, now)
      pending.set(tokenId, now)
    },
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}

const FLUSH_EVERY = 1000
const MAX_REMEMBERED = 100_000
