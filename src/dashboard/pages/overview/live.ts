import { hash } from 'node:crypto'
import { activeLock } from '../../../stats/lock-queries.ts'
import { lockStatus } from '../../../stats/status.ts'
import { trainingHistory } from '../../../stats/training-history.ts'
import type { DashboardPage, LiveState, Visit } from '../../page.ts'
import { countedUntil } from '../../../stats/known-time.ts'

/** Open pages request this once a minute: its validator changes when they have to be rendered again. */
export const livePages: readonly DashboardPage[] = [
  { section: null, reads: 'statistics', area: 'both', path: '/live', handler: readLive },
]

async function readLive({ store, viewer, pageAccess, now }: Visit): Promise<LiveState> {
  const { subject, session, asOf, timeZone } = viewer
  const [lock, history] = await Promise.all([
    activeLock(store, pageAccess.sessions('lkbx'), now),
    trainingHistory(store, pageAccess.sessions('dtt')),
  ])
  const status = lockStatus(lock, { isOwner: subject.id === session.accountId, asOf, now })
  const { elapsed: _elapsed, remaining: _remaining, ...locked } = status
  const { last, ...training } = await history.status(timeZone, now)
  const isFresh = countedUntil(asOf, now) === now
  const state = JSON.stringify([subject.id, isFresh, locked, last?.id, training])
  return { shape: 'live', etag: `"${hash('sha256', state, 'base64url').slice(0, 22)}"` }
}
