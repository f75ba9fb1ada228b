import { type Kysely, sql } from 'kysely'
import { type Engine, jsonRows, type Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { type Counted, Tally } from './tally.ts'

export type KeyUsage = ReturnType<typeof makeKeyUsage>

/** Writes the use of keys in the background, so that no request waits for it or fails with it. */
export function makeKeyUsage(store: Store, onFailure: (error: unknown) => void) {
  const recorded = new Map<number, number>()
  const tally = new Tally<Use>(
    store,
    {
      title: 'uses of API keys',
      maxRows: MAX_KEYS,
      intervalMs: 1000,
      keyOf: ({ keyId }) => String(keyId),
      write: (db, uses) => writeUses(db, store.engine, uses),
    },
    onFailure,
  )

  return {
    /** Records that an API key was used; written later, at most once a minute for each key. */
    recordUse(keyId: number, now: number) {
      const last = recorded.get(keyId)
      // The clock may have been set back.
      if (last !== undefined && Math.abs(now - last) < USAGE_INTERVAL_MS) return
      if (recorded.size >= MAX_KEYS) recorded.clear()
      recorded.set(keyId, now)
      tally.add({ keyId, at: now })
    },
    close: () => tally.close(),
  }
}

interface Use {
  readonly keyId: number
  readonly at: number
}

/**
 * Stores when keys were last used. A stored time that is less than a minute older or newer stays, so that several processes
 * together do not write more often than one.
 */
async function writeUses(db: Kysely<Tables>, engine: Engine, uses: readonly Counted<Use>[]) {
  const rows = jsonRows(
    engine,
    uses.map(({ row }) => [row.keyId, row.at]),
  )
  const used = sql`(select cast(value ->> 0 as bigint) as id, cast(value ->> 1 as bigint) as at from ${rows}) as used`
  if (engine === 'postgres') {
    // The same order in every process, so that two of them cannot deadlock.
    await sql`select 1 from token join ${used} on used.id = token.id order by token.id for no key update of token`.execute(
      db,
    )
  }
  await sql`
    update token set last_used_at = used.at from ${used}
    where token.id = used.id and (token.last_used_at is null
      or token.last_used_at <= used.at - ${sql.lit(USAGE_INTERVAL_MS)}
      or token.last_used_at > used.at + ${sql.lit(USAGE_INTERVAL_MS)})`.execute(db)
}

/** The last use of an API key is written at most once in this time. */
const USAGE_INTERVAL_MS = 60_000
const MAX_KEYS = 100_000
