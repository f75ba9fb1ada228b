import { trainingTemplates } from '../contract/training-templates.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists/list-pages.ts'
import { newestRecord, recordById } from './record-queries.ts'

const table = 'training_template'
const summaries = { table, text: 'summary', order: 'newest' } as const

export const handlers: Handlers<typeof trainingTemplates> = {
  listTrainingTemplates(caller, params) {
    return recordPage(caller, summaries, params, trainingTemplates.listTrainingTemplates)
  },

  getActiveTrainingTemplate(caller, { ownerId }) {
    return newestRecord(caller, { table, isActive: true }, ownerId)
  },

  getTrainingTemplate(caller, { id }) {
    return recordById(caller, { table, orPublic: true }, id)
  },
}
