import { SourceError, type QueryValues, type Source, type SourceResponse, SourceUnavailableError } from './source.ts'
import { instantOf, type SourceData, type SourceRow, type SourceList, rowsOf, sourceRow } from './lists.ts'
import { isObject } from '../archive/values.ts'
import type { Capabilities } from './state.ts'

export interface SourcePage {
  readonly rows: readonly SourceRow[]
  /** The length of a full page. */
  readonly limit: number
  /** If the source has cursors: that of the next page, or null at the end. */
  readonly nextCursor: string | null | undefined
}

export type Position = { readonly offset: number } | { readonly cursor: string }

export interface PageResult {
  /** Whether the page had a new or changed row. */
  readonly hasNews: boolean
  /** Whether all further rows are known. */
  readonly canStop: boolean
}

type ReadPage = (position: Position) => Promise<SourcePage>
type HandleRows = (rows: readonly SourceRow[]) => Promise<PageResult>

const OVERLAP = 10
const MAX_RESTARTS = 10
/** How many pages in a row may be equal, which many rows added in front can cause. */
const MAX_SAME_PAGES = 3

/**
 * Walks a list to its end, or until a page result allows to stop. Rows that were added in front meanwhile are read
 * afterwards. Returns whether it ended before the list did, and whether rows moved so far meanwhile that a part of the list was read
 * again. Throws SourceError if the list cannot be walked.
 */
export async function walkList(read: ReadPage, handle: HandleRows) {
  let restarts = 0
  let steppedBack = false

  /** Reads the page that repeats the last rows of the previous one, or steps back until one does. */
  const readOverlapping = async (next: Position, previous: readonly SourceRow[], limit: number) => {
    if ('cursor' in next) return { page: await read(next), position: next }
    let { offset } = next
    const keys = new Set(previous.map(keyOf))
    for (;;) {
      const page = await read({ offset })
      if (offset === 0 || page.rows.some(row => keys.has(keyOf(row)))) return { page, position: { offset } }
      steppedBack = true
      offset = Math.max(0, offset - (limit - OVERLAP))
      if (offset === 0 && (restarts += 1) > MAX_RESTARTS)
        throw new SourceError('a list of the source changes faster than it can be read')
    }
  }

  const walk = async (isEnough: (result: PageResult) => boolean) => {
    let page = await read({ offset: 0 })
    let position: Position = { offset: 0 }
    let previous: readonly SourceRow[] = []
    let samePages = 0
    for (let pages = 1; ; pages += 1) {
      const result = await handle(withoutRepeated(page.rows, previous))
      if (isEnough(result)) return { pages, stoppedEarly: true }
      const next = nextPosition(page, position)
      if (next === undefined) return { pages, stoppedEarly: false }
      previous = page.rows.slice(-OVERLAP)
      const last = page.rows
      ;({ page, position } = await readOverlapping(next, previous, page.limit))
      if ('offset' in position && position.offset === 0) previous = []
      const isSame = page.rows.every((row, index) => keyOf(row) === keyOf(last[index]))
      samePages = isSame && page.rows.length === last.length ? samePages + 1 : 0
      if (samePages >= MAX_SAME_PAGES)
        throw new SourceError('the source responds to every offset of a list with the same page')
    }
  }

  const { pages, stoppedEarly } = await walk(({ canStop }) => canStop)
  if (pages > (stoppedEarly ? 2 : 1)) await walk(({ hasNews }) => !hasNews)
  return { stoppedEarly, steppedBack }
}

/** Where the next page begins; undefined at the end of the list. */
function nextPosition({ rows, limit, nextCursor }: SourcePage, position: Position): Position | undefined {
  if (nextCursor !== undefined) return nextCursor === null ? undefined : { cursor: nextCursor }
  if (rows.length < limit) return undefined
  // The step must be at least 1 for pages shorter than the overlap.
  const step = Math.max(rows.length - OVERLAP, 1)
  return { offset: ('offset' in position ? position.offset : 0) + step }
}

/** The rows that the previous page did not have in the same form. */
function withoutRepeated(rows: readonly SourceRow[], previous: readonly SourceRow[]): readonly SourceRow[] {
  if (previous.length === 0) return rows
  const forms = new Set(previous.map(({ form }) => form))
  return rows.filter(({ form }) => !forms.has(form))
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

export class MissingListError extends Error {
  override readonly name = 'MissingListError'
}

/** Reads lists and records, and finds out which parameters the source accepts. */
export class SourceReader {
  readonly #source: Source
  readonly #owner: number | undefined
  /** Fields that a record lacked in this round, by kind: other records are not read by id because of them. */
  readonly #withheld = new Set<string>()
  capabilities: Capabilities

  /** With `owner`, only rows of this owner are requested, if the source accepts the parameter. */
  constructor(source: Source, capabilities: Capabilities, owner: number | undefined) {
    this.#source = source
    this.capabilities = capabilities
    this.#owner = owner
  }

  /** Reads a page of a list. Throws MissingListError if the source has no such list, and what Source.get throws. */
  async readPage(list: SourceList, position: Position): Promise<SourcePage> {
    if ('offset' in position && position.offset === 0) return this.#readFirstPage(list)
    const response = await this.#source.get(list.path, { ...this.#query(list, this.#accepted(list)), ...position })
    return this.#pageOf(list, response)
  }

  /** The data of a record; undefined if the source has no such record, `unanswered` if it fails for this record. */
  async tryRecord(list: SourceList, id: number): Promise<SourceData | 'unanswered' | undefined> {
    const { path, include, kind } = list
    const query = include !== undefined && this.hasIncluded(list) ? { include: include.name } : {}
    const response = await this.#source.get(`${path}/${id}`, query).catch((error: unknown) => {
      if (error instanceof SourceUnavailableError) return undefined
      throw error
    })
    if (response?.status === 404) return undefined
    const data = response?.data
    if (!isObject(data)) return 'unanswered'
    for (const field of missingIn(list, data)) if (list.mayBeEmpty.has(field)) this.#withheld.add(`${kind}.${field}`)
    return data
  }

  /** Whether rows of the list lack fields of their records; undefined if unknown. */
  isPartial({ kind, isSummary }: SourceList): boolean | undefined {
    return isSummary === true || this.capabilities.partial?.[kind]
  }

  /** Whether the record of a row may have more than the row has. */
  lacksFields(list: SourceList, row: SourceData): boolean {
    return (
      this.isPartial(list) === true || missingIn(list, row).some(field => !this.#withheld.has(`${list.kind}.${field}`))
    )
  }

  /** Finds out whether rows of a list lack fields, from the first and the last row. */
  async samplePartial(list: SourceList, rows: readonly SourceRow[]): Promise<boolean> {
    if (rows.length === 0) return false
    let isPartial = false
    for (const row of new Set([rows.at(0), rows.at(-1)])) {
      if (row?.id === undefined || isPartial) continue
      const record = await this.tryRecord(list, row.id)
      // Tried again with the next page.
      if (record === 'unanswered') return false
      isPartial = record !== undefined && hasMore(record, row.data)
    }
    this.capabilities = { ...this.capabilities, partial: { ...this.capabilities.partial, [list.kind]: isPartial } }
    return isPartial
  }

  /** Whether rows of the list have the field that `include` adds. */
  hasIncluded({ path }: SourceList): boolean {
    return this.capabilities.include?.[path] === true
  }

  get hasCursors(): boolean {
    return this.capabilities.parameters?.cursor === true
  }

  /** Reads the first page, with as many parameters as the source accepts. */
  async #readFirstPage(list: SourceList): Promise<SourcePage> {
    for (const features of this.#attempts(list)) {
      const response = await this.#source.get(list.path, this.#query(list, features))
      if (REFUSED.has(response.status)) continue
      if (response.status === 404) throw new MissingListError(`the source has no ${list.title}`)
      const page = this.#pageOf(list, response)
      this.#remember(list, features, page)
      return page
    }
    throw new SourceError(`${this.#source.address} refuses to list ${list.title} by limit and offset`)
  }

  /** What the source accepted before; what is not known counts as accepted. */
  #accepted({ path, include }: SourceList): ListFeatures {
    const { parameters = {}, include: included = {} } = this.capabilities
    return {
      cursor: parameters.cursor ?? true,
      ownerId: this.#owner !== undefined && (parameters.ownerId ?? true),
      include: include !== undefined && (included[path] ?? true),
    }
  }

  /** What to try: all of it, then less. */
  *#attempts(list: SourceList): Generator<ListFeatures> {
    const first = this.#accepted(list)
    yield first
    if (first.cursor) yield { ...first, cursor: false }
    if (first.include) yield { ...first, cursor: false, include: false }
    if (first.ownerId) yield { ...first, cursor: false, ownerId: false }
    yield { cursor: false, ownerId: false, include: false }
  }

  #query({ include }: SourceList, features: ListFeatures): QueryValues {
    return {
      limit: PAGE_SIZE,
      ...(features.cursor ? { cursor: '' } : { offset: 0 }),
      ...(features.ownerId && this.#owner !== undefined ? { ownerId: this.#owner } : {}),
      ...(features.include && include !== undefined ? { include: include.name } : {}),
    }
  }

  #pageOf(list: SourceList, { status, data }: SourceResponse): SourcePage {
    const page = toPage(data)
    if (page === undefined)
      throw new SourceError(`${this.#source.address} responds to ${list.path} without a list (${status})`)
    return page
  }

  #remember({ path, include }: SourceList, features: ListFeatures, page: SourcePage) {
    // A source that ignores unknown parameters responds without a cursor, and without the field.
    const cursor = features.cursor && page.nextCursor !== undefined
    const included = features.include && include !== undefined && page.rows.every(({ data }) => include.field in data)
    const { parameters, include: before } = this.capabilities
    const ownerId = this.#owner === undefined ? {} : { ownerId: features.ownerId }
    this.capabilities = {
      ...this.capabilities,
      parameters: { ...parameters, cursor, ...ownerId },
      ...(include === undefined ? {} : { include: { ...before, [path]: included } }),
    }
  }
}

type ListFeatures = Readonly<Record<'cursor' | 'ownerId' | 'include', boolean>>

const PAGE_SIZE = 100
/** The statuses with which servers refuse unknown parameters. */
const REFUSED: ReadonlySet<number> = new Set([400, 422])

/** A page of a list as the source sent it; undefined if it is not a page. */
function toPage(data: unknown): SourcePage | undefined {
  const rows = rowsOf(data)
  if (rows === undefined) return undefined
  const pagination = isObject(data) && isObject(data['pagination']) ? data['pagination'] : {}
  const { limit, nextCursor } = pagination
  return {
    rows: rows.map(sourceRow),
    limit: typeof limit === 'number' && limit >= 1 && limit < PAGE_SIZE ? limit : PAGE_SIZE,
    nextCursor: typeof nextCursor === 'string' || nextCursor === null ? nextCursor : undefined,
  }
}

/** The fields of every record that this one lacks. */
function missingIn({ fields }: SourceList, data: SourceData): readonly string[] {
  return fields.filter(field => data[field] === undefined)
}

/** Whether a record, or an item in it, has fields that its row in a list lacks. */
function hasMore(record: SourceData, row: SourceData): boolean {
  return Object.entries(record).some(([name, value]) => {
    const shown = row[name]
    if (shown === undefined) return true
    if (!Array.isArray(value) || !Array.isArray(shown)) return false
    const item: unknown = value[0]
    const shownItem: unknown = shown[0]
    return isObject(item) && (!isObject(shownItem) || hasMore(item, shownItem))
  })
}
