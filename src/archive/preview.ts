import type { Store } from '../store/index.ts'
import { type ImportOptions, withDecided } from './import.ts'
import type { LinesOf } from './lines.ts'
import { checkRejected, type Incoming } from './incoming.ts'
import { MAX_LISTED, type RejectedLine } from './report.ts'

export type Preview = Awaited<ReturnType<typeof previewImport>>
export type KindPreview = Preview['kinds'][number]

type SharedOptions = 'isArchive' | 'onlyAccount' | 'onConflict' | 'onDecided' | 'tiers' | 'signal'

export interface PreviewOptions extends Pick<ImportOptions, SharedOptions> {
  readonly onRejected?: (row: RejectedLine) => void
}

/** Checks and compares lines as an import with the same options does, and stores nothing. Throws ImportError if lines of an archive are missing. */
export function previewImport(store: Store, lines: LinesOf, options: PreviewOptions = {}) {
  const { onRejected, ...rest } = options
  return store.db.connection().execute(async db => {
    return withDecided(store, lines, { ...rest, db, isPreview: true, setsAside: true }, async (incoming, facts) => {
      const { count: rejectedCount } = await incoming.rejectedLines()
      checkRejected(rejectedCount)
      // Those that occur, in the order of an export.
      const kinds = incoming
        .report()
        .filter(({ isPresent }) => isPresent)
        .map(({ report: { replaced, ...kind }, first, last }) => ({ ...kind, changed: replaced, first, last }))
      return {
        ...facts,
        kinds,
        rejected: await reasonsOf(incoming, onRejected),
        rejectedCount,
        samples: await incoming.samples(),
        deleted: await incoming.deleted(MAX_DELETED),
      }
    })
  })
}

/** How many deleted records are named: as many as are allowed again at once. */
export const MAX_DELETED = 1000

const MAX_LINES = 10

/** The rejected lines by reason: how many, and the first of them. A reason begins with the field, if it is about one. */
async function reasonsOf(incoming: Incoming, onRejected: PreviewOptions['onRejected']) {
  const byReason = new Map<string, { count: number; lines: number[] }>()
  for await (const row of incoming.rejected()) {
    onRejected?.(row)
    // The same fault of each item of a list is one reason.
    const text = row.reason.replaceAll(/\[\d+\]/g, '[]')
    const key = byReason.has(text) || byReason.size < MAX_LISTED ? text : 'other reasons'
    const known = byReason.getOrInsertComputed(key, () => ({ count: 0, lines: [] }))
    known.count += 1
    if (known.lines.length < MAX_LINES) known.lines.push(row.line)
  }
  return [...byReason].map(([reason, found]) => ({ reason, ...found })).toSorted((a, b) => b.count - a.count)
}
