import { type Kysely, sql } from 'kysely'
import { type Engine, jsonRows, type Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { EventCounter } from './event-counter.ts'
import { type Counted, Tally } from './tally.ts'

/** Records when keys were last used, and counts networks that they were not used from before. */
export interface KeyUsage {
  /** Records that an API key was used; written later, at most once a minute for each key and sender. */
  recordUse(keyId: number, now: number, sender: KeySender): void
  /** Writes what is pending and stops. */
  close(): Promise<void>
}

/** Where a request came from, as far as it is cheap to compare. */
export interface KeySender {
  readonly address: string | undefined
  /** The header of a proxy. */
  readonly forwardedFor: string | undefined
}

interface KeyUsageOptions {
  /** The network of a sender, as events name it. */
  readonly networkOf: (sender: KeySender) => string
  readonly events: Pick<EventCounter, 'count'>
  readonly onFailure: (error: unknown) => void
}

/** Writes the use of keys in the background, so that no request waits for it or fails with it. */
export function makeKeyUsage(store: Store, { networkOf, events, onFailure }: KeyUsageOptions): KeyUsage {
  const recorded = new Map<number, RecordedUse>()
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
    recordUse(keyId, now, { address, forwardedFor }) {
      const last = recorded.get(keyId)
      const isSameSender = last !== undefined && last.address === address && last.forwardedFor === forwardedFor
      // The clock may have been set back.
      const isRecent = last !== undefined && Math.abs(now - last.at) < USAGE_INTERVAL_MS
      if (isSameSender && isRecent) return
      if (recorded.size >= MAX_KEYS) recorded.clear()
      const networks = last?.networks ?? []
      const at = isRecent ? last.at : now
      // A long header is not kept, so that what is kept is bounded.
      const isKept = (forwardedFor?.length ?? 0) <= MAX_FORWARDED_LENGTH
      recorded.set(keyId, { at, address, forwardedFor: isKept ? forwardedFor : '', networks })
      if (!isSameSender) {
        const network = networkOf({ address, forwardedFor })
        if (!networks.includes(network)) {
          if (networks.length >= MAX_NETWORKS) networks.shift()
          networks.push(network)
          events.count({ kind: 'key-network', account: { keyId }, now, network, browser: '' })
        }
      }
      if (isRecent) return
      tally.add({ keyId, at: now })
    },
    close: () => tally.close(),
  }
}

interface RecordedUse extends KeySender {
  readonly at: number
  /** The networks that it was used from last, oldest first; whether the log has them is found out when they are written. */
  readonly networks: string[]
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
const MAX_FORWARDED_LENGTH = 200
/** Networks of an API key that are remembered, so that a sender that is seen again does not cost a look-up. */
const MAX_NETWORKS = 20
