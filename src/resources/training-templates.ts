import { trainingTemplates } from '../contract/training-templates.ts'
import { accessTo } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists/list-pages.ts'
import { newestRecord, recordById } from './record-queries.ts'

const table = 'training_template'
const summaries = { table, text: 'summary', order: 'newest' } as const

export const handlers: Handlers<typeof trainingTemplates> = {
  listTrainingTemplates(caller, params) {
    const access = accessTo(caller, table, params.ownerId)
    return recordPage(caller, summaries, access, params, trainingTemplates.listTrainingTemplates)
  },

  getActiveTrainingTemplate(caller, { ownerId }) {
    return newestRecord(caller, { table, isActive: true }, ownerId)
  },

  getTrainingTemplate(caller, { id }) {
    return recordById(caller, { table, orPublic: true }, id)
  },
}
