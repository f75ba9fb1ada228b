import { type Kysely, sql } from 'kysely'
import { isName } from '../contract/names.ts'
import { HOUR_MS } from '../contract/time.ts'
import { jsonRows, type Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { EventKind } from './events.ts'
import { accountNamed } from './accounts.ts'
import { flushEachSecond } from './repeated-flush.ts'

/** Counts events that requests of strangers can cause, by hour and network. */
export interface EventCounter {
  /** Counts an event, which is written within about a second. A name that no account has writes nothing. */
  count(event: CountedEvent): void
  /** Writes what is pending and stops. */
  close(): Promise<void>
}

interface CountedEvent {
  readonly kind: EventKind
  readonly account: { readonly id: number } | { readonly username: string } | { readonly keyId: number }
  readonly now: number
  /** As `networkPart` writes it. */
  readonly network: string
  /** As `browserName` writes it; empty for a key. */
  readonly browser: string
}

/**
 * Collects events in memory and writes them each second, so that no request waits for the write, and none takes longer because
 * the account exists. What cannot be written is kept for the next second, up to a number of events.
 */
export function makeEventCounter(store: Store, onFailure: (error: unknown) => void): EventCounter {
  const pending = new Map<string, PendingEvent>()
  let dropped = 0

  const add = ({ event, times }: PendingEvent) => {
    const key = JSON.stringify(event)
    const known = pending.get(key)?.times ?? 0
    if (known === 0 && pending.size >= MAX_PENDING_EVENTS) dropped += times
    else pending.set(key, { event, times: known + times })
  }
  const flush = async () => {
    if (dropped > 0) onFailure(new Error(`${dropped} account events could not be counted, and are lost`))
    dropped = 0
    // The same order in every process, so that two of them cannot deadlock.
    const events = [...pending].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event)
    pending.clear()
    if (events.length === 0) return
    try {
      const unknown = await withoutKnownNetworks(store, events)
      if (unknown.length === 0) return
      await store.db.transaction().execute(async db => {
        for (const event of unknown) await write(db, event)
      })
    } catch (error) {
      onFailure(error)
      for (const event of events) add(event)
    }
  }
  const { close } = flushEachSecond(flush)

  return {
    count(event) {
      // No account has such a name, and no database could compare it.
      if ('username' in event.account && !isName(event.account.username)) return
      add({ event: { ...event, now: event.now - (event.now % HOUR_MS) }, times: 1 })
    },
    close,
  }
}

interface PendingEvent {
  /** `now` is the start of its hour. */
  readonly event: CountedEvent
  readonly times: number
}

/**
 * The events, except uses of keys from networks that the log has. After a start these are nearly all: found with one read, they need
 * no statements of the writer.
 */
async function withoutKnownNetworks(store: Store, events: readonly PendingEvent[]): Promise<readonly PendingEvent[]> {
  const used = events.flatMap(({ event: { kind, account, network } }) =>
    kind === 'key-network' && 'keyId' in account ? [[account.keyId, network]] : [],
  )
  if (used.length === 0) return events
  const { rows } = await sql<{ subject_id: number; network: string }>`
    select subject_id, network from account_event
    where kind = 'key-network' and (subject_id, network) in
      (select cast(value ->> 0 as bigint), value ->> 1 from ${jsonRows(store.engine, used)})`.execute(store.reads)
  const known = new Set(rows.map(row => `${row.subject_id} ${row.network}`))
  return events.filter(
    ({ event: { kind, account, network } }) =>
      kind !== 'key-network' || !('keyId' in account) || !known.has(`${account.keyId} ${network}`),
  )
}

async function write(db: Kysely<Tables>, { event, times }: PendingEvent): Promise<void> {
  const { kind, now: at } = event
  const found = await subjectOf(db, event.account)
  if (found === undefined) return
  const { accountId, subject, subjectId } = found
  if (kind === 'key-network' && (await isKnownNetwork(db, subjectId, event.network))) return
  const rows = await db
    .selectFrom('account_event')
    .select(['subject_id', 'network', 'browser'])
    .where('account_id', '=', accountId)
    .where('at', '=', at)
    .where('kind', '=', kind)
    .execute()
  const { network, browser } = event
  const isCounted = rows.some(row => row.subject_id === subjectId && row.network === network && row.browser === browser)
  const where = isCounted || rows.length < MAX_EVENTS_PER_HOUR ? { network, browser } : { network: '', browser: '' }
  const row = { account_id: accountId, at, kind, actor: '', subject, subject_id: subjectId, ...where } as const
  await db
    .insertInto('account_event')
    .values({ ...row, times })
    .onConflict(conflict =>
      conflict
        .columns(['account_id', 'at', 'kind', 'subject_id', 'network', 'browser'])
        .where(sql<boolean>`actor = ''`)
        .doUpdateSet(({ eb, ref }) => ({ times: eb(ref('account_event.times'), '+', ref('excluded.times')) })),
    )
    .execute()
}

/** The account of an event, and the key that it is about; undefined if there is none. */
async function subjectOf(db: Kysely<Tables>, account: CountedEvent['account']) {
  if ('keyId' in account) {
    const { keyId: subjectId } = account
    const key = await db
      .selectFrom('token')
      .select(['account_id', 'name'])
      .where('id', '=', subjectId)
      .executeTakeFirst()
    return key && { accountId: key.account_id, subject: key.name, subjectId }
  }
  const found =
    'id' in account
      ? await db.selectFrom('account').select('id').where('id', '=', account.id).executeTakeFirst()
      : await accountNamed(db, account.username)
  return found && { accountId: found.id, subject: '', subjectId: 0 }
}

async function isKnownNetwork(db: Kysely<Tables>, keyId: number, network: string): Promise<boolean> {
  const known = await db
    .selectFrom('account_event')
    .select('id')
    .where('kind', '=', 'key-network')
    .where('subject_id', '=', keyId)
    .where('network', '=', network)
    .executeTakeFirst()
  return known !== undefined
}

/** How many events wait to be written in a process: about 300 KB. */
export const MAX_PENDING_EVENTS = 1000

/** Rows of one kind that an account gets in an hour. Further networks are counted together, in one more. */
export const MAX_EVENTS_PER_HOUR = 20
