import { sql } from '../vendor/kysely.js'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import { recordTables } from '../store/tables.ts'

/**
 * A cache of reads for the next requests. A value may depend only on the database and on its key: what else it depends on, such
 * as access or the time, must be in the key.
 */
export interface KeptReads {
  /**
   * The value cached under a key, unless the database has changed since; else what `read` returns. Nothing is cached on
   * PostgreSQL, which has no cheap way to find out whether it changed. `sizeOf` is in training sessions, see `MAX_SIZE`.
   */
  get<Value>(key: string, read: () => Promise<Value>, sizeOf: (value: Value) => number): Promise<Value>
  /** The same for what depends only on the records of one account: it is cached until one of these changes, on both engines. */
  ofRecords<Value>(
    owner: number,
    key: string,
    read: () => Promise<Value>,
    sizeOf: (value: Value) => number,
  ): Promise<Value>
}

/** The cache of a store, for the present state of its database. */
export async function keptReads(store: Store): Promise<KeptReads> {
  const cache = caches.getOrInsertComputed(store, () => new ReadCache())
  const version = store.version?.()
  const get: KeptReads['get'] = (key, read, sizeOf) =>
    version === undefined ? read() : cache.get(key, version, read, sizeOf)
  return {
    get,
    async ofRecords(owner, key, read, sizeOf) {
      // The revision is read before the records: if they change in between, the next request reads them again.
      const revision = await get(
        `revision of ${owner}`,
        () => readRevision(store, owner),
        () => 0,
      )
      return revision === undefined ? read() : cache.get(key, revision, read, sizeOf)
    },
  }
}

const caches = new WeakMap<Store, ReadCache>()

interface KeptValue {
  readonly value: unknown
  readonly size: number
  /** Of the database, or of the records of an account. */
  readonly version: number | string
}

/** A read in progress: other requests for its value wait for it, even if the one that started it was answered with 503. */
interface PendingRead {
  readonly value: Promise<unknown>
  readonly version: number | string
}

/** Holds values up to a total size, above which the oldest are dropped. */
class ReadCache {
  #size = 0
  readonly #values = new Map<string, KeptValue>()
  readonly #reads = new Map<string, PendingRead>()

  async get<Value>(
    key: string,
    version: number | string,
    read: () => Promise<Value>,
    sizeOf: (value: Value) => number,
  ): Promise<Value> {
    const known = this.#values.get(key)
    // A key is used for values of one type.
    if (known?.version === version) return known.value as Value
    const pending = this.#reads.get(key)
    if (pending?.version === version) return (await pending.value) as Value
    const value = read()
    const own = { value, version }
    this.#reads.set(key, own)
    try {
      const result = await value
      this.#keep(key, { value: result, version, size: ENTRY_SIZE + sizeOf(result) })
      return result
    } finally {
      if (this.#reads.get(key) === own) this.#reads.delete(key)
    }
  }

  #keep(key: string, kept: KeptValue) {
    this.#drop(key)
    if (kept.size > MAX_SIZE) return
    this.#values.set(key, kept)
    this.#size += kept.size
    for (const oldest of this.#values.keys()) {
      if (this.#size <= MAX_SIZE) return
      this.#drop(oldest)
    }
  }

  #drop(key: string) {
    this.#size -= this.#values.get(key)?.size ?? 0
    this.#values.delete(key)
  }
}

/** The unit is the memory of one training session: the limit is 15 MB if sessions have segments of one kind, 40 MB with five kinds. */
const MAX_SIZE = 120_000

/** The size of an entry without its value: measured with many accounts with few sessions, whose five entries took 6.7 KB. */
const ENTRY_SIZE = 10

/**
 * A text that changes with every write of records of an account; undefined if there is no such account, and for distributed
 * records, because there a new revision could be visible before the records that it stands for.
 */
async function readRevision(store: Store, owner: number): Promise<string | undefined> {
  const [row] = await store.read(revision, { owner })
  return row?.revision ?? undefined
}

const revision = query<{ owner: number }, { revision: string | null }>(
  param => sql`
    select ${param.isDistributed ? sql`null` : revisions} as revision
    from account where id = ${param('owner')}`,
)

const revisions = sql.join(
  recordTables.map(table => sql`cast(${sql.ref(`${table}_revision`)} as text)`),
  sql` || ' ' || `,
)
