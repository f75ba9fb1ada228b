import type { Store } from '../store/index.ts'
import type { ImportOptions } from './import.ts'
import type { Lines } from './lines.ts'
import { type FieldCount, type ImportReport, type LeftOut, type LeniencyCount, MAX_LISTED } from './report.ts'
import { type RejectedRow, RejectedRows } from './rejected-rows.ts'
import { stageLines } from './stage-lines.ts'
import { ImportStaging, type KindPreview } from './staging.ts'

export interface Preview extends Pick<ImportReport, 'hasEnd' | 'unfinished' | 'unfinishedCount'> {
  /** Those that occur, in the order of an export. */
  readonly kinds: readonly KindPreview[]
  /** By reason, the first MAX_LISTED of them. */
  readonly rejected: readonly RejectedReason[]
  readonly rejectedCount: number
  /** Present with `onlyAccount`. */
  readonly leftOut?: LeftOut
  readonly extra: readonly FieldCount[]
  readonly leniencies: readonly LeniencyCount[]
}

interface RejectedReason {
  /** Begins with the field, if it is about one. */
  readonly reason: string
  readonly count: number
  /** The first MAX_LINES of them. */
  readonly lines: readonly number[]
}

type SharedOptions = 'isArchive' | 'onlyAccount' | 'onConflict' | 'tiers' | 'signal'

export interface PreviewOptions extends Pick<ImportOptions, SharedOptions> {
  /** Called with each line that would be rejected, in any order. */
  readonly onRejected?: (row: Pick<RejectedRow, 'line' | 'kind' | 'recordId' | 'reason'>) => void
}

/** Checks and compares lines as an import with the same options does, and stores nothing. Throws ImportError if lines of an archive are missing. */
export function previewImport(store: Store, lines: Lines, options: PreviewOptions = {}): Promise<Preview> {
  const { isArchive = true, onlyAccount, onConflict = 'fail', tiers = false, signal, onRejected } = options
  const { engine } = store
  return store.db.connection().execute(async db => {
    const reasons = new Reasons()
    const onReject = (row: RejectedRow) => {
      reasons.add(row)
      onRejected?.(row)
    }
    const rejected = new RejectedRows({ db, source: '', onReject })
    const common = { db, engine, rejected, isArchive, onlyAccount, rawOf: () => undefined }
    const incoming = new ImportStaging({ ...common, onConflict, tiers })
    await incoming.discard()
    await incoming.prepare()
    try {
      const facts = await stageLines(incoming, lines)
      await incoming.compareLines()
      signal?.throwIfAborted()
      return await incoming.inStore(async () => {
        await incoming.compareWithStore()
        return { ...facts, kinds: await incoming.preview(), rejected: reasons.list(), rejectedCount: rejected.count }
      })
    } finally {
      await incoming.discard()
      await rejected.discard()
    }
  })
}

/** How many lines of a reason are named. */
const MAX_LINES = 10

class Reasons {
  readonly #byReason = new Map<string, { count: number; lines: number[] }>()

  add({ line, reason }: RejectedRow) {
    // The same fault of each item of a list is one reason.
    const text = reason.replaceAll(/\[\d+\]/g, '[]')
    const key = this.#byReason.has(text) || this.#byReason.size < MAX_LISTED ? text : 'other reasons'
    const known = this.#byReason.getOrInsertComputed(key, () => ({ count: 0, lines: [] }))
    known.count += 1
    if (known.lines.length < MAX_LINES) known.lines.push(line)
  }

  list(): RejectedReason[] {
    return [...this.#byReason]
      .map(([reason, { count, lines }]) => ({ reason, count, lines: lines.toSorted((a, b) => a - b) }))
      .toSorted((a, b) => b.count - a.count)
  }
}
