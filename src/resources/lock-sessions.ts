import { lockSessions } from '../contract/lock-sessions.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists/list-pages.ts'
import { type RecordView, newestRecord, recordById } from './record-queries.ts'

export const handlers: Handlers<typeof lockSessions> = {
  listLockSessions(caller, params) {
    const list = { ...viewOf(params), order: 'newest', filters: { lock_state: params.lockState } } as const
    return recordPage(caller, list, params, lockSessions.listLockSessions)
  },

  getLatestLockSession(caller, params) {
    return newestRecord(caller, viewOf(params), params.ownerId)
  },

  getLockSession(caller, params) {
    return recordById(caller, viewOf(params), params.id)
  },

  getCurrentLockSession(caller, params) {
    return newestRecord(caller, { ...viewOf(params), isActive: true }, params.ownerId)
  },
}

function viewOf({ include }: { readonly include: 'template' | undefined }) {
  return {
    table: 'lock_session',
    added: include === undefined ? [] : ['templateId'],
  } as const satisfies RecordView
}
