import { sql } from 'kysely'
import type { LockTemplate } from '../contract/lock-templates.ts'
import type { Store } from '../store/index.ts'
import { type Access, ANY_SESSIONS, isReadable, readChecked, recordQuery } from '../accounts/access.ts'
import { bounded, ONE_MORE } from './history-cache.ts'
import { type StoredTemplate, templateQueries } from './template-queries.ts'

export const lockTemplates = templateQueries<LockTemplate>('lock_template', 'lock template')

/** A lock template, and how often it was used. */
export interface TemplateUse extends StoredTemplate<LockTemplate> {
  readonly sessions: number
  /** When a session with it began last; null when there was none. */
  readonly last: number | null
}

/** Some lock templates, with how often sessions that may be read used them. */
export async function withUses(
  store: Store,
  templates: readonly StoredTemplate<LockTemplate>[],
  sessions: Access,
): Promise<TemplateUse[]> {
  const uses = bounded(await readChecked(store, usesByTemplate, sessions))
  const byTemplate = Map.groupBy(uses, ({ template }) => template)
  return templates.map(template => {
    const ofAllOwners = byTemplate.get(template.record.id) ?? []
    return {
      ...template,
      sessions: ofAllOwners.reduce((sum, { sessions }) => sum + sessions, 0),
      last: ofAllOwners.reduce<number | null>((latest, { last }) => Math.max(latest ?? last, last), null),
    }
  })
}

const usesByTemplate = recordQuery<Access, { template: number; sessions: number; last: number }>(
  'uses of lock templates',
  (param, owned) => sql`
    select ${owned}, template_id as template, count(*) as sessions, max(at) as last from lock_session
    where ${isReadable(param, ANY_SESSIONS)} and template_id is not null
    group by owner_id, template_id limit ${sql.lit(ONE_MORE)}`,
)
