import { sql } from 'kysely'
import { lockTemplates } from '../contract/lock-templates.ts'
import { type Query, recordQuery } from '../store/query.ts'
import {
  type Access,
  accessTo,
  isReadable,
  isReadableOf,
  type OwnerCount,
  ownerCountOf,
  requireAccess,
} from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordPage } from './lists.ts'
import { recordById, type RecordRow } from './record-queries.ts'
import { one, oneOrNull } from './results.ts'

const templates = { table: 'lock_template', order: 'newest' } as const

export const handlers: Handlers<typeof lockTemplates> = {
  listLockTemplates({ store, grant }, params) {
    return recordPage(store, templates, accessTo(grant, params.ownerId), params, lockTemplates.listLockTemplates)
  },

  async getActiveLockTemplate({ store, grant }, { ownerId = grant.accountId }) {
    requireAccess(grant, ownerId)
    const access = accessTo(grant)
    const query = templatesInUse.getOrInsertComputed(ownerCountOf(access), templateInUse)
    const [template] = await store.read(query, { ...access, owner: ownerId })
    return oneOrNull(template)
  },

  async getLockTemplate({ store, grant }, { id }) {
    return one(await recordById(store, templates, accessTo(grant), id))
  },
}

interface InUse extends Access {
  /** The owner of the session. */
  readonly owner: number
}

const templatesInUse = new Map<OwnerCount, Query<InUse, RecordRow>>()

/** The template of the active lock session of an account; of several such sessions the newest counts. */
function templateInUse(owners: OwnerCount): Query<InUse, RecordRow> {
  return recordQuery(
    param => sql`
      select id, document, etag from lock_template
      where ${isReadable(param, owners)} and id = (
        select template_id from lock_session
        where ${isReadableOf(param)} and is_active = 1
        order by at desc, id desc limit 1)`,
  )
}
