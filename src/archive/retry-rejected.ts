import { type RawBuilder, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { inParts } from '../store/parts.ts'
import type { Cell } from './kind.ts'
import { isObject } from './values.ts'
import { type BatchOptions, type IncomingRecord, NOT_RETRIED, storeBatch } from './batch-importer.ts'

/** Which rejected rows: those of an account from a source, which are stored only if the account owns them. */
export interface RejectedOf {
  readonly accountId: number
  readonly origin: string
}

/**
 * Tries again to store rejected rows: all, or some. A row stays rejected if its record was stored with other content meanwhile:
 * the stored one is newer.
 */
export async function retryRejected(store: Store, whose?: RejectedOf) {
  let tried = 0
  let stored = 0
  const retried = sql<boolean>`encoding = 'utf-8' and reason not in (${sql.join(NOT_RETRIED)})`
  for await (const rows of rejectedInParts(store, retried, whose)) {
    for (const [source, group] of Map.groupBy(rows, row => row.source)) {
      tried += group.length
      stored += await retry(store, { source, account: whose?.accountId }, group)
    }
  }
  return { tried, stored }
}

/** Rejected rows, a few at a time: one can take a megabyte. */
export function rejectedInParts({ db }: Store, which: RawBuilder<boolean>, whose?: RejectedOf) {
  const rows = db
    .selectFrom('set_aside')
    .select(['id', 'source', 'kind', 'record_id as recordId', 'reason', 'raw', 'encoding'])
    .select('first_seen_at as firstSeenAt')
    .where(which)
    .$if(whose !== undefined, found =>
      found.where('account_id', '=', whose?.accountId ?? 0).where('source', '=', whose?.origin ?? ''),
    )
    .orderBy('id')
  const read = (after: number) => rows.where('id', '>', after).limit(MAX_BATCH_ROWS).execute()
  return inParts(MAX_BATCH_ROWS, 0, read, ({ id }) => id)
}

const MAX_BATCH_ROWS = 20

type RejectedRow = ReturnType<typeof rejectedInParts> extends AsyncGenerator<readonly (infer Row)[]> ? Row : never

export type RejectedReasons = Awaited<ReturnType<typeof rejectedByReason>>

/** The rejected rows by reason, one of each and how many there are, the most frequent first, and how many there are in all. */
export async function rejectedByReason({ reads }: Store, { accountId, origin }: RejectedOf, limit: number) {
  const { rows } = await sql<RejectedRow & { readonly count: number; readonly total: Cell }>`
    select example.id, kind, record_id as "recordId", example.reason, raw, encoding, first_seen_at as "firstSeenAt", count, total
    from (select min(id) as first, count(*) as count, sum(count(*)) over () as total from set_aside
      where account_id = ${accountId} and source = ${origin}
      group by reason order by count(*) desc, reason limit ${limit}) as grouped
    join set_aside as example on example.id = grouped.first order by count desc, example.reason`.execute(reads)
  return { count: Number(rows[0]?.total ?? 0), reasons: rows }
}

/** Returns how many rows are stored now. */
async function retry(
  store: Store,
  from: Pick<BatchOptions, 'source' | 'account'>,
  rows: readonly { readonly id: number; readonly raw: string }[],
) {
  const known = rows.flatMap(({ id, raw }) => {
    const record = parseRejected(raw)
    return record === undefined ? [] : [{ id, record }]
  })
  let done: readonly number[] = []
  if (known.length === 0) return 0
  const records = known.map(({ record }) => record)
  await storeBatch(store, records, {
    ...from,
    onConflict: 'fail',
    within: async (db, { outcomes }) => {
      done = known.filter((_, index) => outcomes[index] !== 'rejected').map(({ id }) => id)
      await db
        .deleteFrom('set_aside')
        .where('id', 'in', [0, ...done])
        .execute()
    },
  })
  return done.length
}

export function parseRejected(raw: string): IncomingRecord | undefined {
  try {
    const line: unknown = JSON.parse(raw)
    if (!isObject(line) || typeof line['kind'] !== 'string') return undefined
    const { kind, data, ...envelope } = line
    return { kind: line['kind'], data, envelope, raw }
  } catch {
    return undefined
  }
}
