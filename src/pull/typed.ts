import { type Kysely, sql } from 'kysely'
import { BESIDE_MINUTES } from '../archive/made-here.ts'
import type { Tables } from '../store/tables.ts'

/** A session that a table made, and one of a server that began within BESIDE_MINUTES of it. */
export interface TypedSession {
  readonly kind: 'training-session' | 'lock-session'
  readonly id: number
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly copied: number
}

/** The first sessions that somebody typed although the servers of the account seem to have them, the newest first. */
export async function listTyped(db: Kysely<Tables>, accountId: number, limit: number): Promise<TypedSession[]> {
  const lists = await Promise.all(
    (['training-session', 'lock-session'] as const).map(async kind => {
      const table = sql.table(kind.replace('-', '_'))
      const { rows } = await sql<Omit<TypedSession, 'kind'>>`
        select typed.id, typed.at, min(copied.id) as copied
        from ${table} as typed
        join ${table} as copied on copied.owner_id = typed.owner_id and copied.made_here is null
          and copied.at between typed.at - ${WITHIN_MS} and typed.at + ${WITHIN_MS}
        where typed.owner_id = ${accountId} and typed.made_here is not null and exists (
          select 1 from pull_source join pull_row on pull_row.source_id = pull_source.id
          where pull_source.account_id = ${accountId} and pull_row.kind = ${kind} and pull_row.id = copied.id)
        group by typed.id, typed.at order by typed.at desc limit ${limit}`.execute(db)
      return rows.map(row => ({ ...row, kind }))
    }),
  )
  return lists
    .flat()
    .toSorted((a, b) => b.at - a.at)
    .slice(0, limit)
}

const WITHIN_MS = BESIDE_MINUTES * 60_000
