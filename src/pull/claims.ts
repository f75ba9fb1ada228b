import { type BatchImporterOptions, openBatchImporter, OWNER_UNKNOWN } from '../archive/batch-importer.ts'
import { parseRejected, retryRejected, type RetryReport } from '../archive/retry-rejected.ts'
import { isObject } from '../archive/values.ts'
import type { Store } from '../store/index.ts'
import { readConnection } from './connections.ts'
import { trainingSessions } from './lists.ts'
import { toRecord } from './rows.ts'
import { findSource, type PullSource } from './state.ts'

/**
 * Stores the rejected rows of a source whose owner it does not tell as records of the account that it is pulled into, and
 * remembers that further ones belong to it as well. Returns how many are stored.
 */
export async function claimRejected(
  store: Store,
  source: PullSource,
  check?: BatchImporterOptions['check'],
): Promise<number> {
  const { id: sourceId, account_id: accountId, origin } = source
  if (source.mine === 0) {
    await store.db.updateTable('pull_source').set({ mine: 1 }).where('id', '=', sourceId).execute()
    const connections = store.db.updateTable('source_connection').set({ mine: 1 })
    await connections.where('account_id', '=', accountId).where('origin', '=', origin).execute()
  }
  const importer = openBatchImporter(store, { source: origin, accounts: [accountId], check })
  let claimed = 0
  let after = 0
  try {
    for (;;) {
      const rows = await store.db
        .selectFrom('set_aside')
        .select(['id', 'raw'])
        .where('source', '=', origin)
        .where('account_id', '=', accountId)
        .where('kind', '=', trainingSessions.kind)
        .where('reason', '=', OWNER_UNKNOWN)
        .where('id', '>', after)
        .orderBy('id')
        .limit(ROWS_AT_ONCE)
        .execute()
      const last = rows.at(-1)
      if (last === undefined) return claimed
      after = last.id
      const known = rows.flatMap(({ raw }) => {
        const data = parseRejected(raw)?.data
        return isObject(data) ? [toRecord(trainingSessions, data, { owner: accountId, isAssumed: true })] : []
      })
      if (known.length === 0) continue
      const ids = known.map(({ data }) => (isObject(data) ? Number(data['id']) : 0))
      await importer.storeBatch(known, {
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
  } finally {
    await importer.close()
  }
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

/** A row can take a megabyte. */
const ROWS_AT_ONCE = 50
