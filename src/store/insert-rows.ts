import { CompiledQuery } from 'kysely'
import type { Store } from './store.ts'

/**
 * Inserts rows of cells in the order of the columns, with a clause about conflicts. The statement is text, because Kysely would make objects
 * of each cell, which takes longer than the statement.
 */
export async function insertRows(
  { db, engine }: Pick<Store, 'db' | 'engine'>,
  { name, columns }: { readonly name: string; readonly columns: readonly string[] },
  rows: readonly (readonly (string | number | null)[])[],
  onConflict = '',
) {
  let count = 0
  const tuples = rows.map(() => `(${columns.map(() => (engine === 'sqlite' ? '?' : `$${(count += 1)}`)).join(', ')})`)
  const text = `insert into "${name}" (${columns.map(column => `"${column}"`).join(', ')}) values ${tuples.join(', ')} ${onConflict}`
  await db.executeQuery(CompiledQuery.raw(text, rows.flat()))
}
