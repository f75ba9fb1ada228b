import { trainingTemplates } from '../contract/training-templates.ts'
import { newestOf, ownersOf, rowById } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { newestFirst } from './list-queries.ts'
import { newestPage } from './lists.ts'
import { none, one } from './results.ts'

const templateById = rowById('training_template', { orPublic: true })
const summaries = newestFirst('training_template', { show: 'summary' })
const activeTemplate = newestOf('training_template', 'is_active')

export const handlers: Handlers<typeof trainingTemplates> = {
  listTrainingTemplates: ({ store, grant }, asked) =>
    newestPage(store, summaries, ownersOf(grant, asked.ownerId), asked, trainingTemplates.listTrainingTemplates),

  async getActiveTrainingTemplate({ store, grant }) {
    const [template] = await store.read(activeTemplate, { owner: grant.accountId })
    return template === undefined ? none : one(template)
  },

  async getTrainingTemplate({ store, grant: { owners } }, { id }) {
    const [template] = await store.read(templateById(owners), { owners, id })
    return template && one(template)
  },
}
