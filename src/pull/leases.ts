import { type Kysely, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely'
import { recordEvent, SERVICE } from '../accounts/events.ts'
import { noteDeleted } from '../accounts/removal.ts'
import { type Store, StoreFullError } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import {
  type Connection,
  databaseNow,
  type Failure,
  firstProgress,
  inMs,
  NO_PROGRESS,
  noHolder,
  raised,
} from './connections.ts'
import type { PullReport } from './report.ts'

/**
 * Who pulls: a process takes a connection that is due, for as long as it renews its lease. All times are those of the database, so the
 * clocks of the machines do not matter.
 */

/** The process that pulled lost its lease: the connection was stopped, changed or taken over. What it read is not stored. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** How long a process that does not renew its lease keeps it. */
const LEASE_MS = 30_000

/** How often a lease is renewed. */
export const RENEWAL_MS = 3000

/** In how many milliseconds a connection is next due, of those whose key `secretId` opens. Undefined if there is none. */
export async function nextRound(store: Store, secretId: () => string): Promise<number | undefined> {
  const now = databaseNow(store.engine)
  const rows = await store.reads
    .selectFrom('source_connection')
    .select(['secret_id', ({ fn }) => fn.min<number | null>('key_until').as('until'), now.as('now')])
    .select(
      sql<
        number | null
      >`min(case when state in ('due', 'waiting') then next_at when state = 'running' then lease_until end)`.as('due'),
    )
    .select(sql<number | null>`max(case when state = 'running' then lease_until end)`.as('held'))
    .where('sealed_key', 'is not', null)
    .groupBy('secret_id')
    .execute()
  const [first] = rows
  if (first === undefined) return undefined
  const id = secretId()
  // While a process pulls, it takes what becomes due itself.
  const held = Math.max(0, ...rows.map(row => row.held ?? 0))
  const times = rows.flatMap(({ secret_id, due, until }) => [
    ...(due === null || secret_id !== id ? [] : [Math.max(due, held > first.now ? held : 0)]),
    ...(until === null ? [] : [until]),
  ])
  return times.length === 0 ? undefined : Math.min(...times) - first.now
}

/** Forgets the keys that were stored for a limited time. Returns whether there were any. */
export async function forgetOldKeys(store: Store): Promise<boolean> {
  return store.db.transaction().execute(async db => {
    const { numUpdatedRows } = await db
      .updateTable('source_connection')
      .set({ ...withoutKey, ...noHolder, state: 'stopped', next_at: null, failure: 'key-expired' satisfies Failure })
      .where('key_until', '<=', databaseNow(store.engine))
      .executeTakeFirst()
    if (numUpdatedRows > 0n && store.erase !== undefined) await noteDeleted(db)
    return numUpdatedRows > 0n
  })
}

/** A connection whose lease this process has. */
export interface Lease {
  readonly holder: string
  accountId: number
}

/**
 * Takes the connection that has been due for longest, of those whose key the secret opens. Undefined if none is due, or if another process
 * pulls: one pulls at a time, so that the rate of a source is kept.
 */
export async function takeDue(
  store: Store,
  { holder, secretId, running }: { holder: string; secretId: string; running: readonly number[] },
): Promise<Connection | undefined> {
  return store.db.transaction().execute(async db => {
    if (store.engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(TAKING_LOCK)})`.execute(db)
    const now = databaseNow(store.engine)
    const others = await db
      .selectFrom('source_connection')
      .select('account_id')
      .where('holder', '<>', holder)
      .where('lease_until', '>', now)
      .limit(1)
      .execute()
    if (others.length > 0) return undefined
    for (;;) {
      const due = await db
        .selectFrom('source_connection')
        .selectAll()
        .where('sealed_key', 'is not', null)
        .where('secret_id', '=', secretId)
        .where('account_id', 'not in', [0, ...running])
        .where(({ and, eb, or }) =>
          or([
            and([eb('state', 'in', ['due', 'waiting']), eb('next_at', '<=', now)]),
            and([eb('state', '=', 'running'), eb('lease_until', '<=', now)]),
          ]),
        )
        .orderBy(({ fn }) => fn.coalesce('lease_until', 'next_at'))
        .orderBy('account_id')
        .limit(1)
        .executeTakeFirst()
      if (due === undefined) return undefined
      const deaths = due.state === 'running' ? due.failures + 1 : 0
      const update = db.updateTable('source_connection').where('account_id', '=', due.account_id)
      if (deaths > MAX_DEATHS) {
        // What a source sends could be what kills the process.
        await update
          .set({ ...failed(store, due, 'interrupted'), ...noHolder })
          .set({ state: 'waiting', next_at: inMs(store, pauseMs(deaths - MAX_DEATHS)) })
          .execute()
        continue
      }
      return update
        .set({ state: 'running', next_at: null, holder, lease_until: inMs(store, LEASE_MS), started_at: now })
        .set({ progress: firstProgress(due), revision: raised, failures: Math.max(deaths, due.failures) })
        .returningAll()
        .executeTakeFirstOrThrow()
    }
  })
}

/** Renews a lease, with what the round has read so far. Returns whether this process still has it. */
export async function renewLease(store: Store, lease: Lease, progress: string | undefined): Promise<boolean> {
  const { numUpdatedRows } = await store.db
    .updateTable('source_connection')
    .set({ lease_until: inMs(store, LEASE_MS), ...(progress === undefined ? {} : { progress, revision: raised }) })
    .where('account_id', '=', lease.accountId)
    .where('holder', '=', lease.holder)
    .where('lease_until', '>', databaseNow(store.engine))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The connection. Throws LeaseLostError unless this process has the lease; nobody else gets it before the transaction ends. */
export async function checkLease(store: Pick<Store, 'engine'>, db: Kysely<Tables>, lease: Lease): Promise<Connection> {
  const held = await db
    .selectFrom('source_connection')
    .selectAll()
    .where('account_id', '=', lease.accountId)
    .where('holder', '=', lease.holder)
    .where('lease_until', '>', databaseNow(store.engine))
    .$if(store.engine === 'postgres', rows => rows.forShare())
    .executeTakeFirst()
  if (held === undefined) throw new LeaseLostError('the lease of this pull has ended')
  return held
}

/** Ends a lease after a complete round, which has asked for these locks. A connection for a single round forgets its key. */
export async function completeRound(store: Store, lease: Lease, report: PullReport, askedLocks: string): Promise<void> {
  const sum = (count: (kind: PullReport['kinds'][number]) => number) =>
    report.kinds.reduce((total, kind) => total + count(kind), 0)
  const round = { added: sum(kind => kind.added), replaced: sum(kind => kind.replaced), gone: report.gone }
  await store.db.transaction().execute(async db => {
    const connection = await checkLease(store, db, lease)
    await addRound(store, db, lease, { ...round, rejected: report.setAside.count, failure: null })
    const every = connection.every_minutes
    const next =
      every === 0
        ? ({ state: 'done', next_at: null, ...withoutKey } as const)
        : ({ state: 'waiting', next_at: inMs(store, every * MINUTE_MS * (1 + JITTER * Math.random())) } as const)
    await updateOwn(db, lease, {
      ...next,
      ...noHolder,
      failures: 0,
      failing_since: null,
      refused_since: null,
      failure: null,
      progress: NO_PROGRESS,
      // Those that the source does not have are not asked for again in each round.
      ...(connection.known_locks === askedLocks ? { known_locks: '' } : {}),
      revision: raised,
    })
    if (every === 0 && store.erase !== undefined) await noteDeleted(db)
  })
}

/** Ends a lease after a round that failed. Without a failure the round was only interrupted, and is due again. */
export async function endRound(store: Store, lease: Lease, failure: Failure | undefined): Promise<void> {
  await endListed(store, lease, failure, true).catch((error: unknown) => {
    if (!(error instanceof StoreFullError)) throw error
    // A changed row may find room where another line in the list of rounds does not.
    return endListed(store, lease, failure, false)
  })
}

async function endListed(store: Store, lease: Lease, failure: Failure | undefined, isListed: boolean): Promise<void> {
  await store.db.transaction().execute(async db => {
    const connection = await checkLease(store, db, lease)
    const revision = raised
    if (failure === undefined) {
      return updateOwn(db, lease, { ...noHolder, revision, state: 'due', next_at: databaseNow(store.engine) })
    }
    if (failure === 'busy') {
      return updateOwn(db, lease, { ...noHolder, revision, failure, state: 'waiting', next_at: inMs(store, BUSY_MS) })
    }
    if (failure === 'refused' && connection.refused_since === null) {
      const about = { subject: connection.origin, now: Date.now(), actor: SERVICE }
      await recordEvent(db, { accountId: lease.accountId, kind: 'source-refused', ...about })
    }
    await failRound(store, db, connection, failure, isListed)
  })
}

/** Ends the rounds of a process that was ended because it gave no sign of life, unless another one has taken them over. */
export async function endSilent(store: Store, holder: string): Promise<void> {
  await store.db.transaction().execute(async db => {
    const held = await db.selectFrom('source_connection').selectAll().where('holder', '=', holder).execute()
    for (const connection of held) await failRound(store, db, connection, 'silent')
  })
}

async function failRound(store: Store, db: Kysely<Tables>, connection: Connection, failure: Failure, isListed = true) {
  const lease = { accountId: connection.account_id }
  // Failures that repeat are one line of the list of rounds.
  if (isListed && connection.failure !== failure)
    await addRound(store, db, lease, { added: 0, replaced: 0, gone: 0, rejected: 0, failure })
  const next = FINAL.has(failure)
    ? ({ state: 'stopped', next_at: null } as const)
    : ({ state: 'waiting', next_at: inMs(store, pauseMs(connection.failures + 1)) } as const)
  await updateOwn(db, lease, { ...failed(store, connection, failure), ...noHolder, ...next })
}

/** Failures that end only when somebody does something. */
const FINAL: ReadonlySet<Failure> = new Set<Failure>(['account', 'removed', 'key'])

/** How many rounds in a row may end with their process before the next one waits. */
const MAX_DEATHS = 2
const MAX_ROUNDS = 20
const MINUTE_MS = 60_000
const BUSY_MS = 15_000
const MAX_PAUSE_MS = 60 * MINUTE_MS
/** The share by which times are longer at random, so that services do not ask a source at the same moment. */
const JITTER = 0.1
const TAKING_LOCK = 5625_003

/** The pause after so many failures in a row: from a minute up to an hour. */
function pauseMs(failures: number): number {
  return Math.min(MINUTE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS) * (1 - JITTER * Math.random())
}

const withoutKey = { sealed_key: null, secret_id: null, key_until: null } as const

function failed(store: Pick<Store, 'engine'>, { failures, refused_since: refusedSince }: Connection, failure: Failure) {
  const now = databaseNow(store.engine)
  return {
    failure,
    failures: failures + 1,
    failing_since: sql<number>`coalesce(failing_since, ${now})`,
    refused_since: failure === 'refused' ? sql<number>`coalesce(refused_since, ${now})` : refusedSince,
    revision: raised,
  }
}

type Changes = Updateable<Tables['source_connection']>
type Values = { [Name in keyof Changes]: Changes[Name] | RawBuilder<number> }

async function updateOwn(db: Kysely<Tables>, { accountId }: Pick<Lease, 'accountId'>, values: Values): Promise<void> {
  await db
    .updateTable('source_connection')
    .set(values as Changes)
    .where('account_id', '=', accountId)
    .execute()
}

async function addRound(
  store: Store,
  db: Kysely<Tables>,
  { accountId }: Pick<Lease, 'accountId'>,
  round: Omit<Selectable<Tables['source_round']>, 'account_id' | 'ended_at'>,
): Promise<void> {
  const { rows } = await sql<{ now: number }>`select ${databaseNow(store.engine)} as now`.execute(db)
  const ended = await db
    .selectFrom('source_round')
    .select('ended_at')
    .where('account_id', '=', accountId)
    .orderBy('ended_at', 'desc')
    .limit(MAX_ROUNDS)
    .execute()
  // The clock may have been set back.
  const endedAt = Math.max(rows[0]?.now ?? 0, (ended[0]?.ended_at ?? 0) + 1)
  await db
    .insertInto('source_round')
    .values({ ...round, account_id: accountId, ended_at: endedAt })
    .execute()
  const oldest = ended[MAX_ROUNDS - 1]
  if (oldest === undefined) return
  await db
    .deleteFrom('source_round')
    .where('account_id', '=', accountId)
    .where('ended_at', '<=', oldest.ended_at)
    .execute()
}
