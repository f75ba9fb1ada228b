import type { RejectedOf } from '../archive/retry-rejected.ts'
import type { Store } from '../store/index.ts'

/** Rows of a source that could not be stored, for the owner of the account. */

/** Rows that were rejected for the same reason. */
export interface RejectedReason {
  readonly reason: string
  readonly count: number
  /** One of them, as it was received. */
  readonly example: RejectedRow
}

export interface RejectedReasons {
  readonly count: number
  readonly reasons: readonly RejectedReason[]
}

type RejectedRow = Awaited<ReturnType<typeof findRows>>[number]

/** The rejected rows by reason, the most frequent first, and how many there are in all. */
export async function rejectedByReason(store: Store, whose: RejectedOf, limit: number): Promise<RejectedReasons> {
  const groups = await rejectedRows(store, whose)
    .select(({ fn }) => ['reason', fn.countAll<number>().as('count'), fn.min<number>('id').as('first')])
    .groupBy('reason')
    .orderBy('count', 'desc')
    .orderBy('reason')
    .execute()
  const shown = groups.slice(0, limit)
  const examples =
    shown.length === 0
      ? []
      : await findRows(
          store,
          shown.map(({ first }) => first),
        )
  const reasons = shown.flatMap(({ reason, count, first }) => {
    const example = examples.find(({ id }) => id === first)
    return example === undefined ? [] : [{ reason, count, example }]
  })
  return { count: groups.reduce((sum, { count }) => sum + count, 0), reasons }
}

/** All of them, in the order in which they came. */
export async function* allRejected(store: Store, whose: RejectedOf): AsyncGenerator<RejectedRow> {
  const ids = await rejectedRows(store, whose).select('id').orderBy('id').execute()
  for (let start = 0; start < ids.length; start += ROWS_AT_ONCE) {
    yield* await findRows(
      store,
      ids.slice(start, start + ROWS_AT_ONCE).map(({ id }) => id),
    )
  }
}

function rejectedRows({ reads }: Store, { accountId, origin }: RejectedOf) {
  return reads.selectFrom('set_aside').where('account_id', '=', accountId).where('source', '=', origin)
}

function findRows({ reads }: Store, ids: readonly number[]) {
  return reads
    .selectFrom('set_aside')
    .select(['id', 'kind', 'record_id as recordId', 'reason', 'raw', 'encoding', 'first_seen_at as firstSeenAt'])
    .where('id', 'in', ids)
    .orderBy('id')
    .execute()
}

/** A row can take a megabyte. */
const ROWS_AT_ONCE = 20
