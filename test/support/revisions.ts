import { recordTables } from '../../src/store/tables.ts'
import type { Store } from '../../src/store/index.ts'

/** Makes the revisions of all accounts the same as in every other store, so that validators can be compared: they are random. */
export async function equalizeRevisions({ db }: Pick<Store, 'db'>) {
  const revisions = Object.fromEntries(recordTables.map(table => [`${table}_revision`, 1]))
  await db.updateTable('account').set(revisions).execute()
}
