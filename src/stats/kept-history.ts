import { DAY_MS } from '../contract/time.ts'
import type { OwnerAccess } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { keptReads } from './kept.ts'
import { type LockEntry, lockEntries } from './lock-queries.ts'
import { trainingHistory, trainingsWith } from './training-queries.ts'
import { allTrainings } from './training-rows.ts'
import { sessionsBetween, type SessionStats } from './training.ts'

/** The history of an account as pages read it: kept in memory until its records change. */

/** The training sessions from an instant on, or all of them; the oldest first. */
export async function keptTrainings(
  store: Store,
  access: OwnerAccess,
  from?: number,
): Promise<readonly SessionStats[]> {
  const kept = await keptReads(store)
  if (from === undefined) return allTrainings(store, access, kept)
  // From the start of a day, so that all requests of that day share what is kept.
  const day = Math.floor(from / DAY_MS) * DAY_MS
  const sessions = await kept.ofRecords(
    access.owner,
    `training of ${nameOf(access)} since ${day}`,
    () => trainingHistory(store, access, day),
    ({ length }) => length,
  )
  return sessionsBetween(sessions, from)
}

/** The training sessions that were run with a program, the oldest first. */
export async function keptTrainingsWith(
  store: Store,
  access: OwnerAccess,
  program: number,
): Promise<readonly SessionStats[]> {
  const kept = await keptReads(store)
  return kept.ofRecords(
    access.owner,
    `training of ${nameOf(access)} with ${program}`,
    () => trainingsWith(store, access, program),
    ({ length }) => length,
  )
}

/** All lock sessions, the newest first, with the few columns that lists need. */
export async function keptLockEntries(store: Store, access: OwnerAccess): Promise<readonly LockEntry[]> {
  const kept = await keptReads(store)
  return kept.ofRecords(
    access.owner,
    `locks of ${nameOf(access)}`,
    () => lockEntries(store, access),
    ({ length }) => Math.ceil(length / ENTRIES_OF_SIZE_1),
  )
}

/** Entries that take as much room as one training session. */
const ENTRIES_OF_SIZE_1 = 4

/** Part of the key: what is kept depends on which sessions of the account may be read. */
function nameOf({ owner, start }: OwnerAccess): string {
  return `${owner} from ${start}`
}
