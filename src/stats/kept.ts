import { sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'

/**
 * Reads of one request that are kept in memory until the database changes, so that the next request does not repeat them. Only
 * what depends on nothing but the database and the key may be read so: no access and no clock.
 */
export interface KeptReads {
  /** The value that is kept under a key, or else what `read` returns. */
  get<Value>(key: string, read: () => Promise<Value>, sizeOf: (value: Value) => number): Promise<Value>
}

/** The kept reads of the database as it is now. PostgreSQL cannot tell whether it changed, so nothing is kept of it. */
export async function keptReads(store: Store): Promise<KeptReads> {
  if (store.engine !== 'sqlite') return NOTHING_KEPT
  const [row] = await store.read(dataVersion, {})
  const cache = caches.getOrInsertComputed(store, () => new ReadCache())
  return cache.at(row?.data_version ?? NaN)
}

const NOTHING_KEPT: KeptReads = { get: (_key, read) => read() }

/** A number that changes with every write of another connection, as all writes are to one that reads. */
const dataVersion = query<object, { data_version: number }>(() => sql`pragma data_version`)

const caches = new WeakMap<Store, ReadCache>()

interface KeptValue {
  readonly value: unknown
  readonly size: number
}

/** What was read of one version of a database, up to a size in all: then what was read first is dropped. */
class ReadCache {
  #version = NaN
  #size = 0
  readonly #values = new Map<string, KeptValue>()

  at(version: number): KeptReads {
    if (version !== this.#version) {
      this.#values.clear()
      this.#size = 0
      this.#version = version
    }
    return {
      get: async (key, read, sizeOf) => {
        const known = this.#find(key, version)
        // A key is used for values of one type.
        if (known !== undefined) return known.value as Awaited<ReturnType<typeof read>>
        const value = await read()
        this.#keep(key, version, { value, size: 1 + sizeOf(value) })
        return value
      },
    }
  }

  #find(key: string, version: number): KeptValue | undefined {
    return version === this.#version ? this.#values.get(key) : undefined
  }

  /** What is newer than its version is dropped with it: the next request sees another one. */
  #keep(key: string, version: number, kept: KeptValue) {
    if (version !== this.#version || kept.size > MAX_SIZE || this.#values.has(key)) return
    this.#values.set(key, kept)
    this.#size += kept.size
    for (const [oldest, { size }] of this.#values) {
      if (this.#size <= MAX_SIZE) return
      this.#values.delete(oldest)
      this.#size -= size
    }
  }
}

/** In training sessions, or what takes as much room: about 30 MB. */
const MAX_SIZE = 50_000
