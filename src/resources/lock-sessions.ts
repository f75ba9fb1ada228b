import { lockSessions } from '../contract/lock-sessions.ts'
import { newestOf, ownerOf, ownersOf, rowById } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { newestFirst } from './list-queries.ts'
import { newestPage } from './lists.ts'
import { none, one } from './results.ts'

const sessionById = rowById('lock_session')
const sessions = newestFirst('lock_session')
const sessionsInState = newestFirst('lock_session', { filter: 'lock_state' })
const newestSession = newestOf('lock_session')
const activeSession = newestOf('lock_session', 'is_active')

export const handlers: Handlers<typeof lockSessions> = {
  listLockSessions({ store, grant }, asked) {
    const owners = ownersOf(grant, asked.ownerId)
    const list = lockSessions.listLockSessions
    return asked.lockState === undefined
      ? newestPage(store, sessions, owners, asked, list)
      : newestPage(store, sessionsInState, owners, asked, list, asked.lockState)
  },

  async getLatestLockSession({ store, grant }, { ownerId }) {
    const [session] = await store.read(newestSession, { owner: ownerOf(grant, ownerId) })
    return session === undefined ? none : one(session)
  },

  async getLockSession({ store, grant: { owners } }, { id }) {
    const [session] = await store.read(sessionById(owners), { owners, id })
    return session && one(session)
  },

  async getCurrentLockSession({ store, grant }, { targetUserId }) {
    const [session] = await store.read(activeSession, { owner: ownerOf(grant, targetUserId) })
    return session === undefined ? none : one(session)
  },
}
