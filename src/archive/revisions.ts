import { type Kysely, type RawBuilder, sql } from 'kysely'
import { newRevision, type Tables } from '../store/tables.ts'

/** Gives some accounts a new revision of a table, in the transaction that writes or removes their records. */
export async function noteChangedRecords(
  db: Kysely<Tables>,
  table: string,
  owners: RawBuilder<unknown>,
): Promise<void> {
  await sql`update account set ${sql.ref(`${table}_revision`)} = ${sql.lit(newRevision())}
    where id in (${owners})`.execute(db)
}
