import { sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { checkedQuery, readChecked } from '../accounts/checked-reads.ts'
import { recordTables } from '../store/tables.ts'

/** What was computed from the records of one account, as long as none of them changes. */
export class OwnerCache {
  readonly revision: string
  bytes = OWNER_BYTES
  readonly #values = new Map<string, { readonly value: Promise<unknown>; bytes: number }>()
  readonly #onGrowth: (bytes: number) => void

  constructor(revision: string, onGrowth: (bytes: number) => void = () => {}) {
    this.revision = revision
    this.#onGrowth = onGrowth
  }

  /**
   * The value of a key, which is computed if there is none yet; others who need it meanwhile wait for it. It may depend on the records of the
   * account and on the key alone: what else it depends on, such as access or the day, must be in the key.
   */
  async get<Value>(
    key: string,
    compute: () => Promise<Value> | Value,
    bytesOf: (value: Value) => number,
  ): Promise<Value> {
    const known = this.#values.get(key)
    const entry = known ?? { value: Promise.try(compute), bytes: 0 }
    moveToEnd(this.#values, key, entry)
    // A key is used for values of one type.
    if (known !== undefined) return known.value as Promise<Value>
    try {
      const value = (await entry.value) as Value
      if (this.#values.get(key) !== entry) return value
      entry.bytes = VALUE_BYTES + bytesOf(value)
      this.#grow(entry.bytes)
      for (const oldest of this.#values.keys()) if (this.#values.size > MAX_VALUES) this.#drop(oldest)
      return value
    } catch (error) {
      this.#drop(key)
      throw error
    }
  }

  #drop(key: string) {
    this.#grow(-(this.#values.get(key)?.bytes ?? 0))
    this.#values.delete(key)
  }

  #grow(bytes: number) {
    this.bytes += bytes
    this.#onGrowth(bytes)
  }
}

/** Those of all accounts. Beyond a size, what was used longest ago is dropped. */
class HistoryCache {
  #bytes = 0
  readonly #owners = new Map<number, OwnerCache>()

  byOwner(owner: number, revision: string): OwnerCache {
    const known = this.#owners.get(owner)
    const cache = known?.revision === revision ? known : this.#begin(owner, revision)
    moveToEnd(this.#owners, owner, cache)
    return cache
  }

  #begin(owner: number, revision: string): OwnerCache {
    this.#drop(owner)
    const cache = new OwnerCache(revision, bytes => {
      // Unless it was dropped meanwhile.
      if (this.#owners.get(owner) === cache) this.#grow(bytes)
    })
    this.#grow(cache.bytes)
    return cache
  }

  #grow(bytes: number) {
    this.#bytes += bytes
    for (const oldest of this.#owners.keys()) if (this.#bytes > MAX_BYTES) this.#drop(oldest)
  }

  #drop(owner: number) {
    this.#bytes -= this.#owners.get(owner)?.bytes ?? 0
    this.#owners.delete(owner)
  }
}

/** The end of a map is what was used last. */
function moveToEnd<Key, Value>(map: Map<Key, Value>, key: Key, value: Value) {
  map.delete(key)
  map.set(key, value)
}

const histories = new HistoryCache()

/** The cache of an account, for the present state of its records. */
export async function cacheOf(store: Store, owner: number): Promise<OwnerCache> {
  // Read before the records: if they change in between, the next request reads them again.
  const [row] = await readChecked(store, revisions, { owner })
  return row?.revision == null ? new OwnerCache('') : histories.byOwner(owner, row.revision)
}

/** Of all accounts. One with 20,000 training sessions takes 25 MB. */
const MAX_BYTES = 64 * 1024 * 1024

/** Of one account. */
const MAX_VALUES = 32

/** What an account and a value take beside what is counted. */
const OWNER_BYTES = 1000
const VALUE_BYTES = 300

/**
 * A text that changes with every write of records of an account, and never repeats. Null if records are on several servers: there, a new
 * revision can be visible before its records.
 */
const revisions = checkedQuery<{ owner: number }, { revision: string | null }>(
  'revisions of an account',
  (param, named) => sql`
    select ${named}, id as owner_id, ${param.onOneServer(revisionColumns, sql`null`)} as revision
    from account where id = ${param('owner')}`,
)

const revisionColumns = sql.join(
  recordTables.map(table => sql`cast(${sql.ref(`${table}_revision`)} as text)`),
  sql` || ' ' || `,
)
