import { type Kysely, type RawBuilder, sql } from 'kysely'
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
