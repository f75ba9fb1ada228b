import { trainingSessions } from '../contract/training-sessions.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists/list-pages.ts'
import { type RecordView, newestRecord, recordById } from './record-queries.ts'

export const handlers: Handlers<typeof trainingSessions> = {
  listTrainingSessions(caller, params) {
    const filters = { passed: params.passed === undefined ? undefined : Number(params.passed) }
    const list = { ...viewOf(params), order: 'newest', filters } as const
    return recordPage(caller, list, params, trainingSessions.listTrainingSessions)
  },

  getLatestTrainingSession(caller, params) {
    return newestRecord(caller, viewOf(params), params.ownerId)
  },

  getTrainingSession(caller, params) {
    return recordById(caller, viewOf(params), params.id)
  },
}

function viewOf({ include }: { readonly include: 'owner' | undefined }) {
  return {
    table: 'training_session',
    added: include === undefined ? [] : ['ownerId'],
  } as const satisfies RecordView
}
