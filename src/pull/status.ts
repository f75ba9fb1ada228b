import type { Store } from '../store/index.ts'
import { formatOptionalTimestamp } from '../contract/time.ts'
import type { Connection } from './connections.ts'
import { isOtherSecret } from './stored-key.ts'

/** The result of all pulls from one source into one account. */
export interface SourceStatus {
  readonly accountId: number
  readonly username: string
  readonly origin: string
  /** When the last complete round ended, and when the last full one started; null if there was none. */
  readonly completedAt: string | null
  readonly fullAt: string | null
  /** Rows that the source has sent, by kind. */
  readonly rows: Readonly<Record<string, number>>
  /** How many of them are gone, by kind. */
  readonly gone: Readonly<Record<string, number>>
  readonly setAside: number
}

/** The sources that records were pulled from, by account: all, or those of one. */
export function listSources(store: Store, account?: number) {
  return store.reads
    .selectFrom('pull_source')
    .innerJoin('account', 'account.id', 'pull_source.account_id')
    .select([
      'pull_source.id',
      'pull_source.account_id as accountId',
      'account.username',
      'pull_source.origin',
      'pull_source.completed_at as completedAt',
      'pull_source.full_at as fullAt',
    ])
    .$if(account !== undefined, sources => sources.where('pull_source.account_id', '=', account ?? 0))
    .orderBy('pull_source.account_id')
    .orderBy('pull_source.id')
    .execute()
}

/** All sources, or those of an account. */
export async function pullStatus(store: Store, account?: number): Promise<SourceStatus[]> {
  const statuses: SourceStatus[] = []
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
      completedAt: formatOptionalTimestamp(completedAt),
      fullAt: formatOptionalTimestamp(fullAt),
      rows: Object.fromEntries(counts.map(({ kind, all }) => [kind, all])),
      gone: Object.fromEntries(counts.flatMap(({ kind, gone }) => (gone > 0 ? [[kind, gone]] : []))),
      setAside,
    })
  }
  return statuses
}

/** The state of a connection, as the page shows it. */
export interface ConnectionStatus {
  readonly state: Connection['state']
  /** 0 for a single round. */
  readonly everyMinutes: number
  readonly nextAt: string | null
  /** What was wrong with the last round, and since when rounds fail. */
  readonly failure: string | null
  readonly failingSince: string | null
  /** Whether the key was stored with another secret than that of this service. */
  readonly needsKey: boolean
}

/** All sources, with their connections; also those that are connected and were never pulled. */
export async function connectedStatus(
  store: Store,
  config: Parameters<typeof isOtherSecret>[1],
): Promise<readonly (SourceStatus & { readonly connection: ConnectionStatus | null })[]> {
  const connections = await store.reads
    .selectFrom('source_connection')
    .innerJoin('account', 'account.id', 'source_connection.account_id')
    .select(['account_id', 'account.username', 'origin', 'secret_id'])
    .select(['state', 'every_minutes', 'next_at', 'failure', 'failing_since'])
    .orderBy('account_id')
    .execute()
  const statuses = new Map(
    connections.map(row => {
      const { account_id: accountId, username, origin, state, every_minutes: everyMinutes, failure } = row
      const times = {
        nextAt: formatOptionalTimestamp(row.next_at),
        failingSince: formatOptionalTimestamp(row.failing_since),
      }
      const none = { completedAt: null, fullAt: null, rows: {}, gone: {}, setAside: 0 }
      const connection = { state, everyMinutes, failure, ...times, needsKey: isOtherSecret(row.secret_id, config) }
      return [`${accountId} ${origin}`, { accountId, username, origin, ...none, connection }]
    }),
  )
  const pulled = (await pullStatus(store)).map(source => {
    const key = `${source.accountId} ${source.origin}`
    const connection = statuses.get(key)?.connection ?? null
    statuses.delete(key)
    return { ...source, connection }
  })
  return [...pulled, ...statuses.values()]
}

/** How many connected sources there are, how many of them fail, and since when the first of these does. */
export function countConnections({ reads }: Store) {
  return reads
    .selectFrom('source_connection')
    .select(({ fn }) => [
      fn.countAll<number>().as('all'),
      fn.count<number>('failing_since').as('failing'),
      fn.min<number | null>('failing_since').as('since'),
    ])
    .executeTakeFirstOrThrow()
}

/** The oldest of the last complete rounds of all sources; null without any complete round. */
export async function oldestCompleteRound(store: Store): Promise<number | null> {
  const { oldest } = await store.reads
    .selectFrom('pull_source')
    .select(({ fn }) => fn.min('completed_at').as('oldest'))
    .executeTakeFirstOrThrow()
  return oldest
}
