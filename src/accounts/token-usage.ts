import { sql } from '../vendor/kysely.js'
import { jsonRows, type Store } from '../store/index.ts'

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
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    // No flush starts while another one is running.
    running ??= flush().finally(() => (running = undefined))
  }, FLUSH_INTERVAL_MS)
  timer.unref()

  return {
    recordUse(tokenId, now) {
      // The clock may have been set back.
      if (Math.abs(now - (recorded.get(tokenId) ?? 0)) < USAGE_INTERVAL_MS) return
      if (recorded.size >= MAX_TOKENS) recorded.clear()
      if (pending.size >= MAX_TOKENS) pending.clear()
      recorded.set(tokenId, now)
      pending.set(tokenId, now)
    },
    async close() {
      clearInterval(timer)
      await running
      await flush()
    },
  }
}

/**
 * Stores when tokens were last used (milliseconds since 1970, by token id). A stored time that is less than a minute
 * older or newer stays, so that several processes together do not write more often than one.
 */
export async function writeUsage(store: Store, lastUsed: ReadonlyMap<number, number>): Promise<void> {
  const all = [...lastUsed]
  for (let start = 0; start < all.length; start += TOKENS_AT_ONCE) {
    await writeSome(store, all.slice(start, start + TOKENS_AT_ONCE))
  }
}

async function writeSome({ db, engine }: Store, uses: readonly (readonly [id: number, at: number])[]) {
  const used = sql`(select cast(value ->> 0 as bigint) as id, cast(value ->> 1 as bigint) as at from ${jsonRows(engine, uses)}) as used`
  await db.transaction().execute(async transaction => {
    if (engine === 'postgres') {
      // The same order in every process, so that two of them cannot deadlock.
      await sql`select 1 from token join ${used} on used.id = token.id order by token.id for no key update of token`.execute(
        transaction,
      )
    }
    await sql`
      update token set last_used_at = used.at from ${used}
      where token.id = used.id and (token.last_used_at is null
        or token.last_used_at <= used.at - ${sql.lit(USAGE_INTERVAL_MS)}
        or token.last_used_at > used.at + ${sql.lit(USAGE_INTERVAL_MS)})`.execute(transaction)
  })
}

/** The last use of a token is written at most once in this time. */
const USAGE_INTERVAL_MS = 60_000
const FLUSH_INTERVAL_MS = 1000
const MAX_TOKENS = 100_000

/** Other writers can write between two batches. */
const TOKENS_AT_ONCE = 1000
