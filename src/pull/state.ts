import { type Insertable, type Kysely, type Selectable, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { inParts } from '../store/parts.ts'
import type { PullRowTable, PullSourceTable, Tables } from '../store/tables.ts'
import { sum } from '../contract/numbers.ts'
import { formatOptionalTimestamp } from '../contract/time.ts'

/** The stored state of pulls: the sources of each account, and each row that a source has sent. */

export type PullSource = Selectable<PullSourceTable>
export type PullRow = Selectable<PullRowTable>
export type NewPullRow = Insertable<PullRowTable>

/** What the source accepts. It is stored, so that later rounds do not try what was refused. */
export interface Capabilities {
  readonly identityPath?: string
  /** Parameters beyond `limit` and `offset` that lists accept. */
  readonly parameters?: Readonly<Partial<Record<'cursor' | 'ownerId', boolean>>>
  /** Whether a list accepts `include`, by its path. */
  readonly include?: Readonly<Record<string, boolean>>
  /** Whether the rows of a list lack fields of their records, by kind. */
  readonly partial?: Readonly<Record<string, boolean>>
}

export function findSource(store: Store, accountId: number, origin: string): Promise<PullSource | undefined> {
  return store.db
    .selectFrom('pull_source')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('origin', '=', origin)
    .executeTakeFirst()
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

function rowsOf(db: Kysely<Tables>, sourceId: number, kind: string) {
  return db.selectFrom('pull_row').where('source_id', '=', sourceId).where('kind', '=', kind)
}

export async function findRows(
  db: Kysely<Tables>,
  sourceId: number,
  kind: string,
  ids: readonly number[],
): Promise<ReadonlyMap<number, PullRow>> {
  if (ids.length === 0) return new Map()
  const rows = await rowsOf(db, sourceId, kind).selectAll().where('id', 'in', ids).execute()
  return new Map(rows.map(row => [row.id, row]))
}

export async function saveRows(db: Kysely<Tables>, rows: readonly NewPullRow[]): Promise<void> {
  for (let start = 0; start < rows.length; start += MAX_BATCH_ROWS) {
    await db
      .insertInto('pull_row')
      .values(rows.slice(start, start + MAX_BATCH_ROWS))
      .onConflict(conflict =>
        conflict.columns(['source_id', 'kind', 'id']).doUpdateSet(({ ref }) => ({
          owner_id: ref('excluded.owner_id'),
          form: ref('excluded.form'),
          open_at: ref('excluded.open_at'),
          missing_at: ref('excluded.missing_at'),
          gone_at: ref('excluded.gone_at'),
        })),
      )
      .execute()
  }
}

/** The ids of unfinished sessions that started at this instant or later, and of active lock sessions that the source has sent. */
export async function openRows(
  { db }: Store,
  { id: sourceId, account_id: owner }: PullSource,
  kind: string,
  since: number,
): Promise<number[]> {
  const ofSource = sql`source_id = ${sourceId} and kind = ${kind} and gone_at is null`
  const { rows } = await sql<{ id: number }>`select id from pull_row where ${ofSource} and open_at >= ${since}
    union select lock_session.id from lock_session join pull_row on pull_row.id = lock_session.id
      where ${ofSource} and kind = 'lock-session' and lock_session.owner_id = ${owner} and is_active = 1
    order by id`.execute(db)
  return rows.map(({ id }) => id)
}

export async function countRows(store: Store, sourceId: number, kind: string): Promise<number> {
  const rows = rowsOf(store.db, sourceId, kind)
  return (await rows.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()).count
}

export function rowsOfAccount(store: Store, { id: sourceId, account_id: owner }: PullSource, kind: string) {
  const rows = rowsOf(store.db, sourceId, kind).selectAll().where('owner_id', '=', owner).orderBy('id')
  const read = (after: number) => rows.where('id', '>', after).limit(MAX_BATCH_ROWS).execute()
  return inParts(MAX_BATCH_ROWS, 0, read, ({ id }) => id)
}

const MAX_BATCH_ROWS = 1000

/** The sources that records were pulled from, by account: all, or those of one. */
export function listSources(store: Store, account?: number) {
  return store.reads
    .selectFrom('pull_source')
    .innerJoin('account', 'account.id', 'pull_source.account_id')
    .select(['pull_source.id', 'pull_source.account_id as accountId', 'account.username', 'pull_source.origin'])
    .select(['pull_source.completed_at as completedAt', 'pull_source.full_at as fullAt'])
    .$if(account !== undefined, sources => sources.where('pull_source.account_id', '=', account ?? 0))
    .orderBy('pull_source.account_id')
    .orderBy('pull_source.id')
    .execute()
}

/** The result of all pulls from one source into one account. */
export type SourceStatus = Awaited<ReturnType<typeof pullStatus>>[number]

/** All sources, or those of an account. */
export async function pullStatus(store: Store, account?: number) {
  const statuses = []
  for (const { id, accountId, username, origin, completedAt, fullAt } of await listSources(store, account)) {
    const counts = await store.reads
      .selectFrom('pull_row')
      .select(({ fn }) => ['kind', fn.countAll<number>().as('all'), fn.count<number>('gone_at').as('gone')])
      .where('source_id', '=', id)
      .groupBy('kind')
      .orderBy('kind')
      .execute()
    const { setAside } = await store.reads
      .selectFrom('set_aside')
      .select(({ fn }) => fn.countAll<number>().as('setAside'))
      .where('source', '=', origin)
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow()
    statuses.push({
      accountId,
      username,
      origin,
      // When the last complete round ended, and when the last full one started.
      completedAt: formatOptionalTimestamp(completedAt),
      fullAt: formatOptionalTimestamp(fullAt),
      // Rows that the source has sent, and how many of them are gone, by kind.
      rows: Object.fromEntries(counts.map(({ kind, all }) => [kind, all])),
      gone: Object.fromEntries(counts.filter(({ gone }) => gone > 0).map(({ kind, gone }) => [kind, gone])),
      setAside,
    })
  }
  return statuses
}

/** How many records of an account the copies have brought that were never complete. */
export async function copiedSoFar(store: Store, accountId: number): Promise<number> {
  const partial = (await pullStatus(store, accountId)).filter(({ completedAt }) => completedAt === null)
  return sum(partial.map(({ rows, setAside }) => Math.max(0, sum(Object.values(rows)) - setAside)))
}

/** The oldest of the last complete rounds of all sources; null without any complete round. */
export async function oldestCompleteRound(store: Store): Promise<number | null> {
  const { oldest } = await store.reads
    .selectFrom('pull_source')
    .select(({ fn }) => fn.min('completed_at').as('oldest'))
    .executeTakeFirstOrThrow()
  return oldest
}
