import { type Kysely, type RawBuilder, sql } from '../vendor/kysely.js'
import type { Tables } from '../store/tables.ts'

/**
 * Notes, in the transaction that writes or removes records of a table, that those of some accounts have changed. A revision is at
 * least the present time, so that an account that was removed and added again does not repeat one, nor a database that was restored
 * from a backup.
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
