import type { Leniency, Notes } from './notes.ts'

/** What to do with a record that is stored with other content. */
export const conflictChoices = ['fail', 'skip', 'replace'] as const
export type OnConflict = (typeof conflictChoices)[number]

export type Outcome = 'added' | 'replaced' | 'unchanged' | 'skipped' | 'deleted' | 'rejected'

/** A reason for the operator only: it tells of a record of somebody else. */
export const ID_TAKEN = 'the id is taken by a record of another account'

/** Why a row was rejected, as the owner of its account may know it. */
export function reasonForOwner(reason: string): string {
  return reason === ID_TAKEN ? 'cannot be stored here' : reason
}

export interface RejectedLine {
  readonly line: number
  readonly kind: string
  readonly recordId: number | null
  readonly ownerId: number | null
  readonly reason: string
}

/** The archive has errors, so nothing was written. `errors` are the first of `count`, by line. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
  readonly errors: readonly Pick<RejectedLine, 'line' | 'reason'>[]
  readonly count: number
  constructor(errors: readonly Pick<RejectedLine, 'line' | 'reason'>[], count: number) {
    super(`the file has ${count} ${count === 1 ? 'error' : 'errors'}, so nothing of it is stored`)
    this.errors = errors.map(({ line, reason }) => ({ line, reason }))
    this.count = count
  }
}

/** How many errors, unfinished sessions and unknown fields are listed; further ones are only counted. */
export const MAX_LISTED = 100

/** Counts in how many records of each kind extra fields and conversions occurred. */
export class NoteCounts {
  readonly #extra = new Map<string, { kind: string; field: string; count: number }>()
  readonly #leniencies = new Map<string, { kind: string; rule: Leniency; count: number }>()

  add(kind: string, { unknown, leniencies }: Notes) {
    const counted = new Set<string>()
    for (const name of unknown) {
      const field = this.#shownName(name)
      if (counted.has(field)) continue
      counted.add(field)
      this.#extra.getOrInsertComputed(`${kind}.${field}`, () => ({ kind, field, count: 0 })).count += 1
    }
    for (const rule of new Set(leniencies)) {
      this.#leniencies.getOrInsertComputed(`${kind}.${rule}`, () => ({ kind, rule, count: 0 })).count += 1
    }
  }

  /** Names come from the source: only plain names are shown, and at most MAX_LISTED. */
  #shownName(name: string): string {
    return /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) && this.#extra.size < MAX_LISTED ? name : '(other)'
  }

  list() {
    return { extra: [...this.#extra.values()], leniencies: [...this.#leniencies.values()] }
  }
}
