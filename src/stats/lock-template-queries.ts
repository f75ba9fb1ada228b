import { sql } from 'kysely'
import { sum } from '../contract/numbers.ts'
import type { LockTemplate } from '../contract/lock-templates.ts'
import type { Store } from '../store/index.ts'
import { type Access, ANY_SESSIONS, isReadable, readChecked, recordQuery } from '../accounts/access.ts'
import { bounded, ONE_MORE } from './history-cache.ts'
import { type StoredTemplate, templateQueries } from './template-queries.ts'

export const lockTemplates = templateQueries<LockTemplate>('lock_template', 'lock template')

export type TemplateUse = Awaited<ReturnType<typeof withUses>>[number]

/** Some lock templates, with how sessions that may be read used them, the one used last first. */
export async function withUses(store: Store, templates: readonly StoredTemplate<LockTemplate>[], sessions: Access) {
  const latest = bounded(await readChecked(store, usesByTemplate, sessions)).toSorted((a, b) => b.at - a.at)
  const byTemplate = Map.groupBy(latest, ({ template }) => template)
  const used = templates.map(template => {
    const uses = byTemplate.get(template.record.id) ?? []
    const newest = uses.filter(({ place }) => place === 1)
    // Practice locks have no figures.
    const ended = template.record.isTestLock ? [] : uses.filter(({ running }) => running === 0)
    const counts = ended.filter(({ place }) => place === 1)
    return {
      ...template,
      /** Whose sessions they are. */
      owners: newest.map(({ owner_id: owner }) => owner),
      /** Those that ended, and how many of them not early. */
      sessions: sum(counts.map(({ sessions }) => sessions)),
      completed: sum(counts.map(({ done }) => done)),
      /** Of the last ten that ended, the newest first: how many milliseconds they lasted, null where that is not known. */
      lastTen: ended
        .slice(0, LATEST)
        .map(({ length, early }) => ({ length: length > 0 ? length : null, isCompleted: early === 0 })),
      /** When one began that is running. */
      runningSince: newest.find(({ running }) => running > 0)?.at,
      /** When a session with it began last; null when there was none. */
      last: newest[0]?.at ?? null,
    }
  })
  return used.toSorted((a, b) => (b.last ?? 0) - (a.last ?? 0))
}

type Use = Readonly<Record<'template' | 'running' | 'early' | 'at' | 'length' | 'sessions' | 'done' | 'place', number>>

const LATEST = 10

/** The last sessions with each template, beside how many there are. */
const usesByTemplate = recordQuery<Access, Use>(
  'uses of lock templates',
  (param, owned) => sql`
    select ${owned}, template_id as template, is_active as running, early, at, coalesce(ended_at - at, 0) as length, sessions, done, place
    from (
      -- Otherwise PostgreSQL reads all sessions in an order that saves sorting some.
      with found as materialized (select owner_id, template_id, is_active, at, ended_at, lock_state, id
        from lock_session where ${isReadable(param, ANY_SESSIONS)} and template_id is not null)
      select owner_id, template_id, is_active, at, ended_at, case lock_state when 'completed' then 0 else 1 end as early, count(*) over same as sessions,
        count(*) filter (where lock_state = 'completed') over same as done,
        row_number() over (same order by at desc, id desc) as place
      from found window same as (partition by owner_id, template_id, is_active)
    ) as used
    where place <= ${sql.lit(LATEST)} limit ${sql.lit(ONE_MORE)}`,
)
