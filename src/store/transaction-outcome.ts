import { type Kysely, sql } from 'kysely'
import { StoreUnavailableError } from './store.ts'
import type { Tables } from './tables.ts'

/** Whether a transaction of PostgreSQL was committed, if the connection was lost before the server said so. */

/** Identifies the transaction that this runs in. */
export async function transactionId(db: Kysely<Tables>): Promise<string> {
  const id = sql<string>`cast(pg_current_xact_id() as text)`.as('id')
  return (await db.selectNoFrom(id).executeTakeFirstOrThrow()).id
}

/** Whether a transaction was committed. Throws StoreUnavailableError while the server has not ended it. */
export async function wasCommitted(db: Kysely<Tables>, id: string): Promise<boolean> {
  // A replica that was promoted in between may not know the transaction.
  const { rows } = await sql<{ status: string | null }>`
    select case when id < pg_current_xact_id() then pg_xact_status(id) end as status
    from (select cast(${id} as xid8) as id) as wanted`.execute(db)
  const status = rows[0]?.status
  if (status === 'in progress') throw new StoreUnavailableError('an earlier transaction has not ended yet')
  return status === 'committed'
}
