import type { OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { type LockedStretch, longestStretches } from './bests.ts'
import { cacheOf } from './history-cache.ts'
import { withoutPractice } from './lock-statistics.ts'
import { lockEntries, locksSince, type LockStats, practiceTemplates, someLocks } from './lock-queries.ts'

type Stretch = LockedStretch<Pick<LockStats, 'id' | 'at'>>

export type LockHistory = Awaited<ReturnType<typeof lockHistory>>

/**
 * All lock sessions of an account that a caller may read; in memory until they change. What their events say is read when it is needed,
 * but for the longest. Throws ApiError if they are too many.
 */
export async function lockHistory(store: Store, access: OwnerAccess) {
  const cache = await cacheOf(store, access.owner)
  const entries = await cache.get(
    `locks from ${access.start}`,
    () => lockEntries(store, access),
    ({ length }) => length * ENTRY_BYTES,
  )
  return {
    /** The newest first. */
    entries,
    /** When the first session started, from which on it is known what was locked; Infinity without sessions. */
    since: entries.at(-1)?.at ?? Infinity,
    /**
     * The times without a break up to an instant, of which each was the longest so far or as long; the oldest first. Those among
     * sessions that have ended are cached, because finding them needs the events of each. Running sessions, and those that overlap
     * them, are read each time. One that ended at or after `limit`, which cannot be meant, is no longest.
     */
    async longest(until: number, limit: number): Promise<readonly Stretch[]> {
      const templates = new Set(entries.flatMap(({ template }) => template ?? []))
      // Whether a lock is for practice may change without its owner's records.
      const practice = await practiceTemplates(store, access, [...templates])
      const { ended, others, asOf } = await cache.get(
        `longest lock from ${access.start} without ${practice.join()}`,
        async () => longestOfEnded(await locksSince(store, access, until), until),
        value => value.others.length * ID_BYTES,
      )
      const meant = (sessions: readonly LockStats[]) => sessions.filter(({ endAt }) => (endAt ?? until) < limit)
      if (until < asOf) return longestOf(meant(await locksSince(store, access, until)), until)
      if (others.length === 0) return ended
      const least = ended.at(-1)?.seconds ?? 0
      const running = longestOf(meant(await someLocks(store, access, others, until)), until)
      return [...ended, ...running.filter(({ seconds }) => seconds >= least)]
    },
  }
}

const ENTRY_BYTES = 64
const ID_BYTES = 8

/** The longest among sessions that had all ended before any other started, and the other sessions. */
function longestOfEnded(sessions: readonly LockStats[], until: number) {
  const endOf = ({ endAt }: LockStats) => (endAt === null || endAt > until ? Infinity : endAt)
  const latestFirst = sessions.toSorted((a, b) => endOf(b) - endOf(a))
  let firstStart = Infinity
  // A second apart, as times are counted in whole seconds.
  const next = latestFirst.findIndex(session => {
    if (endOf(session) < Infinity && endOf(session) + 1000 <= firstStart) return true
    firstStart = Math.min(firstStart, session.at, ...session.events.map(([at]) => at))
    return false
  })
  const others = next === -1 ? latestFirst : latestFirst.slice(0, next)
  const ended = next === -1 ? [] : latestFirst.slice(next)
  return { ended: longestOf(ended, until), others: others.map(({ id }) => id), asOf: until }
}

function longestOf(sessions: readonly LockStats[], until: number): Stretch[] {
  return longestStretches(withoutPractice(sessions), until).map(stretch => {
    const { id, at } = stretch.session
    return { ...stretch, session: { id, at } }
  })
}
