import { isObject } from '../archive/values.ts'
import type { BatchReport, IncomingRecord } from '../archive/batch-importer.ts'
import { NoteCounts, type Outcome } from '../archive/report.ts'
import { quoteName } from './whose.ts'

export type PullReport = ReturnType<ReportBuilder['finish']>
export type RejectedReason = PullReport['setAside']['reasons'][number]

export interface PullProgress {
  readonly kind: string
  /** The name of the list that is being read. */
  readonly title: string
  readonly rows: number
  /** How many rows the list had when all of it was last read; undefined if unknown. */
  readonly expected: number | undefined
}

interface ReportFacts {
  readonly origin: string
  readonly accountId: number
  readonly username: string
  /** Whether all lists were read to their end. */
  readonly isFull: boolean
  readonly requests: number
}

/** Adds up the results of the batches of a round. */
export class ReportBuilder {
  readonly #kinds = new Map<string, typeof NONE & { readonly kind: string }>()
  /** The outcome of each record, which may be read again in the same round, by kind and id. */
  readonly #outcomes = new Map<string, Map<unknown, Outcome>>()
  readonly #others = new Map<string, Set<unknown>>()
  /** Rejected rows: how many, how many of them are new, and how many were only counted. */
  readonly #setAside = { count: 0, newCount: 0, notKept: 0 }
  /** Of them, by kind and reason, each with the id of one. */
  readonly #reasons = new Map<string, { kind: string; reason: string; count: number; example?: number }>()
  readonly noteCounts = new NoteCounts()
  /** What the report says beside its counts. */
  readonly said = {
    missingLists: [] as string[],
    /** Numbers of lock sessions that the source was asked for in vain. */
    notFound: [] as number[],
    /** Rows that became gone at the source. */
    gone: 0,
    /** Rows that were rejected before because nothing told their owner, and that now belong to the account. */
    claimed: 0,
    /** Further remarks for the operator. */
    notes: [] as string[],
  }

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

  addDeleted(kind: string, id: number) {
    this.#count(kind, id, 'deleted')
  }

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

  #countsOf(kind: string) {
    return this.#kinds.getOrInsertComputed(kind, () => ({ kind, ...NONE }))
  }

  finish(facts: ReportFacts) {
    return {
      ...facts,
      kinds: [...this.#kinds.values()],
      setAside: { ...this.#setAside, reasons: [...this.#reasons.values()] },
      ...this.noteCounts.list(),
      ...this.said,
    }
  }
}

/** How many records of a kind there were: `deleted` by their owner here, and `ofOthers` of other accounts. */
const NONE = { added: 0, replaced: 0, unchanged: 0, skipped: 0, deleted: 0, setAside: 0, ofOthers: 0 }

function fieldOf(outcome: Outcome) {
  return outcome === 'rejected' ? 'setAside' : outcome
}
