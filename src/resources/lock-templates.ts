import { sql } from 'kysely'
import { lockTemplates } from '../contract/lock-templates.ts'
import {
  type Access,
  type AccessForm,
  accessTo,
  areaOf,
  accessFormName,
  accessForm,
  isReadable,
  isReadableOf,
  type OwnerAccess,
  accessToOwner,
  type CheckedQuery,
  readChecked,
  recordQuery,
} from '../accounts/access.ts'
import type { Handlers } from './handler.ts'
import { recordOrNull, recordById, type RecordRow } from './record-queries.ts'
import { recordPage } from './lists/list-pages.ts'

const templates = { table: 'lock_template', order: 'newest' } as const

export const handlers: Handlers<typeof lockTemplates> = {
  listLockTemplates(caller, params) {
    return recordPage(caller, templates, params, lockTemplates.listLockTemplates)
  },

  async getActiveLockTemplate(caller, { ownerId }) {
    const area = areaOf(templates.table)
    const sessions = accessToOwner(caller, area, ownerId)
    const access = accessTo(caller, templates.table)
    const form = accessForm(access)
    const query = templatesInUse.getOrInsertComputed(accessFormName(form), () => templateInUse(form))
    const [template] = await readChecked(caller.store, query, { ...access, ...sessions })
    // The template may belong to another account than the session.
    const owners = new Set([sessions.owner, template?.owner_id ?? sessions.owner])
    return { ...recordOrNull(template), ownersRead: [{ area, owners: [...owners] }] }
  },

  getLockTemplate(caller, { id }) {
    return recordById(caller, templates, id)
  },
}

/** Access to templates, and to the sessions of one account. */
type InUse = Access & OwnerAccess

const templatesInUse = new Map<string, CheckedQuery<InUse, RecordRow>>()

/** The template of the active lock session of an account; of several such sessions the newest counts. */
function templateInUse(form: AccessForm): CheckedQuery<InUse, RecordRow> {
  return recordQuery(
    `lock template in use ${accessFormName(form)}`,
    (param, owned) => sql`
      select ${owned}, document, etag from lock_template
      where ${isReadable(param, form)} and id = (
        select template_id from lock_session
        where ${isReadableOf(param)} and is_active = 1
        order by at desc, id desc limit 1)`,
  )
}
