import { lockSessions } from '../contract/lock-sessions.ts'
import { accessTo, accessToOne } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists.ts'
import { newestRecord, recordById } from './record-queries.ts'
import { one, oneOrNull } from './results.ts'

const table = 'lock_session'

export const handlers: Handlers<typeof lockSessions> = {
  listLockSessions({ store, grant }, params) {
    const list = { table, order: 'newest', filters: { lock_state: params.lockState } } as const
    return recordPage(store, list, accessTo(grant, params.ownerId), params, lockSessions.listLockSessions)
  },

  async getLatestLockSession({ store, grant }, { ownerId }) {
    return oneOrNull(await newestRecord(store, { table }, accessToOne(grant, ownerId)))
  },

  async getLockSession({ store, grant }, { id }) {
    return one(await recordById(store, { table }, accessTo(grant), id))
  },

  async getCurrentLockSession({ store, grant }, { targetUserId }) {
    return oneOrNull(await newestRecord(store, { table, isActive: true }, accessToOne(grant, targetUserId)))
  },
}
