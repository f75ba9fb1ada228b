import { SourceError } from './source.ts'
import type { SourceRow } from './rows.ts'

/** A page of a list. */
export interface SourcePage {
  readonly rows: readonly SourceRow[]
  /** How many rows a full page has. */
  readonly limit: number
  /** Where the source has cursors: that of the next page, or null at the end. */
  readonly nextCursor: string | null | undefined
}

export type Position = { readonly offset: number } | { readonly cursor: string }

/** What came of the rows of a page. */
export interface Visit {
  /** Whether there was a row that was not known as it is. */
  readonly hasNews: boolean
  /** Whether nothing that matters can come after them. */
  readonly mayStop: boolean
}

export interface Walk {
  /** Whether rows moved so far that part of the list had to be read again. */
  readonly steppedBack: boolean
  /** Whether it ended before the list did. */
  readonly stoppedEarly: boolean
}

type ReadPage = (position: Position) => Promise<SourcePage>
type VisitRows = (rows: readonly SourceRow[]) => Promise<Visit>

/**
 * Walks a list to its end, or until a visit says that it may stop. What was added in front meanwhile is visited after it.
 * Throws SourceError when the list cannot be walked.
 */
export async function walkList(read: ReadPage, visit: VisitRows): Promise<Walk> {
  const walk = new ListWalk(read, visit)
  const first = await walk.run(({ mayStop }) => mayStop)
  if (first.pages === 1 || (first.stoppedEarly && first.pages === 2)) return { ...first, steppedBack: walk.steppedBack }
  await walk.run(({ hasNews }) => !hasNews)
  return { ...first, steppedBack: walk.steppedBack }
}

/** Rows of a page that the next one must show again. */
const OVERLAP = 10
/** How often a list may begin again before it is given up. */
const MAX_RESTARTS = 10
/** How many pages in a row may be the same, which many rows added in front can cause. */
const MAX_SAME_PAGES = 3

class ListWalk {
  readonly #read: ReadPage
  readonly #visit: VisitRows
  #restarts = 0
  steppedBack = false

  constructor(read: ReadPage, visit: VisitRows) {
    this.#read = read
    this.#visit = visit
  }

  async run(isEnough: (visit: Visit) => boolean): Promise<{ pages: number; stoppedEarly: boolean }> {
    let pages = 1
    let page = await this.#read({ offset: 0 })
    let position: Position = { offset: 0 }
    let previous: readonly SourceRow[] = []
    let samePages = 0
    for (;;) {
      const visit = await this.#visit(withoutRepeated(page.rows, previous))
      if (isEnough(visit)) return { pages, stoppedEarly: true }
      const next = nextPosition(page, position)
      if (next === undefined) return { pages, stoppedEarly: false }
      previous = page.rows.slice(-OVERLAP)
      const last = page
      ;({ page, position } = await this.#readOverlapping(next, previous, page.limit))
      pages += 1
      if ('offset' in position && position.offset === 0) previous = []
      samePages = isSame(page, last) ? samePages + 1 : 0
      if (samePages >= MAX_SAME_PAGES)
        throw new SourceError('the source answers every offset of a list with the same page')
    }
  }

  /** Reads a page that shows the last rows of the one before, further in front where they moved; else the first page. */
  async #readOverlapping(
    next: Position,
    previous: readonly SourceRow[],
    limit: number,
  ): Promise<{ page: SourcePage; position: Position }> {
    if ('cursor' in next) return { page: await this.#read(next), position: next }
    let { offset } = next
    for (;;) {
      const page = await this.#read({ offset })
      if (offset === 0 || showsAny(page.rows, previous)) return { page, position: { offset } }
      this.steppedBack = true
      offset = Math.max(0, offset - (limit - OVERLAP))
      if (offset === 0 && (this.#restarts += 1) > MAX_RESTARTS) {
        throw new SourceError('a list of the source changes faster than it can be read')
      }
    }
  }
}

/** Where the next page begins; undefined at the end of the list. */
function nextPosition({ rows, limit, nextCursor }: SourcePage, position: Position): Position | undefined {
  if (nextCursor !== undefined) return nextCursor === null ? undefined : { cursor: nextCursor }
  if (rows.length < limit) return undefined
  // A page no longer than the overlap would never get ahead.
  const step = Math.max(rows.length - OVERLAP, 1)
  return { offset: ('offset' in position ? position.offset : 0) + step }
}

function showsAny(rows: readonly SourceRow[], wanted: readonly SourceRow[]): boolean {
  const names = new Set(wanted.map(nameOf))
  return rows.some(row => names.has(nameOf(row)))
}

/** The rows that the page before did not show as they are. */
function withoutRepeated(rows: readonly SourceRow[], previous: readonly SourceRow[]): readonly SourceRow[] {
  if (previous.length === 0) return rows
  const forms = new Set(previous.map(({ form }) => form))
  return rows.filter(({ form }) => !forms.has(form))
}

function isSame(page: SourcePage, last: SourcePage): boolean {
  return (
    page.rows.length === last.rows.length && page.rows.every((row, index) => nameOf(row) === nameOf(last.rows[index]))
  )
}

function nameOf(row: SourceRow | undefined): number | string | undefined {
  return row?.id ?? row?.form
}
