import { sql } from 'kysely'
import { currentVersion } from './migrations.ts'
import { query } from './query.ts'
import { type Store, StoreUnavailableError } from './store.ts'

const newestVersion = query<object, { version: number }>(() => sql`select max(version) as version from migration`)

/** Throws StoreUnavailableError unless the store responds and has the schema this program works with. */
export async function checkReadiness(store: Pick<Store, 'read'>): Promise<void> {
  let version: number | undefined
  try {
    const [row] = await store.read(newestVersion, {})
    version = row?.version
  } catch (error) {
    throw new StoreUnavailableError('the schema of the database cannot be read', { cause: error })
  }
  if (version !== currentVersion) throw new StoreUnavailableError('the schema of the database is not the one expected')
}
