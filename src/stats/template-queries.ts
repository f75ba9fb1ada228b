import { sql } from 'kysely'
import { type Access, ANY_OWNERS, isReadable, readChecked, recordQuery } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { bounded, ONE_MORE } from './history-cache.ts'

export interface StoredTemplate<Template> {
  readonly owner: number
  readonly record: Template
  readonly document: string
}

/** The templates of an area. `name` is how their queries are called. */
export function templateQueries<Template>(table: 'lock_template' | 'training_template', name: string) {
  const all = recordQuery<Access, { document: string }>(
    `${name}s`,
    (param, owned) => sql`
      select ${owned}, document from ${sql.raw(table)}
      where ${isReadable(param, ANY_OWNERS)}
      order by at desc, id desc limit ${sql.lit(ONE_MORE)}`,
  )
  const byId = recordQuery<Access & { ids: readonly number[] }, { id: number; document: string }>(
    `${name}s by id`,
    (param, owned) => sql`
      select ${owned}, id, document from ${sql.raw(table)}
      where ${isReadable(param, ANY_OWNERS)} and id in ${param.rows(values => values.ids)}`,
  )
  // The archive wrote it in the form of the contract.
  const templateOf = ({ owner_id: owner, document }: { owner_id: number; document: string }) => {
    return { owner, record: JSON.parse(document) as Template, document }
  }
  return {
    /** Those of some accounts, the newest first. Throws ApiError if they are too many. */
    async all(store: Store, access: Access): Promise<StoredTemplate<Template>[]> {
      return bounded(await readChecked(store, all, access)).map(templateOf)
    },
    /** Those of some identifiers that the access has, by these. */
    async find(store: Store, access: Access, ids: readonly number[]): Promise<Map<number, StoredTemplate<Template>>> {
      const rows = await readChecked(store, byId, { ...access, ids })
      return new Map(rows.map(row => [row.id, templateOf(row)]))
    },
  }
}
