import type { Store } from '../store/index.ts'
import { isObject } from './values.ts'
import { type IncomingRecord, NOT_RETRIED, openIntake } from './intake.ts'

export interface RetryReport {
  readonly tried: number
  readonly stored: number
}

/**
 * Tries again to store what was set aside. A row stays set aside if its record was stored with other content meanwhile:
 * the stored one is newer.
 */
export async function retrySetAside(store: Store): Promise<RetryReport> {
  let tried = 0
  let stored = 0
  let after = 0
  for (;;) {
    const rows = await store.db
      .selectFrom('set_aside')
      .select(['id', 'source', 'raw'])
      .where('id', '>', after)
      .where('encoding', '=', 'utf-8')
      .where('reason', 'not in', NOT_RETRIED)
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return { tried, stored }
    for (const [source, group] of Map.groupBy(rows, row => row.source)) {
      tried += group.length
      stored += await retry(store, source, group)
    }
    after = last.id
  }
}

/** A row can take a megabyte. */
const ROWS_AT_ONCE = 50

/** Returns how many rows are stored now. */
async function retry(store: Store, source: string, rows: readonly { readonly id: number; readonly raw: string }[]) {
  const known = rows.flatMap(({ id, raw }) => {
    const record = recordOf(raw)
    return record === undefined ? [] : [{ id, record }]
  })
  if (known.length === 0) return 0
  const intake = openIntake(store, { source, onConflict: 'fail' })
  const done: number[] = []
  await intake.storeBatch(
    known.map(({ record }) => record),
    {
      within: async (db, { outcomes }) => {
        for (const [index, outcome] of outcomes.entries()) {
          const id = known[index]?.id
          if (id !== undefined && outcome !== 'set-aside') done.push(id)
        }
        if (done.length > 0) await db.deleteFrom('set_aside').where('id', 'in', done).execute()
      },
    },
  )
  await intake.close()
  return done.length
}

function recordOf(raw: string): IncomingRecord | undefined {
  try {
    const line: unknown = JSON.parse(raw)
    if (!isObject(line) || typeof line['kind'] !== 'string') return undefined
    const { kind, data, ...envelope } = line
    return { kind: line['kind'], data, envelope, raw }
  } catch {
    return undefined
  }
}
