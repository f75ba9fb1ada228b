import type { OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { longestLocked } from './bests.ts'
import { keptLockEntries } from './kept-history.ts'
import { keptReads } from './kept.ts'
import { withoutPractice } from './lock-statistics.ts'
import { lockHistory, type LockStats, practiceTemplates, someLocks } from './lock-queries.ts'

/** The longest time that was locked without a break, and the session that it began in. */
interface LongestLock {
  readonly seconds: number
  readonly session: Pick<LockStats, 'id' | 'at'>
}

/**
 * The longest locked time up to an instant. The longest among sessions that have ended is kept, because finding it needs the events
 * of each. Running sessions, and those that overlap them, are read each time.
 */
export async function keptLongestLock(
  store: Store,
  access: OwnerAccess,
  until: number,
): Promise<LongestLock | undefined> {
  const kept = await keptReads(store)
  const entries = await keptLockEntries(store, access)
  const templates = new Set(entries.flatMap(({ template }) => template ?? []))
  // Whether a lock is for practice may change without its owner's records.
  const practice = await practiceTemplates(store, [...templates])
  const { ended, others, madeFor } = await kept.ofRecords(
    access.owner,
    `longest lock of ${access.owner} from ${access.start} without ${practice.join()}`,
    () => longestOfEnded(store, access, until),
    value => Math.ceil(value.others.length / IDS_OF_SIZE_1),
  )
  if (until < madeFor) return longestOf(await lockHistory(store, access, until), until)
  if (others.length === 0) return ended
  const running = longestOf(await someLocks(store, access, others, until), until)
  return running === undefined || (ended !== undefined && running.seconds < ended.seconds) ? ended : running
}

const IDS_OF_SIZE_1 = 50

/** The longest among sessions that had all ended before any other started, and the other sessions. */
async function longestOfEnded(store: Store, access: OwnerAccess, until: number) {
  const sessions = await lockHistory(store, access, until)
  const endOf = ({ endAt }: LockStats) => (endAt === null || endAt > until ? Infinity : endAt)
  const latestFirst = sessions.toSorted((a, b) => endOf(b) - endOf(a))
  let firstStart = Infinity
  // A second apart, as times are counted in whole seconds.
  const next = latestFirst.findIndex(session => {
    if (endOf(session) < Infinity && endOf(session) + 1000 <= firstStart) return true
    firstStart = Math.min(firstStart, startOf(session))
    return false
  })
  const others = next === -1 ? latestFirst : latestFirst.slice(0, next)
  const ended = next === -1 ? [] : latestFirst.slice(next)
  return { ended: longestOf(ended, until), others: others.map(({ id }) => id), madeFor: until }
}

function longestOf(sessions: readonly LockStats[], until: number): LongestLock | undefined {
  const longest = longestLocked(withoutPractice(sessions), until)
  return longest && { seconds: longest.seconds, session: { id: longest.session.id, at: longest.session.at } }
}

function startOf({ at, events }: LockStats): number {
  return Math.min(at, ...events.map(([at]) => at))
}
