import { currentVersion, migrate, SchemaError, schemaVersion } from './migrations.ts'
import { openSqlite } from './sqlite.ts'
import { type OpenOptions, type Store, StoreError } from './store.ts'

export { type Engine, type OpenOptions, type Store, StoreError, StoreUnavailable } from './store.ts'

/**
 * Opens the store a URL names: `sqlite:<path>`. Throws StoreError when it cannot be opened, SchemaError when its schema
 * does not fit.
 */
export async function open(url: string, options: OpenOptions): Promise<Store> {
  const store = openEngine(url, options)
  try {
    const { schema = 'migrate' } = options
    if (schema === 'migrate') await migrate(store.db, store.engine, Date.now())
    if (schema === 'current' && (await schemaVersion(store.db)) !== currentVersion) {
      throw new SchemaError('the schema of the database is out of date: run `lockstep migrate` first')
    }
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

function openEngine(url: string, options: OpenOptions): Store {
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length), options)
  throw new StoreError('the database must be named as sqlite:<path>')
}
