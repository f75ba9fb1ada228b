import { trainingTemplates } from '../contract/training-templates.ts'
import { accessTo, accessToOne } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists.ts'
import { newestRecord, recordById } from './record-queries.ts'
import { one, oneOrNull } from './results.ts'

const table = 'training_template'
const summaries = { table, text: 'summary', order: 'newest' } as const

export const handlers: Handlers<typeof trainingTemplates> = {
  listTrainingTemplates({ store, grant }, params) {
    const access = accessTo(grant, params.ownerId)
    return recordPage(store, summaries, access, params, trainingTemplates.listTrainingTemplates)
  },

  async getActiveTrainingTemplate({ store, grant }, { ownerId }) {
    return oneOrNull(await newestRecord(store, { table, isActive: true }, accessToOne(grant, ownerId)))
  },

  async getTrainingTemplate({ store, grant }, { id }) {
    return one(await recordById(store, { table, orPublic: true }, accessTo(grant), id))
  },
}
