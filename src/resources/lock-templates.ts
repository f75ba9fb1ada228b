import { sql } from 'kysely'
import { lockTemplates } from '../contract/lock-templates.ts'
import { recordQuery } from '../store/query.ts'
import { byWidth, type Found, ownedBy, ownersOf, rowById } from './access.ts'
import type { Answers } from './answer.ts'
import { newestFirst } from './list-queries.ts'
import { newestPage } from './lists.ts'
import { none, one } from './replies.ts'

const templateById = rowById('lock_template')
const templates = newestFirst('lock_template')

/** The template of the active lock session of an account; of several such sessions the newest counts. */
const templateInUse = byWidth(width =>
  recordQuery<{ owners: readonly number[]; account: number }, Found>(
    slot => sql`
      select id, owner_id, document, etag from lock_template
      where ${ownedBy(slot, width).mine} and id = (
        select template_id from lock_session
        where owner_id = ${slot('account')} and is_active = 1
        order by at desc, id desc limit 1)`,
  ),
)

export const answers: Answers<typeof lockTemplates> = {
  listLockTemplates: ({ store, grant }, asked) =>
    newestPage(store, templates, ownersOf(grant, asked.ownerId), asked, lockTemplates.listLockTemplates),

  async getActiveLockTemplate({ store, grant: { accountId, owners } }) {
    const [template] = await store.read(templateInUse(owners), { owners, account: accountId })
    return template === undefined ? none : one(template)
  },

  async getLockTemplate({ store, grant: { owners } }, { id }) {
    const [template] = await store.read(templateById(owners), { owners, id })
    return template && one(template)
  },
}
