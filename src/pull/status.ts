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

export async function pullStatus(store: Store): Promise<SourceStatus[]> {
  const sources = await store.reads
    .selectFrom('pull_source')
    .innerJoin('account', 'account.id', 'pull_source.account_id')
    .selectAll('pull_source')
    .select('account.username as accountName')
    .orderBy('pull_source.account_id')
    .orderBy('pull_source.id')
    .execute()
  const statuses: SourceStatus[] = []
  for (const source of sources) {
    const counts = await store.reads
      .selectFrom('pull_row')
      .select(({ fn }) => ['kind', fn.countAll<number>().as('all'), fn.count<number>('gone_at').as('gone')])
      .where('source_id', '=', source.id)
      .groupBy('kind')
      .orderBy('kind')
      .execute()
    const { setAside } = await store.reads
      .selectFrom('set_aside')
      .select(({ fn }) => fn.countAll<number>().as('setAside'))
      .where('source', '=', source.origin)
      .where('account_id', '=', source.account_id)
      .executeTakeFirstOrThrow()
    statuses.push({
      accountId: source.account_id,
      username: source.accountName,
      origin: source.origin,
      completedAt: source.completed_at === null ? null : formatTimestamp(source.completed_at),
      fullAt: source.full_at === null ? null : formatTimestamp(source.full_at),
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
