import { hash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { type Kysely, sql } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { Cell } from './kind.ts'
import { isTooLong } from './lines.ts'
import { MAX_LISTED, type RejectedReport, type RejectedRow, type Rejections } from './report.ts'

/** How many rows are kept for one source; further rows are only counted. */
const MAX_REJECTED_ROWS = 10_000

export interface RejectedRowsOptions {
  readonly db: Kysely<Tables>
  readonly source: string
  /** The account of rows whose owner is unknown or has no account. */
  readonly account?: number | undefined
  readonly onReject?: (row: RejectedRow) => void
}

/** Collects rows that cannot be stored, in a temporary table, until they are moved into the store. */
export class RejectedRows implements Rejections {
  readonly #options: RejectedRowsOptions
  readonly #listed: RejectedRow[] = []
  #pending: RejectedRow[] = []
  #pendingCharacters = 0
  #staged = 0
  #count = 0
  #notKept = 0

  constructor(options: RejectedRowsOptions) {
    this.#options = options
  }

  get count() {
    return this.#count
  }

  add(row: RejectedRow) {
    this.#count += 1
    this.#options.onReject?.(row)
    if (this.#listed.length < MAX_LISTED) this.#listed.push({ ...row, raw: undefined })
    if (row.raw === undefined || isTooLong(row.raw) || this.#staged + this.#pending.length >= MAX_REJECTED_ROWS) {
      this.#notKept += 1
      return
    }
    this.#pending.push(row)
    this.#pendingCharacters += row.raw.length
  }

  async flushFull() {
    if (this.#pending.length >= MAX_BATCH_ROWS || this.#pendingCharacters >= MAX_BATCH_CHARACTERS) await this.flush()
  }

  async flush() {
    if (this.#pending.length === 0) return
    if (this.#staged === 0) await this.#prepare()
    const rows = this.#pending.map(({ line, kind, recordId, ownerId, reason, raw = '' }) => {
      const { text, encoding } = encode(raw)
      return sql`(${line}, ${rowKey(kind, recordId, ownerId, raw)}, ${kind}, ${recordId}, ${ownerId}, ${reason}, ${text}, ${encoding})`
    })
    for (let start = 0; start < rows.length; start += MAX_BATCH_ROWS) {
      const some = rows.slice(start, start + MAX_BATCH_ROWS)
      await sql`insert into incoming_set_aside (${sql.raw(STAGED)}) values ${sql.join(some)}`.execute(this.#options.db)
    }
    this.#staged += this.#pending.length
    this.#pending = []
    this.#pendingCharacters = 0
  }

  /** Moves the rows into the store. When an unchanged row was last seen is written at most once a day. */
  async store(now: number): Promise<RejectedReport> {
    await this.flush()
    const newCount = this.#staged === 0 ? 0 : await this.#store(now)
    return {
      count: this.#count,
      newCount: newCount + this.#notKept,
      notKept: this.#notKept,
      rows: this.#listed.map(({ line, kind, recordId, reason }) => ({
        line,
        kind,
        ...(recordId === null ? {} : { id: recordId }),
        reason,
      })),
    }
  }

  async discard() {
    await sql`drop table if exists incoming_set_aside`.execute(this.#options.db)
  }

  async #prepare() {
    await this.discard()
    await sql`create temporary table incoming_set_aside as
      select 0 as line, ${sql.raw(STAGED.replace('line, ', ''))} from set_aside where 1 = 0`.execute(this.#options.db)
    await sql`create index incoming_set_aside_key on incoming_set_aside (row_key, line)`.execute(this.#options.db)
  }

  /** Returns how many rows are new. */
  async #store(now: number): Promise<number> {
    const { source } = this.#options
    await this.#dropRemoved()
    // The same row may occur more than once.
    await sql`delete from incoming_set_aside as earlier where exists (select 1 from incoming_set_aside as later
      where later.row_key = earlier.row_key and later.line > earlier.line)`.execute(this.#options.db)
    await sql`update set_aside set reason = incoming.reason, raw = incoming.raw, encoding = incoming.encoding, last_seen_at = ${now}
      from incoming_set_aside as incoming where set_aside.source = ${source} and set_aside.row_key = incoming.row_key
      and (set_aside.reason <> incoming.reason or set_aside.raw <> incoming.raw or set_aside.last_seen_at <= ${now - DAY_MS})`.execute(
      this.#options.db,
    )
    await sql`delete from incoming_set_aside where row_key in
      (select row_key from set_aside where source = ${source})`.execute(this.#options.db)
    const { rows } = await sql<{ incoming: Cell; stored: Cell }>`select
      (select count(*) from incoming_set_aside) as incoming,
      (select count(*) from set_aside where source = ${source}) as stored`.execute(this.#options.db)
    const incoming = Number(rows[0]?.incoming ?? 0)
    const room = Math.max(0, MAX_REJECTED_ROWS - Number(rows[0]?.stored ?? 0))
    if (incoming > 0) await this.#insert(now, room)
    this.#notKept += Math.max(0, incoming - room)
    return Math.min(incoming, room)
  }

  /** Nothing of an account that was removed from this database is kept. */
  async #dropRemoved() {
    const { numAffectedRows = 0n } = await sql`delete from incoming_set_aside where owner_id in
      (select id from removed_account)`.execute(this.#options.db)
    this.#notKept += Number(numAffectedRows)
  }

  #insert(now: number, room: number) {
    return sql`insert into set_aside
      (source, row_key, kind, record_id, owner_id, account_id, reason, raw, encoding, first_seen_at, last_seen_at)
      select cast(${this.#options.source} as text), row_key, kind, record_id, owner_id,
        coalesce((select account.id from account where account.id = incoming.owner_id),
          (select account.id from account where account.id = cast(${this.#options.account ?? null} as bigint))),
        reason, raw, encoding, cast(${now} as bigint), cast(${now} as bigint)
      from incoming_set_aside as incoming order by line limit ${room}`.execute(this.#options.db)
  }
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
    where incoming.kind = set_aside.kind and incoming.id = set_aside.record_id and incoming.reasons is null
    and (incoming.owner = set_aside.owner_id or set_aside.owner_id is null and set_aside.source = ${source}))`.execute(
    db,
  )
}

/** Identifies a rejected row: a later one with the same key replaces it. */
function rowKey(kind: string, recordId: number | null, ownerId: number | null, raw: Buffer | string): string {
  return recordId === null ? hash('sha256', raw, 'hex') : `${kind}/${recordId}/${ownerId ?? ''}`
}

const STAGED = 'line, row_key, kind, record_id, owner_id, reason, raw, encoding'

const MAX_BATCH_ROWS = 100
const MAX_BATCH_CHARACTERS = 1024 * 1024

/** Text as it is; bytes that a text column cannot store as base64. */
function encode(raw: Buffer | string): { text: string; encoding: 'utf-8' | 'base64' } {
  const bytes = typeof raw === 'string' ? Buffer.from(raw) : raw
  const isText = isUtf8(bytes) && !bytes.includes(0)
  return isText
    ? { text: bytes.toString('utf8'), encoding: 'utf-8' }
    : { text: bytes.toString('base64'), encoding: 'base64' }
}
