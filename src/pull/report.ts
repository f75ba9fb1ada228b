import { isObject } from '../archive/values.ts'
import type { BatchReport, IncomingRecord } from '../archive/batch-importer.ts'
import { type FieldCount, type LeniencyCount, NoteCounts, type Outcome } from '../archive/report.ts'
import { quoteName } from './whose.ts'

export interface PullReport {
  readonly origin: string
  readonly accountId: number
  readonly username: string
  /** Whether all lists were read to their end. */
  readonly isFull: boolean
  readonly requests: number
  readonly kinds: readonly KindCounts[]
  /** Rejected rows: how many, how many of them are new, and how many were only counted. */
  readonly setAside: {
    readonly count: number
    readonly newCount: number
    readonly notKept: number
    /** By kind and reason, each with the id of one of them. */
    readonly reasons: readonly RejectedReason[]
  }
  /** Values that did not match the format and were converted. */
  readonly leniencies: readonly LeniencyCount[]
  /** Fields that the format does not have. They are kept as extra fields. */
  readonly extra: readonly FieldCount[]
  readonly missingLists: readonly string[]
  /** Numbers of lock sessions that the source was asked for in vain. */
  readonly notFound: readonly number[]
  /** Rows that became gone at the source. */
  readonly gone: number
  /** Rows that were rejected before because nothing told their owner, and that now belong to the account. */
  readonly claimed: number
  /** Further remarks for the operator. */
  readonly notes: readonly string[]
}

export interface RejectedReason {
  readonly kind: string
  readonly reason: string
  readonly count: number
  readonly example?: number
}

export interface KindCounts {
  readonly kind: string
  readonly added: number
  readonly replaced: number
  readonly unchanged: number
  readonly skipped: number
  /** Records that their owner deleted here. */
  readonly deleted: number
  readonly setAside: number
  /** Rows of other accounts. */
  readonly ofOthers: number
}

export interface PullProgress {
  readonly kind: string
  /** The name of the list that is being read. */
  readonly title: string
  readonly rows: number
  /** How many rows the list had when all of it was last read; undefined if unknown. */
  readonly expected: number | undefined
}

type Mutable<Value> = { -readonly [Name in keyof Value]: Value[Name] }

/** Adds up the results of the batches of a round. */
export class ReportBuilder {
  readonly #kinds = new Map<string, Mutable<KindCounts>>()
  /** The outcome of each record, which may be read again in the same round, by kind and id. */
  readonly #outcomes = new Map<string, Map<unknown, Outcome>>()
  readonly #others = new Map<string, Set<unknown>>()
  readonly #setAside = { count: 0, newCount: 0, notKept: 0 }
  readonly noteCounts = new NoteCounts()
  /** What the report says beside its counts. */
  readonly said = { missingLists: [] as string[], notFound: [] as number[], gone: 0, claimed: 0, notes: [] as string[] }
  readonly #reasons = new Map<string, Mutable<RejectedReason>>()

  noteName(sourceName: string, username: string) {
    const why = sourceName === '' ? 'the source has no name for it' : `${quoteName(sourceName)} cannot be used here`
    this.said.notes.push(`the account is named ${username}, because ${why}`)
  }

  add(records: readonly IncomingRecord[], report: BatchReport) {
    for (const [index, outcome] of report.outcomes.entries()) {
      const { kind = '', data } = records[index] ?? {}
      this.#count(kind, isObject(data) ? data['id'] : undefined, outcome)
    }
    const { count, newCount, notKept, rows } = report.setAside
    this.#setAside.count += count
    this.#setAside.newCount += newCount
    this.#setAside.notKept += notKept
    for (const { kind, id, reason } of rows) {
      const example = id === undefined ? {} : { example: id }
      this.#reasons.getOrInsertComputed(`${kind} ${reason}`, () => ({ kind, reason, count: 0, ...example })).count += 1
    }
  }

  /** Counts a row of a record that its owner deleted here. */
  addDeleted(kind: string, id: number) {
    this.#count(kind, id, 'deleted')
  }

  /** Counts a row of another account. */
  addOther(kind: string, id: unknown) {
    const ids = this.#others.getOrInsertComputed(kind, () => new Set())
    if (ids.has(id)) return
    ids.add(id)
    this.#countsOf(kind).ofOthers += 1
  }

  /** Counts a record once in a round, as added if it was, else with its last change. */
  #count(kind: string, id: unknown, outcome: Outcome) {
    const counts = this.#countsOf(kind)
    const outcomes = this.#outcomes.getOrInsertComputed(kind, () => new Map())
    const earlier = id === undefined ? undefined : outcomes.get(id)
    if (earlier !== undefined && (outcome === 'unchanged' || (earlier === 'added' && outcome === 'replaced'))) return
    if (earlier !== undefined) counts[fieldOf(earlier)] -= 1
    counts[fieldOf(outcome)] += 1
    if (id !== undefined) outcomes.set(id, outcome)
  }

  #countsOf(kind: string): Mutable<KindCounts> {
    return this.#kinds.getOrInsertComputed(kind, () => ({ kind, ...NONE }))
  }

  finish(facts: Pick<PullReport, 'origin' | 'accountId' | 'username' | 'isFull' | 'requests'>): PullReport {
    return {
      ...facts,
      kinds: [...this.#kinds.values()],
      setAside: { ...this.#setAside, reasons: [...this.#reasons.values()] },
      ...this.noteCounts.list(),
      ...this.said,
    }
  }
}

const NONE = { added: 0, replaced: 0, unchanged: 0, skipped: 0, deleted: 0, setAside: 0, ofOthers: 0 }

function fieldOf(outcome: Outcome) {
  return outcome === 'rejected' ? 'setAside' : outcome
}
