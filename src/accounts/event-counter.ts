import { type Kysely, sql } from 'kysely'
import { isName } from '../contract/names.ts'
import { HOUR_MS } from '../contract/time.ts'
import { jsonRows, type Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { EventKind } from './events.ts'
import { accountNamed } from './accounts.ts'
import { type Counted, Tally } from './tally.ts'

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

/** Writes events each second, so that no request takes longer because the account exists. */
export function makeEventCounter(store: Store, onFailure: (error: unknown) => void): EventCounter {
  const tally = new Tally<CountedEvent>(
    store,
    {
      title: 'account events',
      maxRows: MAX_PENDING_EVENTS,
      intervalMs: 1000,
      keyOf: event => JSON.stringify(event),
      unwritten: events => withoutKnownNetworks(store, events),
      write: async (db, events) => {
        for (const event of events) await write(db, event)
      },
    },
    onFailure,
  )
  return {
    count(event) {
      // No account has such a name, and no database could compare it.
      if ('username' in event.account && !isName(event.account.username)) return
      tally.add({ ...event, now: event.now - (event.now % HOUR_MS) })
    },
    close: () => tally.close(),
  }
}

/**
 * The events, except uses of keys from networks that the log has. After a start these are nearly all: found with one read, they need
 * no statements of the writer.
 */
async function withoutKnownNetworks(
  store: Store,
  events: readonly Counted<CountedEvent>[],
): Promise<readonly Counted<CountedEvent>[]> {
  const used = events.flatMap(({ row: { kind, account, network } }) =>
    kind === 'key-network' && 'keyId' in account ? [[account.keyId, network]] : [],
  )
  if (used.length === 0) return events
  const { rows } = await sql<{ subject_id: number; network: string }>`
    select subject_id, network from account_event
    where kind = 'key-network' and (subject_id, network) in
      (select cast(value ->> 0 as bigint), value ->> 1 from ${jsonRows(store.engine, used)})`.execute(store.reads)
  const known = new Set(rows.map(row => `${row.subject_id} ${row.network}`))
  return events.filter(
    ({ row: { kind, account, network } }) =>
      kind !== 'key-network' || !('keyId' in account) || !known.has(`${account.keyId} ${network}`),
  )
}

async function write(db: Kysely<Tables>, { row: event, count: times }: Counted<CountedEvent>): Promise<void> {
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
