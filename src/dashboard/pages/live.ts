import { hash } from 'node:crypto'
import { keptReads } from '../../stats/kept.ts'
import { runningLock } from '../../stats/lock-queries.ts'
import { countedUntil, lockStatus, trainingStatus } from '../../stats/status.ts'
import { allTrainings } from '../../stats/training-rows.ts'
import type { LiveState, Page, Visit } from '../page.ts'

/** Open pages request this once a minute: its validator changes when they have to be rendered again. */
export const livePages: readonly Page[] = [{ path: '/live', handler: readLive }]

async function readLive({ store, viewer, pageAccess, now }: Visit): Promise<LiveState> {
  const { subject, session, asOf, timeZone } = viewer
  const kept = await keptReads(store)
  const [lock, sessions] = await Promise.all([
    runningLock(store, pageAccess.sessions('lkbx'), kept),
    allTrainings(store, pageAccess.sessions('dtt'), kept),
  ])
  const {
    elapsed: _elapsed,
    remaining: _remaining,
    ...locked
  } = lockStatus(lock, {
    isOwner: subject.id === session.accountId,
    asOf,
    now,
  })
  const { last, ...training } = trainingStatus(sessions, timeZone, now)
  const isFresh = countedUntil(asOf, now) === now
  const isPrimaryDown = viewer.replicaAsOf !== undefined
  const state = JSON.stringify([subject.id, isPrimaryDown, isFresh, locked, last?.id, training])
  return { kind: 'live', etag: `"${hash('sha256', state, 'base64url').slice(0, 22)}"` }
}
