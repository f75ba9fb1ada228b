import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Reader } from './postgres.ts'

/** A database that follows the primary. */
interface Follower {
  /** To look at it, apart from what reads of records are doing. */
  readonly watch: pg.Pool
  readonly read: Reader
  close(): Promise<void>
}

/** One that can be read now. */
export interface Replica {
  readonly read: Reader
  /** It did not answer: it is not asked again before it was seen alive. */
  fail(): void
}

/**
 * Watches replicas: one may be read while it is alive and no more than five seconds behind the primary. How far it is
 * behind is told by positions in the log, noted each second, since a replica that lost the primary cannot know. While
 * the primary is away, a replica stays as current as it was.
 */
export function watchReplicas(primary: pg.Pool, followers: readonly Follower[]) {
  const ending = new AbortController()
  let positions: { readonly at: number; readonly position: bigint }[] = []
  let primaryAlive = true
  let primarySeen = performance.now()
  // Without a position to compare with, the first look at a replica would be in vain.
  const looked = Promise.withResolvers<void>()

  const lookAtPrimary = async () => {
    const at = performance.now()
    const position = await positionOf(primary, 'pg_current_wal_lsn()')
    looked.resolve()
    primaryAlive = position !== undefined
    if (position === undefined) return
    primarySeen = at
    positions = [...positions.filter(noted => at - noted.at < REMEMBERED), { at, position }]
  }
  const watching = [repeat(ending.signal, lookAtPrimary)]

  const replicas = followers.map(({ watch, read }) => {
    let alive = false
    /** It has everything that the primary had then. */
    let upTo = Number.NEGATIVE_INFINITY
    watching.push(
      repeat(ending.signal, async () => {
        await looked.promise
        const replayed = await positionOf(watch, 'pg_last_wal_replay_lsn()')
        alive = replayed !== undefined
        const newest = positions.findLast(noted => replayed !== undefined && noted.position <= replayed)
        if (newest !== undefined) upTo = Math.max(upTo, newest.at)
      }),
    )
    return {
      read,
      fail() {
        alive = false
      },
      isCurrent: () => alive && (primaryAlive ? performance.now() : primarySeen) - upTo <= MAX_LAG_MS,
    }
  })
  let turn = 0

  return {
    /** The replicas that can be read now, beginning with another one each time. */
    current(): Replica[] {
      turn += 1
      const usable = replicas.filter(({ isCurrent }) => isCurrent())
      return [...usable.slice(turn % usable.length), ...usable.slice(0, turn % usable.length)]
    },
    async close() {
      ending.abort()
      await Promise.all(watching)
      await Promise.all([primary.end(), ...followers.flatMap(({ watch, close }) => [watch.end(), close()])])
    },
  }
}

const LOOK_EVERY = 1000
const REMEMBERED = 60_000
/** Milliseconds a replica may be behind; it is looked at each second, so a little less than five. */
const MAX_LAG_MS = 4500

/** Looks at once, and then each second, until it is told to end. */
async function repeat(ending: AbortSignal, look: () => Promise<void>): Promise<void> {
  while (!ending.aborted) {
    await look()
    await sleep(LOOK_EVERY, undefined, { ref: false, signal: ending }).catch(() => {})
  }
}

/** A position in the log as a number; undefined when there is no answer, or none in time. */
async function positionOf(pool: pg.Pool, position: string): Promise<bigint | undefined> {
  try {
    const { rows } = await pool.query<{ position: string | null }>(`select ${position}::text as position`)
    const [high, low] = rows[0]?.position?.split('/') ?? []
    return high === undefined || low === undefined
      ? undefined
      : BigInt(`0x${high}`) * 0x1_0000_0000n + BigInt(`0x${low}`)
  } catch {
    return undefined
  }
}
