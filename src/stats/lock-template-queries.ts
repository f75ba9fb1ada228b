import { sql } from 'kysely'
import { sum } from '../contract/numbers.ts'
import type { LockTemplate } from '../contract/lock-templates.ts'
import type { Store } from '../store/index.ts'
import { type Access, ANY_SESSIONS, isReadable, readChecked, recordQuery } from '../accounts/access.ts'
import { bounded, ONE_MORE } from './history-cache.ts'
import { type StoredTemplate, templateQueries } from './template-queries.ts'

export const lockTemplates = templateQueries<LockTemplate>('lock_template', 'lock template')

/** A lock template, and how often it was used. */
export interface TemplateUse extends StoredTemplate<LockTemplate> {
  /** Those that ended. */
  readonly sessions: number
  /** Of those, how many did not end early. */
  readonly completed: number
  readonly isInUse: boolean
  /** Milliseconds of the shortest and the longest that ended, of those whose record has an end; null without any. */
  readonly shortest: number | null
  readonly longest: number | null
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
      sessions: sum(ofAllOwners.map(({ sessions, running }) => sessions - running)),
      completed: sum(ofAllOwners.map(({ completed }) => completed)),
      isInUse: ofAllOwners.some(({ running }) => running > 0),
      shortest: extreme(
        Math.min,
        ofAllOwners.map(({ shortest }) => shortest),
      ),
      longest: extreme(
        Math.max,
        ofAllOwners.map(({ longest }) => longest),
      ),
      last: extreme(
        Math.max,
        ofAllOwners.map(({ last }) => last),
      ),
    }
  })
}

function extreme(choose: (...values: number[]) => number, values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null)
  return known.length === 0 ? null : choose(...known)
}

interface Use {
  readonly template: number
  readonly sessions: number
  readonly running: number
  readonly completed: number
  readonly shortest: number | null
  readonly longest: number | null
  readonly last: number
}

const usesByTemplate = recordQuery<Access, Use>(
  'uses of lock templates',
  (param, owned) => sql`
    select ${owned}, template_id as template, count(*) as sessions, count(*) filter (where is_active = 1) as running,
      count(*) filter (where is_active = 0 and lock_state = 'completed') as completed, max(at) as last,
      min(ended_at - at) filter (where is_active = 0 and ended_at > at) as shortest, max(ended_at - at) filter (where is_active = 0) as longest
    from lock_session
    where ${isReadable(param, ANY_SESSIONS)} and template_id is not null
    group by owner_id, template_id limit ${sql.lit(ONE_MORE)}`,
)
