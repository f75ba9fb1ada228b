import { type Kysely, sql } from 'kysely'
import { isName } from '../contract/names.ts'
import { HOUR_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { EventType } from './events.ts'
import { accountNamed } from './accounts.ts'
import { type Counted, Tally } from './tally.ts'

export type EventCounter = ReturnType<typeof makeEventCounter>

interface CountedEvent {
  readonly type: EventType
  /** As it was entered. */
  readonly username: string
  readonly now: number
  /** As `networkPart` writes it. */
  readonly network: string
  /** As `browserName` writes it. */
  readonly browser: string
}

/**
 * Counts events that requests of strangers can cause, by hour and network. Writes them each second, so that no request takes longer
 * because the account exists.
 */
export function makeEventCounter(store: Store, onFailure: (error: unknown) => void) {
  const tally = new Tally<CountedEvent>(
    store,
    {
      title: 'account events',
      maxRows: MAX_PENDING_EVENTS,
      intervalMs: 1000,
      keyOf: event => JSON.stringify(event),
      write: async (db, events) => {
        for (const event of events) await write(db, event)
      },
    },
    onFailure,
  )
  return {
    /** Counts an event, which is written within about a second. A name that no account has writes nothing. */
    count(event: CountedEvent) {
      // No account has such a name, and no database could compare it.
      if (!isName(event.username)) return
      tally.add({ ...event, now: event.now - (event.now % HOUR_MS) })
    },
    close: () => tally.close(),
  }
}

async function write(db: Kysely<Tables>, { row: event, count: times }: Counted<CountedEvent>): Promise<void> {
  const { type, now: at } = event
  const account = await accountNamed(db, event.username)
  if (account === undefined) return
  const accountId = account.id
  const rows = await db
    .selectFrom('account_event')
    .select(['network', 'browser'])
    .where('account_id', '=', accountId)
    .where('at', '=', at)
    .where('kind', '=', type)
    .execute()
  const { network, browser } = event
  const isCounted = rows.some(row => row.network === network && row.browser === browser)
  const where = isCounted || rows.length < MAX_EVENTS_PER_HOUR ? { network, browser } : { network: '', browser: '' }
  const row = { account_id: accountId, at, kind: type, actor: '', subject: '', subject_id: 0, ...where } as const
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

/** How many events wait to be written in a process: about 300 KB. */
export const MAX_PENDING_EVENTS = 1000

/** Rows of one type that an account gets in an hour. Further networks are counted together, in one more. */
export const MAX_EVENTS_PER_HOUR = 20
