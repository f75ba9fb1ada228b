import type { Leniency, Notes } from './notes.ts'

/** What to do with a record that is stored with other content. */
export type OnConflict = 'fail' | 'skip' | 'replace'
export const conflictChoices: readonly OnConflict[] = ['fail', 'skip', 'replace']

export type Outcome = 'added' | 'replaced' | 'unchanged' | 'skipped' | 'deleted' | 'rejected'

/** A reason for the operator only: it tells of a record of somebody else. */
export const ID_TAKEN = 'the id is taken by a record of another account'

/** Why a row was rejected, as the owner of its account may know it. */
export function reasonForOwner(reason: string): string {
  return reason === ID_TAKEN ? 'cannot be stored here' : reason
}

export interface ImportReport {
  /** Whether the archive has the line that ends it; without it, it may have been cut short. */
  readonly hasEnd: boolean
  /** One for each kind, in the order of an export. */
  readonly kinds: readonly KindReport[]
  /** The first of `unfinishedCount` sessions that were not stored because they have not started or have no result. */
  readonly unfinished: readonly { readonly line: number; readonly kind: string; readonly id: number }[]
  readonly unfinishedCount: number
  /** Fields that the format does not have, by kind and name. They are kept as extra fields. */
  readonly extra: readonly FieldCount[]
  /** Values that did not match the format and were converted. */
  readonly leniencies: readonly LeniencyCount[]
  /** Access in the archive that was ended here, and stays ended; the first MAX_LISTED of it. */
  readonly endedAccess: readonly { readonly ownerId: number; readonly partnerId: number }[]
  /** Present if invalid lines were to be rejected one by one. */
  readonly setAside?: RejectedReport
  /** Present if only the records of one account were to be stored. */
  readonly leftOut?: LeftOut
}

/** How many lines are not of the account whose records are stored: accounts, access, and records of others. */
export interface LeftOut {
  readonly accounts: number
  readonly access: number
  readonly others: number
}

export interface RejectedReport {
  readonly count: number
  /** How many were not rejected before. */
  readonly newCount: number
  /** How many were only counted, because of a limit or because their account was removed. */
  readonly notKept: number
  /** The first rows. */
  readonly rows: readonly {
    readonly line: number
    readonly kind: string
    readonly id?: number
    readonly reason: string
  }[]
}

export interface FieldCount {
  readonly kind: string
  readonly field: string
  readonly count: number
}

export interface LeniencyCount {
  readonly kind: string
  readonly rule: Leniency
  readonly count: number
}

export interface KindReport {
  readonly kind: string
  readonly added: number
  readonly replaced: number
  readonly unchanged: number
  /** Records that conflict, with `onConflict: 'skip'`, and sessions that are not finished. */
  readonly skipped: number
  /** Records that their owner deleted here, if there are any. */
  readonly deleted?: number
}

export interface RejectedLine {
  readonly line: number
  readonly kind: string
  readonly recordId: number | null
  readonly ownerId: number | null
  readonly reason: string
}

export type LineError = Pick<RejectedLine, 'line' | 'reason'>

/** The archive has errors, so nothing was written. `errors` are the first of `count`, by line. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
  readonly errors: readonly LineError[]
  readonly count: number
  constructor(errors: readonly LineError[], count: number) {
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

  list(): { extra: readonly FieldCount[]; leniencies: readonly LeniencyCount[] } {
    return { extra: [...this.#extra.values()], leniencies: [...this.#leniencies.values()] }
  }
}
