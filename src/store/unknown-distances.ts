import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Engine } from './query.ts'
import type { Tables } from './tables.ts'

/**
 * Removes unknown distances from training sessions, and stores the newest instant of each account. Part of a released migration: it
 * is never edited.
 */
export async function leaveOutUnknownDistances(db: Kysely<Tables>, engine: Engine, now: number) {
  let after = { id: 0, owner_id: 0 }
  for (;;) {
    const rows = await db
      .selectFrom('training_session')
      .select(['id', 'owner_id', 'document'])
      .where(({ eb, refTuple, tuple }) => eb(refTuple('owner_id', 'id'), '>', tuple(after.owner_id, after.id)))
      .where('document', 'like', `%${UNKNOWN_DISTANCE}%`)
      .orderBy('owner_id')
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) break
    const values = rows.map(({ id, owner_id, document }) => {
      // Inside a text the quotes would be escaped.
      const rewritten = document.replaceAll(UNKNOWN_DISTANCE, '')
      const etag = hash('sha256', rewritten, 'base64url').slice(0, 22)
      return sql`(cast(${id} as bigint), cast(${owner_id} as bigint), ${rewritten}, ${etag})`
    })
    // Both engines name the columns of a list of values like this.
    await sql`update training_session set document = changed.column3, etag = changed.column4
      from (values ${sql.join(values)}) as changed
      where training_session.id = changed.column1 and training_session.owner_id = changed.column2`.execute(db)
    after = last
  }
  await storeNewestInstants(db, engine, now)
}

const UNKNOWN_DISTANCE = ',"distanceTravelled":null'

/** A row can take a megabyte. */
const ROWS_AT_ONCE = 50

async function storeNewestInstants(db: Kysely<Tables>, engine: Engine, now: number) {
  const lastEvent =
    engine === 'sqlite' ? "json_extract(events, '$[#-1][0]')" : 'cast(cast(events as json) -> -1 ->> 0 as bigint)'
  const sources: readonly (readonly [instant: string, table: string])[] = [
    ['at', 'training_session'],
    ['at', 'training_template'],
    ['at', 'lock_template'],
    ['at', 'lock_session'],
    [lastEvent, 'lock_session'],
    // The end of an active session is only planned.
    ['case when is_active = 0 then ended_at end', 'lock_session'],
  ]
  const known = sources.map(
    ([instant, table]) => sql`select ${sql.raw(instant)} as at from ${sql.table(table)} where owner_id = account.id`,
  )
  await sql`update account set as_of = (
    select max(known.at) from (${sql.join(known, sql` union all `)}) as known where known.at <= ${now})`.execute(db)
}
