import { type Kysely, type RawBuilder, sql } from '../vendor/kysely.js'
import type { Tables } from '../store/tables.ts'

/**
 * Raises the revision of some accounts for a table, in the transaction that writes or removes their records. A revision is at least
 * the present time, so that none is repeated after an account is removed and added again, or a backup is restored.
 */
export async function noteChangedRecords(
  db: Kysely<Tables>,
  table: string,
  owners: RawBuilder<unknown>,
): Promise<void> {
  const now = sql`cast(${Date.now()} as bigint)`
  const revision = sql.ref(`${table}_revision`)
  await sql`update account set ${revision} = case when ${revision} < ${now} then ${now} else ${revision} + 1 end
    where id in (${owners})`.execute(db)
}
