import { sql } from 'kysely'
import {
  type RejectedOf,
  parseRejected,
  rejectedInParts,
  retryRejected,
  type RetryReport,
} from '../archive/retry-rejected.ts'
import type { Store } from '../store/index.ts'
import { type BatchOptions, OWNER_UNKNOWN, storeBatch } from '../archive/batch-importer.ts'
import type { Cell } from '../archive/kind.ts'
import { isObject } from '../archive/values.ts'
import { readConnection } from './connections.ts'
import { trainingSessions, toRecord } from './lists.ts'
import { findSource, type PullSource } from './state.ts'

/** Rows of a source that could not be stored, for the owner of the account. */

type RejectedRow = ReturnType<typeof rejectedInParts> extends AsyncGenerator<(infer Row)[]> ? Row : never

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

/** All of them, in the order in which they came. */
export async function* allRejected(store: Store, whose: RejectedOf): AsyncGenerator<RejectedRow> {
  for await (const rows of rejectedInParts(store, sql`true`, whose)) yield* rows
}

/**
 * Stores the rejected rows of a source whose owner it does not tell as records of the account that it is pulled into, and
 * remembers that further ones belong to it as well. Returns how many are stored.
 */
export async function claimRejected(store: Store, source: PullSource, check?: BatchOptions['check']): Promise<number> {
  const { id: sourceId, account_id: accountId, origin } = source
  if (source.mine === 0) {
    await store.db.updateTable('pull_source').set({ mine: 1 }).where('id', '=', sourceId).execute()
    const connections = store.db.updateTable('source_connection').set({ mine: 1 })
    await connections.where('account_id', '=', accountId).where('origin', '=', origin).execute()
  }
  let claimed = 0
  const ownerless = sql<boolean>`kind = ${trainingSessions.kind} and reason = ${OWNER_UNKNOWN}`
  for await (const rows of rejectedInParts(store, ownerless, { accountId, origin })) {
    const known = rows.flatMap(({ raw }) => {
      const data = parseRejected(raw)?.data
      return isObject(data) ? [toRecord(trainingSessions, data, { owner: accountId, isAssumed: true })] : []
    })
    if (known.length === 0) continue
    const ids = known.map(({ data }) => (isObject(data) ? Number(data['id']) : 0))
    await storeBatch(store, known, {
      source: origin,
      account: accountId,
      check,
      within: async (db, { outcomes }) => {
        const stored = ids.filter((_, index) => outcomes[index] !== 'rejected')
        claimed += stored.length
        if (stored.length === 0) return
        await db
          .updateTable('pull_row')
          .set({ owner_id: accountId })
          .where('source_id', '=', sourceId)
          .where('kind', '=', trainingSessions.kind)
          .where('id', 'in', stored)
          .execute()
      },
    })
  }
  return claimed
}

/**
 * Tries again to store the rejected rows of a connected source as records of its account: those without an owner only if they are
 * said to be of the account. Undefined if there is no connection.
 */
export async function retryRejectedOf(store: Store, accountId: number): Promise<RetryReport | undefined> {
  const connection = await readConnection(store, accountId)
  if (connection === undefined) return undefined
  const { origin, mine } = connection
  const source = mine === 1 ? await findSource(store, accountId, origin) : undefined
  const claimed = source === undefined ? 0 : await claimRejected(store, source)
  const { tried, stored } = await retryRejected(store, { accountId, origin })
  return { tried: tried + claimed, stored: stored + claimed }
}
