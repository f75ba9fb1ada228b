import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Reader } from './postgres-reader.ts'
import { OWN_TIMELINE } from './primary-locator.ts'
import type { ReplicaStore, Store } from './store.ts'

/** A replica, with separate pools so that monitoring does not wait for reads. */
interface ReplicaPools {
  readonly monitor: pg.Pool
  readonly read: Reader
  /** A store that reads from it in place of the primary. */
  openReplicaStore(): Store
  close(): Promise<void>
}

/** A replica that can be read now. */
export interface Replica {
  readonly read: Reader
  /** Takes the replica out of use until it responds to the monitor again. */
  fail(): void
}

/**
 * Monitors replicas. One may be read while it responds and is at most five seconds behind the primary. The lag is computed from
 * positions in the write-ahead log. Those of the primary are recorded every second, because a replica that lost the primary
 * cannot know its lag. While the primary is down, the lag of a replica does not grow.
 */
export function watchReplicas(
  primary: pg.Pool,
  replicas: readonly ReplicaPools[],
  isCurrentTimeline: (timeline: number) => boolean,
) {
  const closing = new AbortController()
  const history = watchPositions(primary, closing.signal)
  const watched = replicas.map(pools => watchReplica(pools, { history, isCurrentTimeline, closing: closing.signal }))
  let turn = 0

  return {
    /** The replicas that can be read now, starting with another one each time. */
    current(): Replica[] {
      turn += 1
      const usable = watched.filter(({ isCurrent }) => isCurrent())
      return [...usable.slice(turn % usable.length), ...usable.slice(0, turn % usable.length)]
    },
    /** The first replica that has everything the primary had when it last responded, at most `withinMs` ago. */
    async findReplica(withinMs: number): Promise<ReplicaStore | undefined> {
      const last = history.last()
      if (last === undefined || performance.now() - last.at > withinMs) return undefined
      for (const { findReplica } of watched) {
        const store = await findReplica(last.at)
        if (store !== undefined) return { store, asOf: last.time }
      }
      return undefined
    },
    async close() {
      closing.abort()
      await Promise.all([history.done, ...watched.map(({ done }) => done)])
      await Promise.all([primary.end(), ...replicas.flatMap(({ monitor, close }) => [monitor.end(), close()])])
    },
  }
}

/** A position of the primary in the write-ahead log, and when it was read. */
interface Recorded {
  /** By the monotonic clock. */
  readonly at: number
  /** In milliseconds since 1970. */
  readonly time: number
  readonly position: bigint
}

/** Records the positions of the primary. */
function watchPositions(primary: pg.Pool, closing: AbortSignal) {
  let positions: Recorded[] = []
  let isUp = true
  let lastSeen = performance.now()
  const firstCheck = Promise.withResolvers<void>()

  const check = async () => {
    const [at, time] = [performance.now(), Date.now()]
    // What is not flushed has neither been acknowledged nor sent to replicas.
    const position = await positionOf(primary, 'pg_current_wal_flush_lsn()')
    firstCheck.resolve()
    isUp = position !== undefined
    if (position === undefined) return
    lastSeen = at
    positions = [...positions.filter(recorded => at - recorded.at < HISTORY_MS), { at, time, position }]
  }

  return {
    /** Resolves when there is a position to compare with, or the primary did not respond. */
    ready: firstCheck.promise,
    done: repeat(closing, check),
    /** The time of the newest recorded position that a replica has replayed. */
    reachedAt: (replayed: bigint) => positions.findLast(({ position }) => position <= replayed)?.at,
    /** The newest recorded position. */
    last: () => positions.at(-1),
    isUp: () => isUp,
    /** The time against which the lag of a replica is measured. */
    referenceTime: () => (isUp ? performance.now() : lastSeen),
  }
}

interface Watch {
  readonly history: ReturnType<typeof watchPositions>
  readonly isCurrentTimeline: (timeline: number) => boolean
  readonly closing: AbortSignal
}

function watchReplica(
  { monitor, read, openReplicaStore }: ReplicaPools,
  { history, isCurrentTimeline, closing }: Watch,
) {
  let isUp = false
  /** The replica has everything that the primary had at this time. */
  let upTo = Number.NEGATIVE_INFINITY
  /** The same store is used as long as the primary is down, because results are cached for each store. */
  let replicaStore: Store | undefined

  const check = async () => {
    await history.ready
    const replayed = await positionOf(monitor, 'pg_last_wal_replay_lsn()', isCurrentTimeline)
    isUp = replayed !== undefined
    if (replayed !== undefined) upTo = Math.max(upTo, history.reachedAt(replayed) ?? upTo)
    if (history.isUp()) replicaStore = undefined
  }
  const has = (at: number) => isUp && upTo >= at
  let checking: Promise<void> | undefined
  /** One check for all who wait for it. */
  const checkNow = () => (checking ??= check().finally(() => (checking = undefined)))

  return {
    read,
    done: repeat(closing, check),
    fail() {
      isUp = false
    },
    /**
     * A store that reads from the replica; undefined if the replica lacks anything that the primary had at this time. Checks the
     * replica if that is not known.
     */
    async findReplica(at: number): Promise<Store | undefined> {
      // One check can fail, or come before what the replica has received is replayed.
      for (let tries = 0; tries < MAX_TRIES && !has(at); tries += 1) await checkNow()
      if (!has(at)) return undefined
      replicaStore ??= openReplicaStore()
      return replicaStore
    },
    isCurrent: () => isUp && history.referenceTime() - upTo <= MAX_LAG_MS,
  }
}

const MAX_TRIES = 2
const CHECK_INTERVAL_MS = 1000
const HISTORY_MS = 60_000
/** A little less than five seconds, because replicas are checked once a second. */
const MAX_LAG_MS = 4500

/** Runs `check` at once and then once a second, until closing. */
async function repeat(closing: AbortSignal, check: () => Promise<void>): Promise<void> {
  while (!closing.aborted) {
    await check()
    await sleep(CHECK_INTERVAL_MS, undefined, { ref: false, signal: closing }).catch(() => {})
  }
}

/**
 * A position in the write-ahead log as a number. Undefined if the server does not respond in time, or is a former primary: its log
 * has diverged from that of the others.
 */
async function positionOf(
  pool: pg.Pool,
  position: string,
  isCurrentTimeline: (timeline: number) => boolean = () => true,
): Promise<bigint | undefined> {
  try {
    const { rows } = await pool.query<{ position: string | null; timeline: string | null }>(
      `select ${position}::text as position, ${OWN_TIMELINE} as timeline`,
    )
    const { position: text, timeline = null } = rows[0] ?? {}
    if (timeline !== null && !isCurrentTimeline(Number.parseInt(timeline, 16))) return undefined
    const [high, low] = text?.split('/') ?? []
    return high === undefined || low === undefined
      ? undefined
      : BigInt(`0x${high}`) * 0x1_0000_0000n + BigInt(`0x${low}`)
  } catch {
    return undefined
  }
}
