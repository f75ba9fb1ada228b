import { SourceError } from './source.ts'
import { instantOf, type SourceData, type SourceRow } from './rows.ts'

/** A page of a list. */
export interface SourcePage {
  readonly rows: readonly SourceRow[]
  /** The length of a full page. */
  readonly limit: number
  /** If the source has cursors: that of the next page, or null at the end. */
  readonly nextCursor: string | null | undefined
}

export type Position = { readonly offset: number } | { readonly cursor: string }

/** What was found in a page. */
export interface PageResult {
  /** Whether the page had a new or changed row. */
  readonly hasNews: boolean
  /** Whether all further rows are known. */
  readonly canStop: boolean
}

export interface Walk {
  /** Whether rows moved so far during the walk that a part of the list was read again. */
  readonly steppedBack: boolean
  /** Whether it ended before the list did. */
  readonly stoppedEarly: boolean
}

type ReadPage = (position: Position) => Promise<SourcePage>
type HandleRows = (rows: readonly SourceRow[]) => Promise<PageResult>

/**
 * Walks a list to its end, or until a page result allows to stop. Rows that were added in front meanwhile are read
 * afterwards. Throws SourceError if the list cannot be walked.
 */
export async function walkList(read: ReadPage, handle: HandleRows): Promise<Walk> {
  const walk = new ListWalk(read, handle)
  const first = await walk.run(({ canStop }) => canStop)
  if (first.pages === 1 || (first.stoppedEarly && first.pages === 2)) return { ...first, steppedBack: walk.steppedBack }
  await walk.run(({ hasNews }) => !hasNews)
  return { ...first, steppedBack: walk.steppedBack }
}

/** How many rows of a page the next one repeats. */
const OVERLAP = 10
/** How often a list is started again before it fails. */
const MAX_RESTARTS = 10
/** How many pages in a row may be equal, which many rows added in front can cause. */
const MAX_SAME_PAGES = 3

class ListWalk {
  readonly #read: ReadPage
  readonly #handle: HandleRows
  #restarts = 0
  steppedBack = false

  constructor(read: ReadPage, handle: HandleRows) {
    this.#read = read
    this.#handle = handle
  }

  async run(isEnough: (result: PageResult) => boolean): Promise<{ pages: number; stoppedEarly: boolean }> {
    let pages = 1
    let page = await this.#read({ offset: 0 })
    let position: Position = { offset: 0 }
    let previous: readonly SourceRow[] = []
    let samePages = 0
    for (;;) {
      const result = await this.#handle(withoutRepeated(page.rows, previous))
      if (isEnough(result)) return { pages, stoppedEarly: true }
      const next = nextPosition(page, position)
      if (next === undefined) return { pages, stoppedEarly: false }
      previous = page.rows.slice(-OVERLAP)
      const last = page
      ;({ page, position } = await this.#readOverlapping(next, previous, page.limit))
      pages += 1
      if ('offset' in position && position.offset === 0) previous = []
      samePages = isSamePage(page, last) ? samePages + 1 : 0
      if (samePages >= MAX_SAME_PAGES)
        throw new SourceError('the source responds to every offset of a list with the same page')
    }
  }

  /** Reads the page that repeats the last rows of the previous one, or steps back until one does. */
  async #readOverlapping(
    next: Position,
    previous: readonly SourceRow[],
    limit: number,
  ): Promise<{ page: SourcePage; position: Position }> {
    if ('cursor' in next) return { page: await this.#read(next), position: next }
    let { offset } = next
    for (;;) {
      const page = await this.#read({ offset })
      if (offset === 0 || hasAny(page.rows, previous)) return { page, position: { offset } }
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
  // The step must be at least 1 for pages shorter than the overlap.
  const step = Math.max(rows.length - OVERLAP, 1)
  return { offset: ('offset' in position ? position.offset : 0) + step }
}

function hasAny(rows: readonly SourceRow[], wanted: readonly SourceRow[]): boolean {
  const keys = new Set(wanted.map(keyOf))
  return rows.some(row => keys.has(keyOf(row)))
}

/** The rows that the previous page did not have in the same form. */
function withoutRepeated(rows: readonly SourceRow[], previous: readonly SourceRow[]): readonly SourceRow[] {
  if (previous.length === 0) return rows
  const forms = new Set(previous.map(({ form }) => form))
  return rows.filter(({ form }) => !forms.has(form))
}

function isSamePage(page: SourcePage, last: SourcePage): boolean {
  return (
    page.rows.length === last.rows.length && page.rows.every((row, index) => keyOf(row) === keyOf(last.rows[index]))
  )
}

function keyOf(row: SourceRow | undefined): number | string | undefined {
  return row?.id ?? row?.form
}

/** Checks whether the rows of a list come newest first. */
export class ListOrder {
  readonly #field: string | undefined
  #lastSecond = Infinity
  isNewestFirst = true
  /** The newest instant of the last page; undefined if it had none. */
  newest: number | undefined

  constructor(field: string | undefined) {
    this.#field = field
  }

  instantOf(data: SourceData): number | undefined {
    return this.#field === undefined ? undefined : instantOf(data[this.#field])
  }

  /** Adds the instants of a page. Rows without an instant are ignored. */
  add(instants: readonly (number | undefined)[]) {
    this.newest = undefined
    for (const instant of instants) {
      if (instant === undefined) continue
      const second = Math.floor(instant / 1000)
      if (second > this.#lastSecond) this.isNewestFirst = false
      this.#lastSecond = second
      this.newest = Math.max(this.newest ?? instant, instant)
    }
  }
}
