import { setTimeout as sleep } from 'node:timers/promises'
import { eraseDeleted, noteDeleted } from '../accounts/removal.ts'
import type { QuotaConfig } from '../archive/quota.ts'
import { sum } from '../contract/numbers.ts'
import { isRefusal } from '../contract/refusal.ts'
import { MINUTE_MS } from '../contract/time.ts'
import {
  checkJob,
  databaseNow,
  FREE,
  inMs,
  isFree,
  LEASE_MS,
  pullJob,
  RENEWAL_MS,
  renewJob,
  holderText,
} from '../jobs/jobs.ts'
import { type Engine, type Store, StoreFullError } from '../store/index.ts'
import {
  Source,
  SourceError,
  type SourceOptions,
  SourceRefusedError,
  SourceUnavailableError,
  StoppedError,
} from './source.ts'
import {
  changeIn,
  type Connection,
  connections,
  ended,
  type Failure,
  parseNumbers,
  progressOf,
  type RoundProgress,
} from './connections.ts'
import type { PullProgress, PullReport } from './report.ts'
import { pullOnce } from './round.ts'
import { openKey, sealKey, type Secret } from './stored-key.ts'
import { type Kysely, type Selectable, sql } from 'kysely'
import { recordEvent, SERVICE } from '../accounts/events.ts'
import type { Tables } from '../store/tables.ts'

export interface ScheduledOptions extends Required<Pick<SourceOptions, 'rate' | 'send' | 'clock' | 'stop'>> {
  readonly store: Store
  /** What the leases of this process are known by. */
  readonly holder: string
  readonly secret: Secret
  readonly quota: QuotaConfig
  /** Called with each renewed lease and each progress. */
  readonly showLife?: () => void
  /** Is told what no connection can show. */
  readonly onProblem: (problem: unknown) => void
}

/** How many accounts are pulled at the same time. Requests to one origin take turns. */
const MAX_RUNNING = 5

/** How often a process that pulls looks for further connections that are due. */
const LOOK_MS = 2000

/** Pulls from all connections that are due. Resolves when none is, and when stopped. After an error of the store, its rounds have ended. */
export async function pullDue(given: ScheduledOptions): Promise<void> {
  const { store, onProblem } = given
  const failed = new AbortController()
  const options = { ...given, stop: AbortSignal.any([given.stop, failed.signal]) }
  const running = new Map<number, Promise<void>>()
  const sent = new Map<string, number[]>()
  try {
    while (!options.stop.aborted) {
      if (await forgetOldKeys(store)) await eraseDeleted(store).catch(onProblem)
      await startDue(options, running, sent)
      if (running.size === 0) return
      const look = sleep(LOOK_MS, undefined, { signal: options.stop, ref: false }).catch(() => {})
      await Promise.race([look, ...running.values()])
    }
  } finally {
    failed.abort()
    await Promise.all(running.values())
  }
}

/** Starts rounds that are due; `sent` says when requests were sent to each origin. */
async function startDue(options: ScheduledOptions, running: Map<number, Promise<void>>, sent: Map<string, number[]>) {
  const { store, holder, secret, stop, onProblem } = options
  while (running.size < MAX_RUNNING && !stop.aborted) {
    const due = await takeDue(store, { holder, secretId: secret.id, running: [...running.keys()] })
    if (due === undefined) return
    if (due.holder !== null)
      onProblem(new Error(`the pull ${holderText(due.holder)} stands still: this one takes over`))
    const sentThere = sent.getOrInsertComputed(due.origin, () => [...(progressOf(due).sentAt ?? [])])
    const pulled = new ConnectedPull(options, due, sentThere).run().catch(onProblem)
    running.set(
      due.account_id,
      pulled.finally(() => running.delete(due.account_id)),
    )
  }
}

class ConnectedPull {
  readonly #options: ScheduledOptions
  readonly #connection: Connection
  #accountId: number
  readonly #sent: number[]
  readonly #lost = new AbortController()
  readonly #read = new Map<string, RoundProgress['read'][number]>()
  #pause: RoundProgress['pause']

  constructor(options: ScheduledOptions, connection: Connection, sent: number[]) {
    this.#options = options
    this.#connection = connection
    this.#accountId = connection.account_id
    this.#sent = sent
  }

  get #job() {
    return { name: pullJob(this.#accountId), holder: this.#options.holder }
  }

  async run(): Promise<void> {
    const { onProblem } = this.#options
    const renewing = this.#keepLease()
    try {
      await this.#pull()
    } catch (error) {
      // Whoever stopped or changed the connection, or took over, has said what is next.
      if (isRefusal(error, 'busy') || this.#lost.signal.aborted) return
      const failure = failureOf(error)
      if (failure === 'internal') onProblem(error)
      await this.#end(failure).catch((problem: unknown) => {
        if (!isRefusal(problem, 'busy')) throw problem
      })
    } finally {
      this.#lost.abort()
      await renewing
    }
  }

  async #pull() {
    const { store, secret, send, rate, clock, stop, quota, onProblem } = this.#options
    const { account_id: accountId, origin, sealed_key: sealed, every_minutes: every, known_locks } = this.#connection
    const key = sealed === null ? undefined : openKey(secret, { accountId, origin }, sealed)
    if (key === undefined) return this.#end('key')
    const source = new Source({
      address: origin,
      key,
      rate,
      sent: this.#sent,
      clock,
      send,
      stop: AbortSignal.any([stop, this.#lost.signal]),
      onLimit: waitMs => (this.#pause = { reason: 'limit', until: Date.now() + waitMs }),
      onFailure: (_, waitMs) => (this.#pause = { reason: 'away', until: Date.now() + waitMs }),
    })
    const report = await pullOnce({
      store,
      source,
      quota,
      account: String(accountId),
      mine: this.#connection.mine === 1,
      lockSessions: parseNumbers(known_locks),
      progress: progress => this.#note(progress),
      check: db => checkJob(store.engine, db, this.#job),
      onRenumber: async (db, id) => {
        const { sealed: sealed_key } = sealKey(secret, { accountId: id, origin }, key)
        await db.updateTable('source_connection').set({ sealed_key }).where('account_id', '=', id).execute()
        this.#accountId = id
      },
    })
    await this.#complete(report)
    if (every === 0) await eraseDeleted(store).catch(onProblem)
  }

  #note({ kind, rows, expected }: PullProgress) {
    this.#options.showLife?.()
    this.#read.set(kind, { kind, read: rows, total: expected ?? null })
    this.#pause = undefined
  }

  /** Renews the lease until the round has ended; ends the round if the lease is lost. */
  async #keepLease() {
    let misses = 0
    while (!this.#lost.signal.aborted) {
      await sleep(RENEWAL_MS, undefined, { signal: this.#lost.signal }).catch(() => {})
      if (this.#lost.signal.aborted) return
      const progress: RoundProgress = { read: [...this.#read.values()], pause: this.#pause, sentAt: this.#sent }
      // While the database is away nothing is stored, and each transaction checks the lease itself.
      const { store, showLife } = this.#options
      const held = await renewJob(store, this.#job, { report: JSON.stringify(progress) }).catch(() => undefined)
      if (held === true) showLife?.()
      misses = held === false ? misses + 1 : 0
      // One miss is no loss: the account may just be getting another id.
      if (misses > 1) this.#lost.abort()
    }
  }

  /** The connection, whose job this process has; nobody else gets it before the transaction ends. Throws Refusal otherwise. */
  async #held(db: Kysely<Tables>): Promise<Connection> {
    await checkJob(this.#options.store.engine, db, this.#job)
    return connections(db).selectAll().where('account_id', '=', this.#accountId).executeTakeFirstOrThrow()
  }

  /** Ends a complete round. A connection for a single round forgets its key. */
  async #complete({ kinds, gone, setAside, notFound }: PullReport): Promise<void> {
    const { store } = this.#options
    const round = { added: sum(kinds.map(kind => kind.added)), replaced: sum(kinds.map(kind => kind.replaced)), gone }
    await store.db.transaction().execute(async db => {
      const { every_minutes: every, known_locks: knownLocks } = await this.#held(db)
      await addRound(store, db, this.#accountId, { ...round, rejected: setAside.count, failure: null })
      const values = {
        failing_since: null,
        refused_since: null,
        failure: null,
        // Those that the source does not have are not asked for again in each round.
        ...(knownLocks === this.#connection.known_locks ? { known_locks: '' } : {}),
        ...(every === 0 ? withoutKey : {}),
      }
      const next = inMs(store, every * MINUTE_MS * (1 + JITTER * Math.random()))
      await update(db, this.#accountId, values, {
        ...(every === 0 ? { state: 'done', next_at: null } : { state: 'waiting', next_at: next }),
        attempts: 0,
        report: JSON.stringify({ read: [], notFound, sentAt: this.#sent } satisfies RoundProgress),
      })
      if (every === 0 && store.erase !== undefined) await noteDeleted(db)
    })
  }

  /** Ends a round that failed. Without a failure it was only interrupted, and is due again. */
  async #end(failure: Failure | undefined): Promise<void> {
    const { store } = this.#options
    const accountId = this.#accountId
    await store.db.transaction().execute(async db => {
      const connection = await this.#held(db)
      if (failure === undefined) return update(db, accountId, {}, { state: 'due', next_at: databaseNow(store.engine) })
      if (failure === 'refused' && connection.refused_since === null) {
        const about = { subject: connection.origin, now: Date.now(), actor: SERVICE }
        await recordEvent(db, { accountId, type: 'source-refused', ...about })
      }
      await failRound(store, db, connection, failure)
    })
  }
}

/** What to store of an error; undefined if the pull was only stopped. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof StoppedError) return undefined
  if (error instanceof SourceRefusedError) return 'refused'
  if (error instanceof SourceUnavailableError) return 'away'
  if (error instanceof SourceError) return 'not-api'
  if (isRefusal(error, 'removed')) return 'removed'
  if (isRefusal(error, 'usage', 'refused')) return 'account'
  if (error instanceof StoreFullError) return 'disk-full'
  return isRefusal(error, 'full') ? 'full' : 'internal'
}

/** Whether a process should pull, with keys that the secret opens, or forget a key. One that pulls does both until nothing is due. */
export async function isPullDue({ reads, engine }: Store, secretId: () => string): Promise<boolean> {
  const kept = connections(reads).select('origin').where('sealed_key', 'is not', null).limit(1)
  // The first use of the secret may make it.
  if ((await kept.executeTakeFirst()) === undefined || (await isPulling(reads, engine))) return false
  const old = await kept.where('key_until', '<=', databaseNow(engine)).executeTakeFirst()
  return (old ?? (await dueConnections(reads, engine, secretId()).executeTakeFirst())) !== undefined
}

/** Whether a process pulls, other than `holder`. */
async function isPulling(db: Kysely<Tables>, engine: Engine, holder = ''): Promise<boolean> {
  const running = db.selectFrom('job').select('name').where('state', '=', 'running').where('holder', '<>', holder)
  return (await running.where('lease_until', '>', databaseNow(engine)).limit(1).executeTakeFirst()) !== undefined
}

/** The connections that are due, of those whose key the secret opens, the first that became due first. */
function dueConnections(db: Kysely<Tables>, engine: Engine, secretId: string) {
  return connections(db)
    .selectAll()
    .where('sealed_key', 'is not', null)
    .where('secret_id', '=', secretId)
    .where(({ and, eb, or }) =>
      or([
        eb('state', '=', 'running'),
        and([eb('state', 'in', ['due', 'waiting']), eb('next_at', '<=', databaseNow(engine))]),
      ]),
    )
    .where(isFree(engine))
    .orderBy(({ fn }) => fn.coalesce('lease_until', 'next_at'))
    .orderBy('account_id')
    .limit(1)
}

/** Forgets the keys that were stored for a limited time. Returns whether there were any. */
async function forgetOldKeys(store: Store): Promise<boolean> {
  return store.db.transaction().execute(async db => {
    const old = await db
      .updateTable('source_connection')
      .set({ ...withoutKey, failure: 'key-expired' satisfies Failure })
      .where('key_until', '<=', databaseNow(store.engine))
      .returning('account_id')
      .execute()
    const jobs = old.map(row => pullJob(row.account_id))
    if (jobs.length === 0) return false
    await db
      .updateTable('job')
      .set({ ...ended, state: 'stopped', next_at: null })
      .where('name', 'in', jobs)
      .execute()
    if (store.erase !== undefined) await noteDeleted(db)
    return true
  })
}

/**
 * Takes the connection that has been due for longest, of those whose key the secret opens, and returns it with the holder that it had.
 * Undefined if none is due, or if another process pulls: one pulls at a time, so that the rate of a source is kept.
 */
export async function takeDue(
  store: Store,
  { holder, secretId, running }: { holder: string; secretId: string; running: readonly number[] },
): Promise<Connection | undefined> {
  const { engine } = store
  return store.db.transaction().execute(async db => {
    if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(TAKING_LOCK)})`.execute(db)
    if (await isPulling(db, engine, holder)) return undefined
    for (;;) {
      const ofOthers = dueConnections(db, engine, secretId).where('account_id', 'not in', [0, ...running])
      const due = await ofOthers.executeTakeFirst()
      if (due === undefined) return undefined
      const deaths = due.state === 'running' ? due.attempts + 1 : 0
      if (deaths > MAX_DEATHS) {
        // What a source sends could be what kills the process.
        await failRound(store, db, due, 'interrupted', pauseMs(deaths - MAX_DEATHS))
        continue
      }
      const { sentAt } = progressOf({ ...due, state: 'running' })
      const taken = {
        state: 'running',
        // What was sent still counts.
        report: JSON.stringify({ read: [], sentAt } satisfies RoundProgress),
        attempts: Math.max(deaths, due.attempts),
      } as const
      const isTaken = await db
        .updateTable('job')
        .set({ ...taken, holder, next_at: null, lease_until: inMs(store, LEASE_MS) })
        .where('name', '=', due.name)
        .where(isFree(engine))
        .executeTakeFirst()
      if (isTaken.numUpdatedRows === 0n) continue
      const started = db.updateTable('source_connection').set({ started_at: databaseNow(engine) })
      await started.where('account_id', '=', due.account_id).execute()
      return { ...due, ...taken }
    }
  })
}

async function failRound(
  store: Store,
  db: Kysely<Tables>,
  connection: Connection,
  failure: Failure,
  pause = pauseMs(connection.attempts + 1),
) {
  const { account_id: accountId } = connection
  // Failures that repeat are one line of the list of rounds. A full disk may have room for a changed row, but not for another line.
  if (failure !== 'disk-full' && connection.failure !== failure)
    await addRound(store, db, accountId, { added: 0, replaced: 0, gone: 0, rejected: 0, failure })
  const now = databaseNow(store.engine)
  await update(
    db,
    accountId,
    {
      failure,
      failing_since: sql<number>`coalesce(failing_since, ${now})`,
      ...(failure === 'refused' ? { refused_since: sql<number>`coalesce(refused_since, ${now})` } : {}),
    },
    {
      ...(FINAL.has(failure) ? { state: 'stopped', next_at: null } : { state: 'waiting', next_at: inMs(store, pause) }),
      attempts: connection.attempts + 1,
    },
  )
}

const FINAL: ReadonlySet<Failure> = new Set<Failure>(['account', 'removed', 'key'])

/** How many rounds in a row may end with their process before the next one waits. */
const MAX_DEATHS = 2
const MAX_ROUNDS = 20
const MAX_PAUSE_MS = 60 * MINUTE_MS
/** The share by which times are longer at random, so that services do not ask a source at the same moment. */
const JITTER = 0.1
const TAKING_LOCK = 5625_003

/** The pause after so many failures in a row: from a minute up to an hour. */
function pauseMs(failures: number): number {
  return Math.min(MINUTE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS) * (1 - JITTER * Math.random())
}

const withoutKey = { sealed_key: null, secret_id: null, key_until: null } as const

/** Changes the connection of an account, and its job, which no process has any more. */
async function update(db: Kysely<Tables>, accountId: number, values: object, job: object) {
  if (Object.keys(values).length > 0) await changeIn({ db }, accountId, values)
  await db
    .updateTable('job')
    .set({ ...FREE, ...job })
    .where('name', '=', pullJob(accountId))
    .execute()
}

async function addRound(
  store: Store,
  db: Kysely<Tables>,
  accountId: number,
  round: Omit<Selectable<Tables['source_round']>, 'account_id' | 'ended_at'>,
): Promise<void> {
  const { rows } = await sql<{ now: number }>`select ${databaseNow(store.engine)} as now`.execute(db)
  const ofAccount = db.selectFrom('source_round').where('account_id', '=', accountId)
  const ended = await ofAccount.select('ended_at').orderBy('ended_at', 'desc').limit(MAX_ROUNDS).execute()
  // The clock may have been set back.
  const endedAt = Math.max(rows[0]?.now ?? 0, (ended[0]?.ended_at ?? 0) + 1)
  await db
    .insertInto('source_round')
    .values({ ...round, account_id: accountId, ended_at: endedAt })
    .execute()
  const old = db.deleteFrom('source_round').where('account_id', '=', accountId)
  await old.where('ended_at', '<=', ended[MAX_ROUNDS - 1]?.ended_at ?? 0).execute()
}
