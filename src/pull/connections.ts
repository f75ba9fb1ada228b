import { type Kysely, type Selectable, sql } from 'kysely'
import { type Actor, recordEvent } from '../accounts/events.ts'
import { noteDeleted } from '../accounts/removal.ts'
import { retryRejected } from '../archive/retry-rejected.ts'
import { type Config, settings } from '../config.ts'
import { parseKey } from '../contract/address.ts'
import { DAY_MS, formatOptionalTimestamp } from '../contract/time.ts'
import { databaseNow, inMs, type Job, pullJob } from '../jobs/jobs.ts'
import type { Engine, Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { Refusal } from '../contract/refusal.ts'
import { findSource, pullStatus, type SourceStatus } from './state.ts'
import { isOtherSecret, openSecret, sealKey } from './stored-key.ts'
import { claimRejected } from './whose.ts'

/**
 * Connections: sources whose key an account has stored, so that the service pulls from them. What a page changes is here; what
 * the process that pulls changes is in `scheduled.ts`.
 */

export type Connection = Selectable<Tables['source_connection']> & Job

export function connections(db: Kysely<Tables>) {
  return db
    .selectFrom('source_connection')
    .innerJoin('job', join => join.on('job.name', '=', sql<string>`'pull ' || account_id`))
}

/** What was wrong with a round, as it is stored. */
export type Failure =
  | 'away'
  /** The source refuses the key. */
  | 'refused'
  /** There is no such API at this address, or it may not be asked. */
  | 'not-api'
  /** The records are of an account that cannot be this one. */
  | 'account'
  | 'removed'
  /** The stored key cannot be read. */
  | 'key'
  /** The key was stored for a day, which is over. */
  | 'key-expired'
  /** The process that pulled was killed. */
  | 'interrupted'
  /** The account has no more room. */
  | 'full'
  | 'disk-full'
  /** Something of this service; the log says what. */
  | 'internal'

/** What the round that is running has done so far. */
export interface RoundProgress {
  readonly read: readonly { readonly kind: string; readonly read: number; readonly total: number | null }[]
  /** Why nothing arrives, and until when: no more requests are allowed now, or the source does not answer. */
  readonly pause?: { readonly reason: 'limit' | 'away'; readonly until: number } | undefined
  /** When requests were sent lately, so that another process keeps to the rate. */
  readonly sentAt?: readonly number[] | undefined
  /** Numbers of lock sessions that a complete round asked for in vain. */
  readonly notFound?: readonly number[] | undefined
}

export const NO_PROGRESS = JSON.stringify({ read: [] } satisfies RoundProgress)

/** Before a round has begun there is only the progress of an earlier one. */
export function progressOf({ state, report }: Pick<Connection, 'state' | 'report'>): RoundProgress {
  // Only the process that pulls writes it.
  return JSON.parse(state === 'due' ? NO_PROGRESS : report) as RoundProgress
}

type SealingConfig = Pick<Config, 'databaseUrl' | 'secretFile'>

/** How long the key of a connection for a single round is kept. */
const KEY_LIFE_MS = DAY_MS

export function readConnection({ reads }: Store, accountId: number): Promise<Connection | undefined> {
  return connections(reads).selectAll().where('account_id', '=', accountId).executeTakeFirst()
}

/** The last rounds of the connection of an account, the newest first. */
export function listRounds({ reads }: Store, accountId: number) {
  return reads
    .selectFrom('source_round')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('ended_at', 'desc')
    .execute()
}

/** Why no source can be connected here, with the setting that would change it; undefined if one can. */
export async function whyNotOffered(
  store: Store,
  config: Pick<Config, 'pull' | 'pullDatabaseUrl'>,
): Promise<{ readonly reason: 'off' | 'role'; readonly setting: string } | undefined> {
  if (!config.pull) return { reason: 'off', setting: settings.pull.env }
  if (store.engine === 'sqlite') return undefined
  if (config.pullDatabaseUrl !== '') return undefined
  return (await mayWriteRecords(store)) ? undefined : { reason: 'role', setting: settings.pullDatabaseUrl.env }
}

/** On PostgreSQL, the role of this process may be one that cannot write records. */
export async function mayWriteRecords({ engine, reads }: Store): Promise<boolean> {
  if (engine === 'sqlite') return true
  const { rows } = await sql<{ writes: boolean }>`select has_table_privilege('training_session', 'insert')
    and has_table_privilege('training_session', 'delete') as writes`.execute(reads)
  return rows[0]?.writes === true
}

export interface NewConnection {
  /** The address, as `parseAddress` reads it. */
  readonly origin: string
  readonly key: string
  /** 0 for a single complete round, after which the key is forgotten. */
  readonly everyMinutes: number
  /** Whose key it is there, as `checkConnection` found. */
  readonly username?: string | undefined
}

/** Who changes a connection, and when, for the log of events of the account. */
export interface ChangedBy {
  readonly actor: Actor
  readonly now: number
}

/** Stores a connection in place of any other of the account. Throws Refusal, also if keys cannot be stored. */
export async function connectSource(
  { store, config }: { readonly store: Store; readonly config: SealingConfig },
  accountId: number,
  { origin, key, everyMinutes, username }: NewConnection,
  by: ChangedBy,
): Promise<void> {
  const values = {
    ...NEW,
    ...sealed(config, { accountId, origin }, key),
    origin,
    every_minutes: everyMinutes,
    key_until: everyMinutes === 0 ? inMs(store, KEY_LIFE_MS) : null,
    username: username ?? null,
  }
  const told = sql<number>`coalesce(
    (select mine from pull_source where account_id = ${accountId} and origin = ${origin}), 0)`
  const isSame = sql`source_connection.origin = ${origin}`
  await store.db.transaction().execute(async db => {
    await db
      .insertInto('source_connection')
      .values({ ...values, account_id: accountId, known_locks: '', mine: told })
      .onConflict(conflict =>
        conflict.column('account_id').doUpdateSet({
          ...values,
          // What was said of another source does not hold for this one.
          known_locks: sql<string>`case when ${isSame} then source_connection.known_locks else '' end`,
          mine: sql<number>`case when ${isSame} then source_connection.mine else ${told} end`,
        }),
      )
      .execute()
    const first = firstRound(store.engine)
    await db
      .insertInto('job')
      .values({ name: pullJob(accountId), ...first })
      .onConflict(conflict => conflict.column('name').doUpdateSet({ ...first, ...ended }))
      .execute()
    await recordEvent(db, { accountId, type: 'source-connected', subject: origin, ...by })
  })
  noteChange()
}

/** Stores another key for the source, and pulls with it now. Returns whether there is a connection. Throws as `connectSource`. */
export async function changeKey(
  { store, config }: { readonly store: Store; readonly config: SealingConfig },
  accountId: number,
  key: string,
  by: ChangedBy,
): Promise<boolean> {
  const changed = await store.db.transaction().execute(async db => {
    const connection = await db
      .selectFrom('source_connection')
      .select(['origin', 'every_minutes'])
      .where('account_id', '=', accountId)
      .executeTakeFirst()
    if (connection === undefined) return false
    const { origin, every_minutes: every } = connection
    await recordEvent(db, { accountId, type: 'source-key-changed', subject: origin, ...by })
    const values = { ...NEW, ...sealed(config, { accountId, origin }, key) }
    await changeIn({ db }, accountId, { ...values, key_until: every === 0 ? inMs(store, KEY_LIFE_MS) : null })
    return changeJob({ db }, accountId, { ...firstRound(store.engine), ...ended })
  })
  noteChange()
  return changed
}

/** Ends the round that is running, at its next page, and starts no other. */
export function stop(store: Store, accountId: number): Promise<boolean> {
  return changeJob(store, accountId, { state: 'stopped', next_at: null, ...ended }, ['due', 'running', 'waiting'])
}

/** Goes on after `stop`, or after a failure that somebody has to see to. */
export function resume(store: Store, accountId: number): Promise<boolean> {
  return changeJob(store, accountId, dueNow(store.engine), ['stopped'], true)
}

export function pullNow(store: Store, accountId: number): Promise<boolean> {
  return changeJob(store, accountId, dueNow(store.engine), ['due', 'waiting'], true)
}

/** Whether records whose owner the source does not tell belong to the account. Those rejected before are stored by the next round. */
export function setMine(store: Store, accountId: number, mine: boolean): Promise<boolean> {
  return changeIn(store, accountId, { mine: mine ? 1 : 0 })
}

/**
 * Numbers of lock sessions that no list of the source has, as `parseNumbers` reads them, or none. The next complete round asks for
 * them, once. Throws Refusal if they are no such numbers.
 */
export async function setKnownLocks(store: Store, accountId: number, text: string): Promise<boolean> {
  const numbers = text.trim()
  if (numbers !== '' && parseNumbers(numbers) === undefined)
    throw new Refusal('refused', `these are not 1 to ${MAX_NUMBERS} numbers, such as 12,15-40`)
  return changeIn(store, accountId, { known_locks: numbers })
}

/**
 * Removes the connection with its key and its rounds; records and what is known of their source stay. The bytes are in the file until
 * `eraseDeleted`.
 */
export async function forgetConnection(store: Store, accountId: number, by: ChangedBy): Promise<void> {
  await store.db.transaction().execute(async db => {
    const forgotten = await db
      .deleteFrom('source_connection')
      .where('account_id', '=', accountId)
      .returning('origin')
      .executeTakeFirst()
    if (forgotten !== undefined)
      await recordEvent(db, { accountId, type: 'source-forgotten', subject: forgotten.origin, ...by })
    await db.deleteFrom('source_round').where('account_id', '=', accountId).execute()
    const none = { state: 'done', next_at: null, report: '', ...ended } as const
    await db.updateTable('job').set(none).where('name', '=', pullJob(accountId)).execute()
    if (store.erase !== undefined) await noteDeleted(db)
  })
  noteChange()
}

/** The key of a connection as its columns hold it. */
function sealed(config: SealingConfig, owner: { accountId: number; origin: string }, key: string) {
  const { sealed: sealed_key, secretId: secret_id } = sealKey(openSecret(config), owner, parseKey(key))
  return { sealed_key, secret_id }
}

/** What a connection has that has not been pulled. */
const NEW = { started_at: null, failing_since: null, refused_since: null, failure: null } as const

function firstRound(engine: Engine) {
  return { ...dueNow(engine), attempts: 0, report: NO_PROGRESS } as const
}

function dueNow(engine: Engine) {
  return { state: 'due', next_at: databaseNow(engine) } as const
}

/** Ends a round that is running: whoever pulls finds that the job is not its own any more. A command that pulls goes on. */
export const ended = {
  holder: sql<string | null>`case when job.state = 'running' then null else job.holder end`,
  lease_until: sql<number | null>`case when job.state = 'running' then null else job.lease_until end`,
}

/** Called after this process has changed a connection, so that a round that is due need not wait. */
export function onConnectionChange(listener: () => void) {
  listeners.add(listener)
}

const listeners = new Set<() => void>()

function noteChange() {
  for (const listener of listeners) listener()
}

/** Changes a connection. Returns whether there is one. */
export async function changeIn({ db }: Pick<Store, 'db'>, accountId: number, values: object): Promise<boolean> {
  const connection = db.updateTable('source_connection').set(values).where('account_id', '=', accountId)
  const { numUpdatedRows } = await connection.executeTakeFirst()
  noteChange()
  return numUpdatedRows > 0n
}

/** Changes the job of a connection if it is in one of the states. Returns whether it was. */
async function changeJob(
  { db }: Pick<Store, 'db'>,
  accountId: number,
  values: object,
  states: readonly Connection['state'][] = ['due', 'running', 'waiting', 'stopped', 'done'],
  needsKey = false,
): Promise<boolean> {
  const connection = db
    .selectFrom('source_connection')
    .select('account_id')
    .where('account_id', '=', accountId)
    .$if(needsKey, keys => keys.where('sealed_key', 'is not', null))
  const { numUpdatedRows } = await db
    .updateTable('job')
    .set(values)
    .where('name', '=', pullJob(accountId))
    .where('state', 'in', states)
    .where(({ exists }) => exists(connection))
    .executeTakeFirst()
  noteChange()
  return numUpdatedRows > 0n
}

/** All sources, with their connections; also those that are connected and were never pulled. */
export async function connectedStatus(store: Store, config: Parameters<typeof isOtherSecret>[1]) {
  const connected = await connections(store.reads)
    .innerJoin('account', 'account.id', 'source_connection.account_id')
    .select(['account_id as accountId', 'account.username', 'origin', 'secret_id'])
    .select(['state', 'every_minutes', 'next_at', 'failure', 'failing_since'])
    .orderBy('account_id')
    .execute()
  const pulled = await pullStatus(store)
  const isSame = (one: Pulled, other: Pulled) => one.accountId === other.accountId && one.origin === other.origin
  const others = connected.filter(row => !pulled.some(source => isSame(source, row)))
  const none = { completedAt: null, fullAt: null, rows: {}, gone: {}, setAside: 0 }
  const all: SourceStatus[] = [
    ...pulled,
    ...others.map(({ accountId, username, origin }) => ({ accountId, username, origin, ...none })),
  ]
  return all.map(source => {
    const row = connected.find(one => isSame(one, source))
    const connection = row && {
      state: row.state,
      /** 0 for a single round. */
      everyMinutes: row.every_minutes,
      failure: row.failure,
      nextAt: formatOptionalTimestamp(row.next_at),
      failingSince: formatOptionalTimestamp(row.failing_since),
      needsKey: isOtherSecret(row.secret_id, config),
    }
    return { ...source, connection: connection ?? null }
  })
}

type Pulled = Pick<SourceStatus, 'accountId' | 'origin'>
export type ConnectionStatus = NonNullable<Awaited<ReturnType<typeof connectedStatus>>[number]['connection']>

export async function countFailingConnections({ reads }: Store): Promise<number> {
  const { failing } = await reads
    .selectFrom('source_connection')
    .select(({ fn }) => fn.count<number>('failing_since').as('failing'))
    .executeTakeFirstOrThrow()
  return failing
}

/**
 * Tries again to store the rejected rows of a connected source as records of its account: those without an owner only if they are
 * said to be of the account. Undefined if there is no connection.
 */
export async function retryRejectedOf(store: Store, accountId: number) {
  const connection = await readConnection(store, accountId)
  if (connection === undefined) return undefined
  const { origin, mine } = connection
  const source = mine === 1 ? await findSource(store, accountId, origin) : undefined
  const claimed = source === undefined ? 0 : await claimRejected(store, source)
  const { tried, stored } = await retryRejected(store, { accountId, origin })
  return { tried: tried + claimed, stored: stored + claimed }
}

export const MAX_NUMBERS = 1000

/** The numbers of a text such as `12,15-40`, each once; undefined unless it has 1 to MAX_NUMBERS of them. */
export function parseNumbers(text: string): readonly number[] | undefined {
  const numbers = new Set<number>()
  for (const part of text.split(',')) {
    const [, first = '', last = first] = /^\s*([1-9]\d{0,14})(?:\s*-\s*([1-9]\d{0,14}))?\s*$/.exec(part) ?? []
    const length = Number(last) - Number(first) + 1
    if (first === '' || length < 1 || numbers.size + length > MAX_NUMBERS) return undefined
    for (let index = 0; index < length; index += 1) numbers.add(Number(first) + index)
  }
  return [...numbers]
}
