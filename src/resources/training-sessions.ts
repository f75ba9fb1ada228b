import { trainingSessions } from '../contract/training-sessions.ts'
import { accessTo, accessToOne } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists.ts'
import type { RecordView } from './record-columns.ts'
import { newestRecord, recordById } from './record-queries.ts'
import { one, oneOrNull } from './results.ts'

export const handlers: Handlers<typeof trainingSessions> = {
  listTrainingSessions({ store, grant }, params) {
    const filters = { passed: params.passed === undefined ? undefined : Number(params.passed) }
    const list = { ...viewOf(params), order: 'newest', filters } as const
    return recordPage(store, list, accessTo(grant, params.ownerId), params, trainingSessions.listTrainingSessions)
  },

  async getLatestTrainingSession({ store, grant }, params) {
    return oneOrNull(await newestRecord(store, viewOf(params), accessToOne(grant, params.ownerId)))
  },

  async getTrainingSession({ store, grant }, params) {
    return one(await recordById(store, viewOf(params), accessTo(grant), params.id))
  },
}

function viewOf({ include }: { readonly include: 'owner' | undefined }) {
  return {
    table: 'training_session',
    added: include === undefined ? [] : ['ownerId'],
  } as const satisfies RecordView
}
