import type { Store } from '../store/index.ts'
import { type ImportOptions, withDecided } from './import.ts'
import type { LinesOf } from './lines.ts'
import type { SampleRow } from './sample-rows.ts'
import { type KindReport, MAX_LISTED, type RejectedRow, type Rejections } from './report.ts'
import type { LineFacts } from './stage-lines.ts'

/** What an import would do with the records of a kind. */
export interface KindPreview extends Omit<KindReport, 'replaced'> {
  /** Records that would be replaced. */
  readonly changed: number
  /** The times of the oldest and the newest record (milliseconds since 1970); null for kinds without a time. */
  readonly first: number | null
  readonly last: number | null
}

export interface Preview extends LineFacts {
  /** Those that occur, in the order of an export. */
  readonly kinds: readonly KindPreview[]
  /** By reason, the first MAX_LISTED of them. */
  readonly rejected: readonly RejectedReason[]
  readonly rejectedCount: number
  /** The first records of each kind that would be added or changed. */
  readonly samples: readonly SampleRow[]
  /** Records that their owner deleted here, the first of them. */
  readonly deleted: readonly { readonly kind: string; readonly id: number }[]
}

interface RejectedReason {
  /** Begins with the field, if it is about one. */
  readonly reason: string
  readonly count: number
  /** The first MAX_LINES of them. */
  readonly lines: readonly number[]
}

type SharedOptions = 'isArchive' | 'onlyAccount' | 'onConflict' | 'onDecided' | 'tiers' | 'signal'

export interface PreviewOptions extends Pick<ImportOptions, SharedOptions> {
  /** Called with each line that would be rejected, in any order. */
  readonly onRejected?: (row: Pick<RejectedRow, 'line' | 'kind' | 'recordId' | 'reason'>) => void
}

/** Checks and compares lines as an import with the same options does, and stores nothing. Throws ImportError if lines of an archive are missing. */
export function previewImport(store: Store, lines: LinesOf, options: PreviewOptions = {}): Promise<Preview> {
  const { onRejected, ...rest } = options
  return store.db.connection().execute(async db => {
    const reasons = new Reasons(onRejected)
    const common = { ...rest, db, isPreview: true, rejected: reasons, setsAside: true, rawOf: () => undefined }
    return withDecided(store, lines, common, async (incoming, facts) => {
      await incoming.reject()
      const kinds = incoming
        .report()
        .filter(({ isPresent }) => isPresent)
        .map(({ report: { replaced, ...kind }, first, last }) => ({ ...kind, changed: replaced, first, last }))
      return {
        ...facts,
        kinds,
        rejected: reasons.list(),
        rejectedCount: reasons.count,
        samples: await incoming.samples(),
        deleted: await incoming.deleted(MAX_DELETED),
      }
    })
  })
}

/** How many deleted records are named: as many as are allowed again at once. */
export const MAX_DELETED = 1000

/** How many lines of a reason are named. */
const MAX_LINES = 10

/** Counts rejected lines by reason. */
class Reasons implements Rejections {
  readonly #byReason = new Map<string, { count: number; lines: number[] }>()
  readonly #onRejected: PreviewOptions['onRejected']
  count = 0

  constructor(onRejected: PreviewOptions['onRejected']) {
    this.#onRejected = onRejected
  }

  add(row: RejectedRow) {
    const { line, reason } = row
    this.#onRejected?.(row)
    this.count += 1
    // The same fault of each item of a list is one reason.
    const text = reason.replaceAll(/\[\d+\]/g, '[]')
    const key = this.#byReason.has(text) || this.#byReason.size < MAX_LISTED ? text : 'other reasons'
    const known = this.#byReason.getOrInsertComputed(key, () => ({ count: 0, lines: [] }))
    known.count += 1
    if (known.lines.length < MAX_LINES) known.lines.push(line)
  }

  async flushFull() {}

  list(): RejectedReason[] {
    return [...this.#byReason]
      .map(([reason, { count, lines }]) => ({ reason, count, lines: lines.toSorted((a, b) => a - b) }))
      .toSorted((a, b) => b.count - a.count)
  }
}
