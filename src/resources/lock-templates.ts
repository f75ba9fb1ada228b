import { sql } from 'kysely'
import { lockTemplates } from '../contract/lock-templates.ts'
import { recordQuery } from '../store/query.ts'
import { newestFirst, ownersOf, rowById } from './access.ts'
import type { Answers } from './answer.ts'
import { newestPage } from './lists.ts'
import { none, one } from './replies.ts'

const templateById = rowById('lock_template')
const templates = newestFirst('lock_template')

/** Of the active lock sessions of an account, the newest counts. */
const templateInUse = recordQuery<{ owner: number }, { template_id: number | null }>(
  slot => sql`
    select template_id from lock_session
    where owner_id = ${slot('owner')} and is_active = 1
    order by at desc, id desc limit 1`,
)

export const answers: Answers<typeof lockTemplates> = {
  listLockTemplates: ({ store, grant }, asked) =>
    newestPage(store, templates, ownersOf(grant, asked.ownerId), asked, lockTemplates.listLockTemplates),

  async getActiveLockTemplate({ store, grant: { accountId, owners } }) {
    const [session] = await store.read(templateInUse, { owner: accountId })
    if (session === undefined || session.template_id === null) return none
    const [template] = await store.read(templateById(owners), { owners, id: session.template_id })
    return template === undefined ? none : one(template)
  },

  async getLockTemplate({ store, grant: { owners } }, { id }) {
    const [template] = await store.read(templateById(owners), { owners, id })
    return template && one(template)
  },
}
