import { sql } from 'kysely'
import { lockTemplates } from '../contract/lock-templates.ts'
import { recordQuery } from '../store/query.ts'
import { byOwnerCount, type RecordRow, ownedBy, ownersOf, rowById } from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { newestFirst } from './list-queries.ts'
import { newestPage } from './lists.ts'
import { none, one } from './results.ts'

const templateById = rowById('lock_template')
const templates = newestFirst('lock_template')

/** The template of the active lock session of an account; of several such sessions the newest counts. */
const templateInUse = byOwnerCount(width =>
  recordQuery<{ owners: readonly number[]; account: number }, RecordRow>(
    param => sql`
      select id, owner_id, document, etag from lock_template
      where ${ownedBy(param, width).mine} and id = (
        select template_id from lock_session
        where owner_id = ${param('account')} and is_active = 1
        order by at desc, id desc limit 1)`,
  ),
)

export const handlers: Handlers<typeof lockTemplates> = {
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
