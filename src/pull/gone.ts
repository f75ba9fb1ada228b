import { sql } from '../vendor/kysely.js'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { SourceList } from './lists.ts'
import type { SourceReader } from './reader.ts'
import type { SourceData } from './rows.ts'
import { type PullRow, type PullSource, rowsOfOwners } from './state.ts'

export interface WalkedList {
  readonly store: Store
  readonly source: PullSource
  readonly list: SourceList
  /** All ids in the list. */
  readonly listedIds: ReadonlySet<number>
  readonly owners: readonly number[]
  /** When the round began. */
  readonly at: number
  readonly reader: SourceReader
}

/**
 * Marks rows that a complete walk of a list did not find: missing at first, gone if they are still missing a day later and the
 * source has no record with this id. Returns how many rows became gone, and the records that the source still has.
 */
export async function markGone(walked: WalkedList): Promise<{ gone: number; found: readonly SourceData[] }> {
  const { store, source, list, listedIds, owners, at, reader } = walked
  let gone = 0
  const found: SourceData[] = []
  for await (const rows of rowsOfOwners(store, source.id, list.kind, owners)) {
    for (const row of rows) {
      if (listedIds.has(row.id) || row.gone_at !== null) continue
      if (row.missing_at === null) {
        await mark(walked, row, { missing_at: at })
        continue
      }
      if (at - row.missing_at < DAY_MS) continue
      const record = await reader.tryRecord(list, row.id)
      if (record === 'unanswered') continue
      if (record === undefined) {
        if (await isStored(walked, row)) {
          gone += 1
          await mark(walked, row, { gone_at: at, open_at: null })
        } else await deleteRow(walked, row)
      } else {
        // The source has the record although it is not in the list: checked again after another day.
        await mark(walked, row, { missing_at: at })
        found.push(record)
      }
    }
  }
  return { gone, found }
}

async function mark(
  { store }: WalkedList,
  { source_id, kind, id }: PullRow,
  marks: Partial<Pick<PullRow, 'missing_at' | 'gone_at' | 'open_at'>>,
) {
  await store.db
    .updateTable('pull_row')
    .set(marks)
    .where('source_id', '=', source_id)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .execute()
}

/** Deletes a row whose record was never stored, such as an unfinished session. */
async function deleteRow({ store }: WalkedList, { source_id, kind, id }: PullRow) {
  await store.db
    .deleteFrom('pull_row')
    .where('source_id', '=', source_id)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .execute()
}

async function isStored({ store, list }: WalkedList, { id, owner_id }: PullRow): Promise<boolean> {
  const { rows } = await sql`
    select 1 from ${sql.table(list.table)} where id = ${id} and owner_id = ${owner_id}`.execute(store.db)
  return rows.length > 0
}
