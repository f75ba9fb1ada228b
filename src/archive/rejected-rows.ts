import { type Kysely, sql } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { Incoming } from './incoming.ts'
import type { Cell } from './kind.ts'

/** How many rows are kept for one source; further rows are only counted. */
const MAX_REJECTED_ROWS = 10_000

interface RejectedOptions {
  readonly source: string
  /** The account of rows whose owner is unknown or has no account. */
  readonly account?: number | undefined
  readonly now: number
}

export type RejectedReport = Awaited<ReturnType<typeof storeRejected>>

/** Keeps the lines that cannot be stored. When an unchanged row was last seen is written at most once a day. */
export async function storeRejected(incoming: Incoming, db: Kysely<Tables>, { source, account, now }: RejectedOptions) {
  const { count, lines } = await incoming.rejectedLines()
  const listed = lines.map(({ line, kind, recordId, reason }) => ({
    line,
    kind,
    ...(recordId === null ? {} : { id: recordId }),
    reason,
  }))
  if (count === 0) return { count, newCount: 0, notKept: 0, rows: listed }
  // Nothing of an account that was removed from this database is kept. The same row may occur more than once.
  await sql`create temporary table rejected_line as select max(line) as line, row_key, count(*) as times from incoming
    where reason is not null and row_key is not null and (owner is null or owner not in (select id from removed_account))
    group by row_key`.execute(db)
  await sql`update set_aside set reason = incoming.reason, raw = incoming.raw, encoding = incoming.encoding, last_seen_at = ${now}
    from rejected_line join incoming on incoming.line = rejected_line.line
    where set_aside.source = ${source} and set_aside.row_key = rejected_line.row_key
    and (set_aside.reason <> incoming.reason or set_aside.raw <> incoming.raw or set_aside.last_seen_at <= ${now - DAY_MS})`.execute(
    db,
  )
  const isNew = sql`rejected_line.row_key not in (select row_key from set_aside where source = ${source})`
  const { rows } = await sql<{ kept: Cell; fresh: Cell; stored: Cell }>`select
    (select sum(times) from rejected_line) as kept,
    (select count(*) from rejected_line where ${isNew}) as fresh,
    (select count(*) from set_aside where source = ${source}) as stored`.execute(db)
  const [kept, fresh, stored] = [Number(rows[0]?.kept), Number(rows[0]?.fresh), Number(rows[0]?.stored)]
  const room = Math.max(0, MAX_REJECTED_ROWS - stored)
  await sql`insert into set_aside
    (source, row_key, kind, record_id, owner_id, account_id, reason, raw, encoding, first_seen_at, last_seen_at)
    select cast(${source} as text), incoming.row_key, kind, id, owner,
      coalesce((select account.id from account where account.id = owner),
        (select account.id from account where account.id = cast(${account ?? null} as bigint))),
      reason, raw, encoding, cast(${now} as bigint), cast(${now} as bigint)
    from rejected_line join incoming on incoming.line = rejected_line.line
    where ${isNew} order by incoming.line limit ${room}`.execute(db)
  // Because of a limit, or because their account was removed.
  const notKept = count - kept + Math.max(0, fresh - room)
  return { count, newCount: Math.min(fresh, room) + notKept, notKept, rows: listed }
}

export function listRejected({ db }: Store) {
  return db
    .selectFrom('set_aside')
    .select(['id', 'source', 'kind', 'record_id', 'account_id', 'reason', 'first_seen_at', 'last_seen_at'])
    .orderBy('id')
    .execute()
}

export async function countRejected({ reads }: Store): Promise<number> {
  const { count } = await reads
    .selectFrom('set_aside')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** A rejected row, as it was received; undefined if there is none. */
export function findRejected({ db }: Store, id: number) {
  return db.selectFrom('set_aside').select(['raw', 'encoding', 'reason']).where('id', '=', id).executeTakeFirst()
}

/** Deletes rejected rows whose records are now among the incoming ones; those without an owner only if they come from this source. */
export async function clearRejected(db: Kysely<Tables>, source: string) {
  const { rows } = await sql`select 1 from set_aside limit 1`.execute(db)
  if (rows.length === 0) return
  await sql`delete from set_aside where exists (select 1 from incoming
    where incoming.kind = set_aside.kind and incoming.id = set_aside.record_id and incoming.reason is null
    and (incoming.owner = set_aside.owner_id or set_aside.owner_id is null and set_aside.source = ${source}))`.execute(
    db,
  )
}
