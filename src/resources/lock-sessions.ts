import { lockSessions } from '../contract/lock-sessions.ts'
import { accessTo, accessToOne } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists.ts'
import type { RecordView } from './record-columns.ts'
import { newestRecord, recordById } from './record-queries.ts'
import { one, oneOrNull } from './results.ts'

export const handlers: Handlers<typeof lockSessions> = {
  listLockSessions({ store, grant }, params) {
    const list = { ...viewOf(params), order: 'newest', filters: { lock_state: params.lockState } } as const
    return recordPage(store, list, accessTo(grant, params.ownerId), params, lockSessions.listLockSessions)
  },

  async getLatestLockSession({ store, grant }, params) {
    return oneOrNull(await newestRecord(store, viewOf(params), accessToOne(grant, params.ownerId)))
  },

  async getLockSession({ store, grant }, params) {
    return one(await recordById(store, viewOf(params), accessTo(grant), params.id))
  },

  async getCurrentLockSession({ store, grant }, params) {
    const active = { ...viewOf(params), isActive: true }
    return oneOrNull(await newestRecord(store, active, accessToOne(grant, params.ownerId)))
  },
}

function viewOf({ include }: { readonly include: 'template' | undefined }) {
  return {
    table: 'lock_session',
    added: include === undefined ? [] : ['templateId'],
  } as const satisfies RecordView
}
