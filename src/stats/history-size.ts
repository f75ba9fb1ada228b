import { ApiError } from '../contract/errors.ts'

/** How many megabytes the sessions of an account take at most, beyond which there are no figures of them. */
export const maxMegabytes = {
  /** 50,000 sessions with five kinds of segments each. All of them have room in the cache of histories. */
  training: 60,
  /** 37,000 sessions with six events each. Several requests read them at the same time. */
  locks: 40,
}

/** About what sessions take in memory, while they are read. */
export class HistorySize {
  bytes = 0
  readonly #maxBytes: number

  constructor(megabytes: number) {
    this.#maxBytes = megabytes * 1024 * 1024
  }

  /** Throws ApiError if there are too many by now. */
  add(bytes: number) {
    this.bytes += bytes
    if (this.bytes > this.#maxBytes) throw tooMuch()
  }
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
