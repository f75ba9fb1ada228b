import type { BatchReport, IncomingRecord } from '../archive/intake.ts'

/** What a round of a pull did. */
export interface PullReport {
  readonly origin: string
  readonly accountId: number
  readonly username: string
  /** Whether everything was walked. */
  readonly isFull: boolean
  readonly requests: number
  readonly kinds: readonly KindCounts[]
  /** Of what was set aside: how many, how many were not before, how many are counted only, and the first of them. */
  readonly setAside: {
    readonly count: number
    readonly isNew: number
    readonly notKept: number
    readonly rows: readonly { readonly kind: string; readonly id?: number; readonly reason: string }[]
  }
  /** What records had otherwise than the wire format, and was taken as it is meant. */
  readonly leniencies: readonly { readonly kind: string; readonly rule: string; readonly count: number }[]
  /** Fields that the wire format does not have, kept beside the record. */
  readonly extra: readonly { readonly kind: string; readonly field: string; readonly count: number }[]
  /** What the source has no list of. */
  readonly missingLists: readonly string[]
  /** Rows that were found to be gone at the source. */
  readonly gone: number
  /** What else somebody should know. */
  readonly notes: readonly string[]
}

export interface KindCounts {
  readonly kind: string
  readonly added: number
  readonly replaced: number
  readonly unchanged: number
  readonly skipped: number
  readonly setAside: number
}

/** How far a round is. */
export interface PullProgress {
  /** What is being read. */
  readonly title: string
  /** Rows of it read so far. */
  readonly rows: number
  /** Rows of it that there were when all of it was last read; undefined when that is not known. */
  readonly expected: number | undefined
}

type Mutable<Value> = { -readonly [Name in keyof Value]: Value[Name] }

/** Adds up what became of the batches of a round. */
export class ReportBuilder {
  readonly #kinds = new Map<string, Mutable<KindCounts>>()
  readonly #setAside = { count: 0, isNew: 0, notKept: 0 }
  readonly #rows: PullReport['setAside']['rows'][number][] = []
  readonly #leniencies = new Map<string, Mutable<PullReport['leniencies'][number]>>()
  readonly #extra = new Map<string, Mutable<PullReport['extra'][number]>>()
  readonly missingLists: string[] = []
  readonly notes: string[] = []
  gone = 0

  noteName(told: string, used: string) {
    const why = told === '' ? 'the source tells no name of it' : `the name ${JSON.stringify(told)} cannot be used here`
    this.notes.push(`${used} is called so because ${why}`)
  }

  add(records: readonly IncomingRecord[], report: BatchReport) {
    for (const [index, outcome] of report.outcomes.entries()) {
      const { kind = '' } = records[index] ?? {}
      const counts = this.#kinds.get(kind) ?? { kind, added: 0, replaced: 0, unchanged: 0, skipped: 0, setAside: 0 }
      counts[outcome === 'set-aside' ? 'setAside' : outcome] += 1
      this.#kinds.set(kind, counts)
    }
    const { count, isNew, notKept, rows } = report.setAside
    this.#setAside.count += count
    this.#setAside.isNew += isNew
    this.#setAside.notKept += notKept
    for (const { kind, id, reason } of rows) {
      if (this.#rows.length < MAX_LISTED) this.#rows.push({ kind, ...(id === undefined ? {} : { id }), reason })
    }
    for (const { kind, rule, count: times } of report.leniencies) {
      const known = this.#leniencies.get(`${kind} ${rule}`) ?? { kind, rule, count: 0 }
      known.count += times
      this.#leniencies.set(`${kind} ${rule}`, known)
    }
    for (const { kind, field, count: times } of report.extra) {
      const known = this.#extra.get(`${kind} ${field}`) ?? { kind, field, count: 0 }
      known.count += times
      this.#extra.set(`${kind} ${field}`, known)
    }
  }

  finish(facts: Pick<PullReport, 'origin' | 'accountId' | 'username' | 'isFull' | 'requests'>): PullReport {
    return {
      ...facts,
      kinds: [...this.#kinds.values()],
      setAside: { ...this.#setAside, rows: this.#rows },
      leniencies: [...this.#leniencies.values()],
      extra: [...this.#extra.values()],
      missingLists: this.missingLists,
      gone: this.gone,
      notes: this.notes,
    }
  }
}

const MAX_LISTED = 100
