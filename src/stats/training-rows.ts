import type { OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { type KeptReads, keptReads } from './kept.ts'
import { trainingHistory } from './training-queries.ts'
import { sessionsBetween, type SessionStats } from './training.ts'

/** All training sessions of an account that may be read, the oldest first; kept, because streaks and bests need every one of them. */
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
  return sessionsBetween(all, start)
}
