import { sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { checkedQuery, readChecked } from '../accounts/access.ts'
import { recordTables } from '../store/tables.ts'
import { ApiError } from '../contract/errors.ts'

interface Entry {
  readonly value: Promise<unknown>
  bytes: number
}

/** Computed values by key. Beyond a size, what was used longest ago is dropped. */
class Cache {
  #bytes = 0
  readonly #entries = new Map<string, Entry>()

  /** The value of a key, which is computed if there is none yet; others who need it meanwhile wait for it. */
  get<Value>(key: string, compute: () => Promise<Value> | Value, bytesOf: (value: Value) => number): Promise<Value> {
    const known = this.#entries.get(key)
    const entry = known ?? { value: Promise.try(compute), bytes: 0 }
    // The end of a map is what was used last.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    // A key is used for values of one type.
    return known === undefined ? this.#keep(key, entry, bytesOf) : (known.value as Promise<Value>)
  }

  async #keep<Value>(key: string, entry: Entry, bytesOf: (value: Value) => number): Promise<Value> {
    try {
      const value = (await entry.value) as Value
      if (this.#entries.get(key) !== entry) return value
      entry.bytes = VALUE_BYTES + bytesOf(value)
      this.#bytes += entry.bytes
      for (const oldest of this.#entries.keys()) if (this.#bytes > MAX_BYTES) this.#drop(oldest)
      return value
    } catch (error) {
      if (this.#entries.get(key) === entry) this.#drop(key)
      throw error
    }
  }

  /** Drops the values whose keys begin so, but for some. */
  drop(start: string, butFor: string) {
    for (const key of this.#entries.keys()) if (key.startsWith(start) && !key.startsWith(butFor)) this.#drop(key)
  }

  #drop(key: string) {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}

const histories = new Cache()

/**
 * What was computed from the records of one account, as long as none of them changes. A value may depend on these records and on its key
 * alone: what else it depends on, such as access or the day, must be in the key.
 */
export type OwnerCache = Pick<Cache, 'get'>

/** The cache of an account, for the present state of its records. */
export async function cacheOf(store: Store, owner: number): Promise<OwnerCache> {
  // Read before the records: if they change in between, the next request reads them again.
  const [row] = await readChecked(store, revisions, { owner })
  if (row?.revision == null) return new Cache()
  const start = `${owner} ${row.revision} `
  return {
    get(key, compute, bytesOf) {
      return histories.get(
        start + key,
        () => {
          histories.drop(`${owner} `, start)
          return compute()
        },
        bytesOf,
      )
    },
  }
}

/** Of all accounts. One with 20,000 training sessions takes 25 MB. */
const MAX_BYTES = 64 * 1024 * 1024

/** What a value takes beside what is counted. */
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

/** How many megabytes the sessions of an account take at most, beyond which there are no figures of them. */
export const maxMegabytes = {
  /** 50,000 sessions with five types of segments each. All of them have room in the cache of histories. */
  training: 60,
  /** 37,000 sessions with six events each. Several requests read them at the same time. */
  locks: 40,
}

/** Throws ApiError if sessions take too much memory while they are read. */
export function checkHistorySize(bytes: number, megabytes: number) {
  if (bytes > megabytes * 1024 * 1024) throw tooMuch()
}

/** How many other records pages may need at the same time. */
const MAX_ROWS = 100_000

/** The limit of a query whose rows are `bounded`. As a parameter, PostgreSQL would plan for the first few rows. */
export const ONE_MORE = MAX_ROWS + 1

/** The rows. Throws ApiError if they are too many. */
export function bounded<Row>(rows: Row[]): Row[] {
  if (rows.length >= ONE_MORE) throw tooMuch()
  return rows
}

/** The process would run out of memory instead. */
function tooMuch(): ApiError {
  return new ApiError('unavailable', 'There are too many records for this: it would take too much memory', {
    retryAfter: 3600,
  })
}
