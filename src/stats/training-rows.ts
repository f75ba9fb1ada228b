import type { OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { type KeptReads, keptReads } from './kept.ts'
import { trainingHistory } from './training-queries.ts'
import { firstFrom, type SessionStats } from './training.ts'

/** All training sessions of an account that may be read, the oldest first: streaks and bests need every one of them each time. */
export async function allTrainings(
  store: Store,
  { owner, start }: OwnerAccess,
  kept?: KeptReads,
): Promise<readonly SessionStats[]> {
  const reads = kept ?? (await keptReads(store))
  const all = await reads.ofRecords(
    owner,
    `training of ${owner}`,
    () => trainingHistory(store, { owner, start: Number.MIN_SAFE_INTEGER }),
    ({ length }) => length,
  )
  return sessionsFrom(all, start)
}

/** Of sessions in order, those from an instant on: the same list each time, so that what is computed for it is used again. */
function sessionsFrom(sessions: readonly SessionStats[], start: number): readonly SessionStats[] {
  if ((sessions[0]?.at ?? Infinity) >= start) return sessions
  const known = partsOf.getOrInsertComputed(sessions, () => new Map())
  return known.getOrInsertComputed(start, () => sessions.slice(firstFrom(sessions, start)))
}

const partsOf = new WeakMap<readonly SessionStats[], Map<number, readonly SessionStats[]>>()
