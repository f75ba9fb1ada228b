import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { BatchImporterOptions } from '../archive/batch-importer.ts'
import { jsonRows, type Store } from '../store/index.ts'
import type { PullRowTable, PullSourceTable, Tables } from '../store/tables.ts'

/** The stored state of pulls: the sources of each account, and each row that a source has sent. */

export type PullSource = Selectable<PullSourceTable>
export type PullRow = Selectable<PullRowTable>
export type NewPullRow = Insertable<PullRowTable>

/** A path that says whose an API key is. */
export type IdentityPath = '/users/me' | '/me' | '/users'

/** What the source accepts. It is stored, so that later rounds do not try what was refused. */
export interface Capabilities {
  readonly identityPath?: IdentityPath
  /** Parameters beyond `limit` and `offset` that lists accept. */
  readonly parameters?: Readonly<Partial<Record<ListParameter, boolean>>>
  /** Whether a list accepts `include`, by its path. */
  readonly include?: Readonly<Record<string, boolean>>
  /** Kinds whose list rows lack fields of the record. */
  readonly partialKinds?: readonly string[]
  /** Kinds whose list rows are complete records. */
  readonly completeKinds?: readonly string[]
}

type ListParameter = 'cursor' | 'ownerId'

/** The state of pulls from an origin into an account. */
export function findSource(store: Store, accountId: number, origin: string): Promise<PullSource | undefined> {
  return store.db
    .selectFrom('pull_source')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('origin', '=', origin)
    .executeTakeFirst()
}

/** Writes in a transaction that begins with a check, as those that store records do. */
export async function checked(
  { db }: Pick<Store, 'db'>,
  check: BatchImporterOptions['check'],
  write: (db: Kysely<Tables>) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async transaction => {
    await check?.(transaction)
    await write(transaction)
  })
}

/** The capabilities of an origin, if records are pulled from it into one account only. */
export async function capabilitiesOf(store: Store, origin: string): Promise<Capabilities> {
  const rows = await store.db.selectFrom('pull_source').select('capabilities').where('origin', '=', origin).execute()
  return rows.length === 1 ? readCapabilities(rows[0]?.capabilities) : {}
}

export function readCapabilities(text: string | undefined): Capabilities {
  // Only pulls write it.
  return text === undefined ? {} : (JSON.parse(text) as Capabilities)
}

/** The stored rows with these ids, by id. */
export async function findRows(
  db: Kysely<Tables>,
  sourceId: number,
  kind: string,
  ids: readonly number[],
): Promise<ReadonlyMap<number, PullRow>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('pull_row')
    .selectAll()
    .where('source_id', '=', sourceId)
    .where('kind', '=', kind)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(row => [row.id, row]))
}

/** Stores rows that the source has sent. They are passed as one JSON value, because hundreds of parameters are slow. */
export async function saveRows(
  store: Pick<Store, 'engine'>,
  db: Kysely<Tables>,
  rows: readonly NewPullRow[],
): Promise<void> {
  if (rows.length === 0) return
  const columns = sql.raw(ROW_COLUMNS.join(', '))
  const updates = sql.raw(
    ROW_COLUMNS.slice(3)
      .map(column => `${column} = excluded.${column}`)
      .join(', '),
  )
  const cells = ROW_COLUMNS.map((column, index) =>
    store.engine === 'sqlite'
      ? `value ->> ${index}`
      : `(value ->> ${index})::${TEXT_COLUMNS.has(column) ? 'text' : 'bigint'}`,
  )
  const source = jsonRows(
    store.engine,
    rows.map(row => ROW_COLUMNS.map(column => row[column] ?? null)),
  )
  // Without a condition, SQLite would parse "on conflict" as part of a join.
  await sql`insert into pull_row (${columns}) select ${sql.raw(cells.join(', '))} from ${source} where true
    on conflict (source_id, kind, id) do update set ${updates}`.execute(db)
}

const ROW_COLUMNS = ['source_id', 'kind', 'id', 'owner_id', 'form', 'open_at', 'missing_at', 'gone_at'] as const
const TEXT_COLUMNS: ReadonlySet<string> = new Set(['kind', 'form'])

/** Unfinished sessions that started at this instant or later. */
export function openRows(store: Store, sourceId: number, kind: string, since: number): Promise<PullRow[]> {
  return store.db
    .selectFrom('pull_row')
    .selectAll()
    .where('source_id', '=', sourceId)
    .where('kind', '=', kind)
    .where('open_at', '>=', since)
    .where('gone_at', 'is', null)
    .orderBy('id')
    .execute()
}

/** Stored lock sessions that are active and that the source has sent. */
export async function activeLocks(store: Store, sourceId: number, owner: number): Promise<{ readonly id: number }[]> {
  return store.db
    .selectFrom('lock_session')
    .innerJoin('pull_row', 'pull_row.id', 'lock_session.id')
    .select('lock_session.id')
    .where('lock_session.owner_id', '=', owner)
    .where('lock_session.is_active', '=', 1)
    .where('pull_row.source_id', '=', sourceId)
    .where('pull_row.kind', '=', 'lock-session')
    .where('pull_row.gone_at', 'is', null)
    .orderBy('lock_session.id')
    .execute()
}

/** How many rows of a kind the source has sent. */
export async function countRows(store: Store, sourceId: number, kind: string): Promise<number> {
  const { count } = await store.db
    .selectFrom('pull_row')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('source_id', '=', sourceId)
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
  return count
}

/** The stored rows of the account of a source, in batches. */
export async function* rowsOfAccount(
  store: Store,
  { id: sourceId, account_id: owner }: PullSource,
  kind: string,
): AsyncGenerator<PullRow[]> {
  let after = 0
  for (;;) {
    const rows = await store.db
      .selectFrom('pull_row')
      .selectAll()
      .where('source_id', '=', sourceId)
      .where('kind', '=', kind)
      .where('owner_id', '=', owner)
      .where('id', '>', after)
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

const ROWS_AT_ONCE = 1000
