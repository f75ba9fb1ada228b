import { sql } from 'kysely'
import { recordEvent } from '../accounts/events.ts'
import { noteDeleted } from '../accounts/removal.ts'
import { noteChangedRecords } from '../archive/revisions.ts'
import type { Store } from '../store/index.ts'
import type { ChangedBy } from './connections.ts'
import { sourceLists } from './lists.ts'
import { Refusal } from '../contract/refusal.ts'

export type GoneRecords = Awaited<ReturnType<typeof findGone>>[number]

/** What `removeGone` would remove, by owner and kind: of all accounts, or of one and its own sources. */
export async function findGone({ db }: Pick<Store, 'db'>, account?: number) {
  const found = []
  for (const { kind, table } of sourceLists) {
    // With the number of all records of this kind that the account has.
    const { rows } = await sql<{ accountId: number; username: string; count: number; total: number }>`
      select account.id as "accountId", account.username, count(*) as count,
        (select count(*) from ${sql.table(table)} as stored where stored.owner_id = account.id) as total
      from ${sql.table(table)} as record join account on account.id = record.owner_id
      where ${isRemovable(kind, account)}
      group by account.id, account.username order by account.id`.execute(db)
    for (const row of rows) found.push({ ...row, kind })
  }
  return found
}

/**
 * Removes what `findGone` found for the same account, and returns how many records it removed; their bytes are in the file until
 * `eraseDeleted`. Throws Refusal, and removes nothing, if their number has changed since.
 */
export async function removeGone(
  store: Pick<Store, 'db'>,
  found: readonly GoneRecords[],
  by: ChangedBy,
  account?: number,
): Promise<number> {
  return store.db.transaction().execute(async db => {
    let removed = 0
    for (const { kind, table } of sourceLists) {
      const expected = found.filter(one => one.kind === kind).reduce((sum, { count }) => sum + count, 0)
      const gone = sql`from ${sql.table(table)} as record where ${isRemovable(kind, account)}`
      await noteChangedRecords(db, table, sql`select owner_id ${gone}`)
      const { numAffectedRows } = await sql`delete ${gone}`.execute(db)
      if (Number(numAffectedRows ?? 0) !== expected) {
        throw new Refusal('refused', 'the records to remove have changed meanwhile, so nothing was removed: try again')
      }
      removed += expected
      // Keeps the rows of records that stay: they can be removed later.
      await sql`delete from pull_row where kind = ${kind} and not exists (
          select 1 from ${sql.table(table)} as record where record.id = pull_row.id and record.owner_id = pull_row.owner_id)
        and gone_at is not null`.execute(db)
    }
    for (const accountId of new Set(found.map(one => one.accountId)))
      await recordEvent(db, { accountId, type: 'source-gone-removed', ...by })
    if (removed > 0) await noteDeleted(db)
    return removed
  })
}

/**
 * Whether a record may be removed: it is gone at its source. Only marks of complete rounds count. Records of a source that does not say whom the API key belongs to are never removed, because such a source may
 * just not list them.
 */
function isRemovable(kind: string, account: number | undefined) {
  return sql`${account === undefined ? sql`true` : sql`record.owner_id = ${account}`}
    and exists (select 1 from pull_row join pull_source on pull_source.id = pull_row.source_id
    where pull_row.kind = ${kind} and pull_row.id = record.id and pull_row.owner_id = record.owner_id
      and ${account === undefined ? sql`true` : sql`pull_source.account_id = ${account}`}
      and pull_source.knows_me = 1
      and pull_row.gone_at <= pull_source.completed_at)`
}
