import { type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { type Kind, kinds, type Row } from './kinds.ts'
import { writeLine } from './records.ts'

/**
 * Writes the records of the store as an archive: kinds in their order, rows by identifier, all as they stand at one
 * moment. With an account, only that account and its own rows, so that the archive can be imported alone.
 */
export async function exportArchive(
  store: Store,
  write: (text: string) => Promise<void>,
  accountId?: number,
): Promise<void> {
  await store.snapshot(async db => {
    for (const kind of kinds) {
      if (accountId === undefined) await writeRows(db, kind, write, '1 = 1')
      // Access is not a record of the account.
      else if (kind.name === 'account') await writeRows(db, kind, write, `id = ${accountId}`)
      else if (kind.name !== 'partnership') await writeRows(db, kind, write, `owner_id = ${accountId}`)
    }
  })
}

// They are held in memory, and each can be as long as a line of an archive.
const ROWS_AT_ONCE = 50

async function writeRows(db: Kysely<Tables>, kind: Kind, write: (text: string) => Promise<void>, condition: string) {
  const key = kind.key.join(', ')
  let after: Row | undefined
  for (;;) {
    const { rows } = await sql<Row>`
      select ${sql.raw(kind.columns.join(', '))} from ${sql.table(kind.table)}
      where ${sql.raw(condition)} ${after === undefined ? sql`` : sql`and (${sql.raw(key)}) > (${sql.join(kind.key.map(column => after?.[column]))})`}
      order by ${sql.raw(key)} limit ${ROWS_AT_ONCE}`.execute(db)
    if (rows.length > 0) await write(`${rows.map(row => writeLine(kind, row)).join('\n')}\n`)
    if (rows.length < ROWS_AT_ONCE) return
    after = rows.at(-1)
  }
}
