import { sql } from 'kysely'
import { sum } from '../contract/numbers.ts'
import type { LockTemplate } from '../contract/lock-templates.ts'
import type { Store } from '../store/index.ts'
import { type Access, ANY_SESSIONS, isReadable, readChecked, recordQuery } from '../accounts/access.ts'
import { bounded, ONE_MORE } from './history-cache.ts'
import { type StoredTemplate, templateQueries } from './template-queries.ts'

export const lockTemplates = templateQueries<LockTemplate>('lock_template', 'lock template')

export type TemplateUse = Awaited<ReturnType<typeof withUses>>[number]

/** Some lock templates, with how often sessions that may be read used them. */
export async function withUses(store: Store, templates: readonly StoredTemplate<LockTemplate>[], sessions: Access) {
  const uses = bounded(await readChecked(store, usesByTemplate, sessions))
  const byTemplate = Map.groupBy(uses, ({ template }) => template)
  return templates.map(template => {
    const ofAllOwners = byTemplate.get(template.record.id) ?? []
    const ended = ofAllOwners.filter(({ running }) => running === 0)
    return {
      ...template,
      /** Whose sessions they are. */
      owners: ofAllOwners.map(({ owner_id: owner }) => owner),
      /** Those that ended, and how many of them not early. */
      sessions: sum(ended.map(({ sessions }) => sessions)),
      completed: sum(ended.map(({ completed }) => completed)),
      /** When one began that is running. */
      runningSince: ofAllOwners.find(({ running }) => running > 0)?.last,
      /** When a session with it began last; null when there was none. */
      last: ofAllOwners.length === 0 ? null : Math.max(...ofAllOwners.map(({ last }) => last)),
    }
  })
}

/** Of each template, how many milliseconds the last ten sessions lasted that may be read and have an end. */
export async function latestLengths(store: Store, sessions: Access): Promise<ReadonlyMap<number, readonly number[]>> {
  const latest = bounded(await readChecked(store, latestByTemplate, sessions)).toSorted((a, b) => b.at - a.at)
  const byTemplate = [...Map.groupBy(latest, one => one.template)]
  return new Map(byTemplate.map(([id, locks]) => [id, locks.slice(0, 10).map(({ length }) => length)]))
}

type Latest = Readonly<Record<'template' | 'at' | 'length', number>>

const latestByTemplate = recordQuery<Access, Latest>(
  'last locks of templates',
  (param, owned) => sql`
    select ${owned}, template_id as template, at, ended_at - at as length
    from (
      select owner_id, template_id, at, ended_at,
        row_number() over (partition by owner_id, template_id order by at desc, id desc) as place
      from lock_session
      where ${isReadable(param, ANY_SESSIONS)} and template_id is not null and is_active = 0 and ended_at > at
    ) as ended
    where place <= 10 limit ${sql.lit(ONE_MORE)}`,
)

type Use = Readonly<Record<'template' | 'running' | 'sessions' | 'completed' | 'last', number>>

const usesByTemplate = recordQuery<Access, Use>(
  'uses of lock templates',
  (param, owned) => sql`
    select ${owned}, template_id as template, is_active as running, count(*) as sessions, max(at) as last,
      count(*) filter (where is_active = 0 and lock_state = 'completed') as completed
    from lock_session
    where ${isReadable(param, ANY_SESSIONS)} and template_id is not null
    group by owner_id, template_id, is_active limit ${sql.lit(ONE_MORE)}`,
)
