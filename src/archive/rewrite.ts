import type { Kysely } from 'kysely'
import { StoreError } from '../store/index.ts'
import type { RecordName, Tables } from '../store/tables.ts'
import { InvalidError } from './faults.ts'
import { etagOf, type Kind, type Row, UnfinishedError } from './kind.ts'
import { kinds } from './kinds.ts'
import { readAgain } from './records.ts'

/**
 * Reads all records of a table again, as an import reads their lines, and stores what is different then: documents, and the columns that
 * follow from them. A damaged record stays as it is, so that a backup finds it. Throws StoreError for one that this version would not
 * import.
 */
export async function rewriteRecords(db: Kysely<Tables>, table: RecordName): Promise<void> {
  const kind = kinds.find(one => one.table === table)
  if (kind === undefined) throw new Error(`no kind has the table ${table}`)
  let last = { owner_id: 0, id: 0 }
  for (;;) {
    const rows = await db
      .selectFrom(table)
      .selectAll()
      .where(({ eb, refTuple, tuple }) => eb(refTuple('owner_id', 'id'), '>', tuple(last.owner_id, last.id)))
      .orderBy('owner_id')
      .orderBy('id')
      .limit(MAX_BATCH_ROWS)
      .execute()
    for (const row of rows) {
      const changed = changesOf(kind, { ...row })
      last = { owner_id: row.owner_id, id: row.id }
      if (Object.keys(changed).length === 0) continue
      await db.updateTable(table).set(changed).where('owner_id', '=', row.owner_id).where('id', '=', row.id).execute()
    }
    if (rows.length < MAX_BATCH_ROWS) return
  }
}

/** A row can take a megabyte. */
const MAX_BATCH_ROWS = 50

function changesOf(kind: Kind, row: Row): Row {
  if (row['etag'] !== etagOf(String(row['document']))) return {}
  try {
    const read = readAgain(kind, row)
    const changed = kind.columns.filter(column => (read[column] ?? null) !== row[column])
    return Object.fromEntries(changed.map(column => [column, read[column] ?? null]))
  } catch (error) {
    if (!(error instanceof InvalidError || error instanceof UnfinishedError)) throw error
    throw new StoreError(`${kind.name} ${row['id']} does not fit into the new schema: ${error.message}`, {
      cause: error,
    })
  }
}
