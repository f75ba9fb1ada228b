import { sql } from 'kysely'
import { type OwnerAccess, isReadableOf, readChecked, recordQuery } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'

/** A read of sessions of an account as the API sends them, by identifier. `name` is that of the query. */
export function documentsById(table: 'lock_session' | 'training_session', name: string) {
  const query = recordQuery<OwnerAccess & { ids: readonly number[] }, { id: number; document: string }>(
    name,
    (param, owned) => sql`
      select ${owned}, id, document from ${sql.raw(table)}
      where ${isReadableOf(param, 'by id')} and id in ${param.rows(values => values.ids)}`,
  )
  return async (store: Store, access: OwnerAccess, ids: readonly number[]): Promise<Map<number, string>> => {
    const rows = await readChecked(store, query, { ...access, ids })
    return new Map(rows.map(({ id, document }) => [id, document]))
  }
}
