import { sql } from 'kysely'
import type { LockTemplate } from '../contract/lock-templates.ts'
import type { Store } from '../store/index.ts'
import { type Access, ANY_OWNERS, ANY_SESSIONS, isReadable } from '../accounts/access.ts'
import { readChecked, recordQuery } from '../accounts/checked-reads.ts'
import { bounded, ONE_MORE } from './history-size.ts'

/** A lock template, its record as stored, and how often it was used. */
export interface TemplateUse {
  readonly owner: number
  readonly record: LockTemplate
  readonly document: string
  readonly sessions: number
  /** When a session with it began last; null when there was none. */
  readonly last: number | null
}

/** How many lock templates some accounts have. */
export async function countLockTemplates(store: Store, access: Access): Promise<number> {
  const rows = await readChecked(store, templateCounts, access)
  return rows.reduce((sum, { count }) => sum + count, 0)
}

/**
 * The lock templates of some accounts, or a part of them, the newest first, with how often sessions that may be read used them. Throws
 * ApiError if they are too many.
 */
export async function lockTemplates(
  store: Store,
  templates: Access,
  sessions: Access,
  part = { limit: ONE_MORE, offset: 0 },
): Promise<TemplateUse[]> {
  const [rows, uses] = await Promise.all([
    readChecked(store, templatesOf, { ...templates, ...part }),
    readChecked(store, usesByTemplate, sessions),
  ])
  const byTemplate = Map.groupBy(bounded(uses), ({ template }) => template)
  return bounded(rows).map(({ id, owner_id, document }) => {
    const ofAllOwners = byTemplate.get(id) ?? []
    return {
      owner: owner_id,
      // The archive wrote it in the form of the contract.
      record: JSON.parse(document) as LockTemplate,
      document,
      sessions: ofAllOwners.reduce((sum, { sessions }) => sum + sessions, 0),
      last: ofAllOwners.reduce<number | null>((latest, { last }) => Math.max(latest ?? last, last), null),
    }
  })
}

/** A lock template; undefined if the access has none with this identifier. */
export async function lockTemplate(store: Store, access: Access, id: number) {
  const [row] = await readChecked(store, templateById, { ...access, id })
  // The archive wrote it in the form of the contract.
  return row && { owner: row.owner_id, record: JSON.parse(row.document) as LockTemplate, document: row.document }
}

const templatesOf = recordQuery<Access & { limit: number; offset: number }, { id: number; document: string }>(
  'lock templates',
  (param, owned) => sql`
    select ${owned}, id, document from lock_template
    where ${isReadable(param, ANY_OWNERS)}
    order by at desc, id desc limit ${param.count('limit')} offset ${param.count('offset')}`,
)

const templateCounts = recordQuery<Access, { count: number }>(
  'numbers of lock templates',
  (param, owned) => sql`
    select ${owned}, count(*) as count from lock_template
    where ${isReadable(param, ANY_OWNERS)} group by owner_id`,
)

const templateById = recordQuery<Access & { id: number }, { document: string }>(
  'lock template by id',
  (param, owned) => sql`
    select ${owned}, document from lock_template
    where ${isReadable(param, ANY_OWNERS)} and id = ${param('id')}`,
)

const usesByTemplate = recordQuery<Access, { template: number; sessions: number; last: number }>(
  'uses of lock templates',
  (param, owned) => sql`
    select ${owned}, template_id as template, count(*) as sessions, max(at) as last from lock_session
    where ${isReadable(param, ANY_SESSIONS)} and template_id is not null
    group by owner_id, template_id limit ${sql.lit(ONE_MORE)}`,
)
