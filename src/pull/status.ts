import type { Store } from '../store/index.ts'
import { formatTimestamp } from '../contract/time.ts'

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
      completedAt: completedAt === null ? null : formatTimestamp(completedAt),
      fullAt: fullAt === null ? null : formatTimestamp(fullAt),
      rows: Object.fromEntries(counts.map(({ kind, all }) => [kind, all])),
      gone: Object.fromEntries(counts.flatMap(({ kind, gone }) => (gone > 0 ? [[kind, gone]] : []))),
      setAside,
    })
  }
  return statuses
}

/** The oldest of the last complete rounds of all sources; null without any complete round. */
export async function oldestCompleteRound(store: Store): Promise<number | null> {
  const { oldest } = await store.reads
    .selectFrom('pull_source')
    .select(({ fn }) => fn.min('completed_at').as('oldest'))
    .executeTakeFirstOrThrow()
  return oldest
}
