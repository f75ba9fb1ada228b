import type { Leniency, Notes } from './notes.ts'

/** What to do with a record that the store has with other content. */
export type OnConflict = 'fail' | 'skip' | 'replace'
export const conflictChoices: readonly OnConflict[] = ['fail', 'skip', 'replace']

/** What became of a record. */
export type Outcome = 'added' | 'replaced' | 'unchanged' | 'skipped' | 'set-aside'

export interface ImportReport {
  /** Of each kind, in the order of an export. */
  readonly kinds: readonly KindReport[]
  /** Sessions that have not started or have no result, which are not stored: the first of `unfinishedCount`. */
  readonly unfinished: readonly { readonly line: number; readonly kind: string; readonly id: number }[]
  readonly unfinishedCount: number
  /** Fields that are not part of a record and are kept beside it, by kind and name, with how often they occurred. */
  readonly extra: readonly FieldCount[]
  /** Values that were taken though they are not what the format has there. */
  readonly leniencies: readonly LeniencyCount[]
  /** What was set aside, if errors were to be. */
  readonly setAside?: SetAsideReport
}

export interface SetAsideReport {
  readonly count: number
  /** How many of them were not set aside before. */
  readonly isNew: number
  /** How many are beyond the limits, and only counted. */
  readonly notKept: number
  /** The first of them. */
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
  /** Left as the store has them, by `onConflict: 'skip'`, and sessions that are not finished. */
  readonly skipped: number
}

export interface LineError {
  readonly line: number
  readonly reason: string
}

/** Nothing was written. `errors` are the first of `count`, by line. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
  readonly errors: readonly LineError[]
  readonly count: number
  constructor(errors: readonly LineError[], count: number) {
    super(`the archive has ${count} ${count === 1 ? 'error' : 'errors'}`)
    this.errors = errors
    this.count = count
  }
}

/** How many errors, unfinished sessions and unknown fields are listed; the others are counted. */
export const MAX_LISTED = 100

/** Collects errors in whatever order they are found, in memory for those that will be listed. */
export class Errors {
  #first: LineError[] = []
  count = 0

  add(line: number, reason: string) {
    this.addAll([line], 1, reason)
  }

  /** Of `count` lines that share a reason, the first. */
  addAll(lines: readonly number[], count: number, reason: string) {
    this.count += count
    for (const line of lines) this.#first.push({ line, reason })
    if (this.#first.length > 2 * MAX_LISTED) this.#first = this.#listed()
  }

  throwIfAny() {
    if (this.count > 0) throw new ImportError(this.#listed(), this.count)
  }

  #listed() {
    return this.#first.toSorted((a, b) => a.line - b.line).slice(0, MAX_LISTED)
  }
}

/** Counts what records had beyond the format, by kind. */
export class NoteCounts {
  readonly #extra = new Map<string, { kind: string; field: string; count: number }>()
  readonly #leniencies = new Map<string, { kind: string; rule: Leniency; count: number }>()

  add(kind: string, { unknown, leniencies }: Notes) {
    for (const name of unknown) {
      // Names come from the source: only plain ones are shown, and only so many.
      const field = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) && this.#extra.size < MAX_LISTED ? name : '(other)'
      this.#extra.getOrInsertComputed(`${kind}.${field}`, () => ({ kind, field, count: 0 })).count += 1
    }
    for (const rule of leniencies) {
      this.#leniencies.getOrInsertComputed(`${kind}.${rule}`, () => ({ kind, rule, count: 0 })).count += 1
    }
  }

  list(): { extra: readonly FieldCount[]; leniencies: readonly LeniencyCount[] } {
    return { extra: [...this.#extra.values()], leniencies: [...this.#leniencies.values()] }
  }
}
