import { type Kysely, type RawBuilder, sql } from 'kysely'
import { StoreUnavailableError } from './store.ts'
import type { Tables } from './tables.ts'

/** Runs work in the transaction that `begin` starts on a connection; if it fails, nothing of it is stored. */
export async function runTransaction<Result>(
  connection: Kysely<Tables>,
  begin: RawBuilder<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  await begin.execute(connection)
  try {
    const result = await work()
    await sql`commit`.execute(connection)
    return result
  } catch (error) {
    // A connection that cannot roll back has lost the transaction already.
    await sql`rollback`.execute(connection).catch(() => {})
    throw error
  }
}

/** Identifies the transaction of PostgreSQL that this runs in. */
export async function transactionId(db: Kysely<Tables>): Promise<string> {
  const id = sql<string>`cast(pg_current_xact_id() as text)`.as('id')
  return (await db.selectNoFrom(id).executeTakeFirstOrThrow()).id
}

/** Whether it was committed, if the connection was lost before the server said so. Throws StoreUnavailableError until it has ended. */
export async function wasCommitted(db: Kysely<Tables>, id: string): Promise<boolean> {
  // A replica that was promoted in between may not know the transaction.
  const { rows } = await sql<{ status: string | null }>`
    select case when id < pg_current_xact_id() then pg_xact_status(id) end as status
    from (select cast(${id} as xid8) as id) as wanted`.execute(db)
  const status = rows[0]?.status
  if (status === 'in progress') throw new StoreUnavailableError('an earlier transaction has not ended yet')
  return status === 'committed'
}
