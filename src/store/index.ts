import { currentVersion, migrate, SchemaError, schemaVersion } from './migrations.ts'
import { openSqlite } from './sqlite.ts'
import { type OpenOptions, type Store, StoreError } from './store.ts'

export {
  type Engine,
  type OpenOptions,
  type Store,
  StoreError,
  StoreUnavailableError as StoreUnavailable,
  TooLongError as TooLong,
} from './store.ts'

/**
 * Opens the store a URL names: `sqlite:<path>` or `postgres://…`. Throws StoreError when it cannot be opened, SchemaError when its schema
 * does not fit.
 */
export async function open(url: string, options: OpenOptions): Promise<Store> {
  const store = await openEngine(url, options)
  try {
    const { schema = 'migrate' } = options
    if (schema === 'any' || (await schemaVersion(store)) === currentVersion) return store
    if (schema === 'current') {
      throw new SchemaError('the schema of the database is out of date: run `lockstep migrate` first')
    }
    await bringUpToDate(store, url)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function bringUpToDate(store: Store, url: string) {
  if (store.engine === 'sqlite') return migrate(store, Date.now())
  // Of its own, because a step takes as long as it takes, and this store may be one that gives up early.
  const patient = await openEngine(url, { busyTimeoutMs: 0 })
  try {
    await migrate(patient, Date.now())
  } finally {
    await patient.close()
  }
}

async function openEngine(url: string, options: OpenOptions): Promise<Store> {
  if (url.startsWith('sqlite:')) {
    if (options.readUrls !== undefined && options.readUrls.length > 0) {
      throw new StoreError('replicas can be read beside a PostgreSQL database only')
    }
    return openSqlite(url.slice('sqlite:'.length), options)
  }
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Loaded only when it is asked for: most never do.
    const { openPostgres } = await import('./postgres.ts')
    return openPostgres(url, options)
  }
  throw new StoreError('the database must be named as sqlite:<path> or postgres://user@host:port/database')
}
