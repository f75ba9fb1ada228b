import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** A database that follows the primary, and whether it can be read now. */
export interface Replica<Reader> {
  readonly reader: Reader
  readonly isCurrent: () => boolean
  /** It did not answer: it is not asked again before it was seen alive. */
  fail(): void
}

interface Watched {
  readonly pool: pg.Pool
  /** When it was last known to have everything the primary had, by the clock that only goes forward. */
  upTo: number
  alive: boolean
}

/**
 * Watches replicas: one may be read while it is alive and no more than five seconds behind the primary. How far it is
 * behind is told by positions in the log, noted each second, since a replica that lost the primary cannot know. While
 * the primary is away, a replica stays as current as it was.
 */
export function watchReplicas<Reader>(
  primary: pg.Pool,
  replicas: readonly { readonly pool: pg.Pool; readonly reader: Reader }[],
) {
  const watched: Watched[] = replicas.map(({ pool }) => ({ pool, upTo: Number.NEGATIVE_INFINITY, alive: false }))
  let positions: { readonly at: number; readonly position: bigint }[] = []
  let primaryAlive = true
  let primarySeen = performance.now()

  const look = async () => {
    const at = performance.now()
    const position = await positionOf(primary, 'select pg_current_wal_lsn()::text as position')
    primaryAlive = position !== undefined
    if (position !== undefined) {
      primarySeen = at
      positions = [...positions.filter(noted => at - noted.at < REMEMBERED), { at, position }]
    }
    await Promise.all(
      watched.map(async replica => {
        const replayed = await positionOf(replica.pool, 'select pg_last_wal_replay_lsn()::text as position')
        replica.alive = replayed !== undefined
        const newest = positions.findLast(noted => replayed !== undefined && noted.position <= replayed)
        if (newest !== undefined) replica.upTo = Math.max(replica.upTo, newest.at)
      }),
    )
  }
  void look()
  const timer = setInterval(() => void look(), LOOK_EVERY)
  timer.unref()

  const isCurrent = (replica: Watched) => {
    const known = primaryAlive ? performance.now() : primarySeen
    return replica.alive && known - replica.upTo <= MOST_BEHIND
  }
  const all: Replica<Reader>[] = replicas.map(({ reader }, index) => {
    const replica = watched[index]
    return {
      reader,
      isCurrent: () => replica !== undefined && isCurrent(replica),
      fail() {
        if (replica !== undefined) replica.alive = false
      },
    }
  })
  let turn = 0

  return {
    /** The replicas that can be read now, beginning with another one each time. */
    current(): Replica<Reader>[] {
      turn += 1
      const usable = all.filter(replica => replica.isCurrent())
      return [...usable.slice(turn % usable.length), ...usable.slice(0, turn % usable.length)]
    },
    close: () => clearInterval(timer),
  }
}

const LOOK_EVERY = 1000
const LOOK_TIMEOUT = 800
const REMEMBERED = 60_000
/** Milliseconds a replica may be behind; it is looked at each second, so a little less. */
const MOST_BEHIND = 4500

/** A position in the log as a number; undefined when there is no answer, or none in time. */
async function positionOf(pool: pg.Pool, text: string): Promise<bigint | undefined> {
  const answer = pool.query<{ position: string | null }>(text).then(({ rows }) => rows[0]?.position ?? undefined)
  const position = await Promise.race([answer.catch(() => undefined), sleep(LOOK_TIMEOUT, undefined, { ref: false })])
  if (position === undefined) return undefined
  const [high = '', low = ''] = position.split('/')
  return BigInt(`0x${high}`) * 0x1_0000_0000n + BigInt(`0x${low}`)
}
