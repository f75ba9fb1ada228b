import { sql } from '../vendor/kysely.js'
import { RefusedError } from '../accounts/errors.ts'
import { noteDeleted } from '../accounts/removal.ts'
import { noteChangedRecords } from '../archive/revisions.ts'
import type { Store } from '../store/index.ts'
import { sourceLists } from './lists.ts'

/** Rows of one kind that can be pruned. */
export interface PrunableKind {
  readonly accountId: number
  readonly username: string
  readonly kind: string
  /** How many are gone at the source, or belong to somebody to whom a pull ended access. */
  readonly count: number
  /** How many records of this kind the account has. */
  readonly total: number
}

/** What `pull prune` would remove, by owner and kind. */
export async function findPrunable({ db }: Pick<Store, 'db'>): Promise<PrunableKind[]> {
  const found: PrunableKind[] = []
  for (const { kind, table } of sourceLists) {
    const { rows } = await sql<{ owner: number; username: string; count: number; total: number }>`
      select account.id as owner, account.username, count(*) as count,
        (select count(*) from ${sql.table(table)} as stored where stored.owner_id = account.id) as total
      from ${sql.table(table)} as record join account on account.id = record.owner_id
      where ${prunable(kind)}
      group by account.id, account.username order by account.id`.execute(db)
    for (const { owner, username, count, total } of rows) {
      found.push({ accountId: owner, username, kind, count, total })
    }
  }
  return found
}

/**
 * Removes what `findPrunable` found, and returns how many records it removed. Throws RefusedError, and removes nothing, if
 * the number of records to remove has changed since.
 */
export async function prune(store: Pick<Store, 'db'>, found: readonly PrunableKind[]): Promise<number> {
  return store.db.transaction().execute(async db => {
    let removed = 0
    for (const { kind, table } of sourceLists) {
      const expected = found.filter(one => one.kind === kind).reduce((sum, { count }) => sum + count, 0)
      await noteChangedRecords(
        db,
        table,
        sql`select owner_id from ${sql.table(table)} as record where ${prunable(kind)}`,
      )
      const { numAffectedRows } = await sql`delete from ${sql.table(table)} as record where ${prunable(kind)}`.execute(
        db,
      )
      if (Number(numAffectedRows ?? 0) !== expected) {
        throw new RefusedError('the records to remove have changed meanwhile, so nothing was removed: run prune again')
      }
      removed += expected
      // Keeps the rows of records that stay: a later prune finds these records by them.
      await sql`delete from pull_row where kind = ${kind} and not exists (
          select 1 from ${sql.table(table)} as record where record.id = pull_row.id and record.owner_id = pull_row.owner_id)
        and (gone_at is not null or exists (select 1 from pull_access where pull_access.source_id = pull_row.source_id
          and pull_access.owner_id = pull_row.owner_id and pull_access.ended_at is not null))`.execute(db)
    }
    if (removed > 0) await noteDeleted(db)
    return removed
  })
}

/**
 * Whether a record may be removed: it is gone at its source, or a pull ended access to its owner. Only marks of complete
 * rounds count. Records of a source that does not say whom the API key belongs to are never removed, because such a source may
 * just not list them.
 */
function prunable(kind: string) {
  return sql`exists (select 1 from pull_row join pull_source on pull_source.id = pull_row.source_id
    left join pull_access on pull_access.source_id = pull_row.source_id and pull_access.owner_id = pull_row.owner_id
    where pull_row.kind = ${kind} and pull_row.id = record.id and pull_row.owner_id = record.owner_id
      and pull_source.knows_me = 1
      and (pull_row.gone_at <= pull_source.completed_at or pull_access.ended_at <= pull_source.completed_at))`
}
