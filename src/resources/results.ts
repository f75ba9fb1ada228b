import { hash } from 'node:crypto'
import type { Area } from '../contract/areas.ts'
import { encodeCursor, type Position } from '../contract/cursor.ts'
import { DOCUMENT_SEPARATOR, type PageRow, type RowSizes } from './page-queries.ts'

/** The JSON text of `data`, and a strong validator of it. */
export interface Result {
  /** In parts, because joining them would cost a copy. */
  readonly data: readonly string[] | LongText
  readonly etag: string
  /** The paging parameters of the next and the previous page. */
  readonly next?: PageStart | undefined
  readonly previous?: PageStart | undefined
  /** Whose records it holds, or could hold. */
  readonly reads?: readonly OwnersRead[] | undefined
}

/** Accounts whose records of an area were read. */
interface OwnersRead {
  readonly area: Area
  readonly owners: readonly number[]
}

/** A text that is too long to hold in memory. */
interface LongText {
  /** Its length in UTF-8. */
  readonly bytes: number
  /** Can be read once. Throws if a row has changed meanwhile. */
  readonly parts: AsyncIterable<string>
}

/** The facts about a row that are read before its text. */
interface LongRow {
  readonly etag: string
  readonly bytes: number
}

export type PageStart = { readonly offset: number } | { readonly cursor: string }

interface Stored {
  readonly document: string
  readonly etag: string
}

/** One record as it is stored; undefined where there is none. */
export function one(record: Stored | undefined): Result | undefined {
  return record && { data: [record.document], etag: record.etag }
}

/** One record as it is stored, or `null`. */
export function oneOrNull(record: Stored | undefined): Result {
  return one(record) ?? { data: ['null'], etag: 'null' }
}

/** Data that is computed, not stored. */
export function made(data: string): Result {
  return { data: [data], etag: etagOf(data) }
}

/** Which page of a list to read. */
export interface PageParams {
  readonly limit: number
  readonly offset: number | undefined
  readonly cursor: Position | 'start' | undefined
}

/**
 * A page of rows. One row more than `limit` means that another page follows. `list` names the list that cursors are
 * bound to.
 */
export function pageResult(page: PageRow | undefined, params: PageParams, list: string): Result {
  const { documents = null, etags = null, positions = null } = page ?? {}
  const { hasMore, pagination, ...rest } = frameOf({ etags, positions }, params, list)
  const records = (hasMore ? withoutLast(documents, DOCUMENT_SEPARATOR) : documents) ?? ''
  return { data: ['{"data":[', records, `],"pagination":${pagination}}`], ...rest }
}

/** A page whose rows are read in chunks while it is sent. */
export function longPageResult(
  rowSizes: RowSizes | undefined,
  params: PageParams,
  list: string,
  read: (id: number, row: LongRow) => AsyncIterable<string>,
): Result {
  const { sizes = null, etags = null, positions = null } = rowSizes ?? {}
  const { hasMore, pagination, ...rest } = frameOf({ etags, positions }, params, list)
  const [lengths, validators, positionTexts] = [sizes, etags, positions].map(column => column?.split(',') ?? [])
  const rows = (validators ?? []).map((etag, index) => ({
    etag,
    bytes: Number(lengths?.[index]),
    id: Number(positionTexts?.[index]?.split('.')[1]),
  }))
  if (hasMore) rows.pop()
  const separator = (index: number) => (index === 0 ? '' : DOCUMENT_SEPARATOR)
  const before = '{"data":['
  const after = `],"pagination":${pagination}}`
  const frameBytes = before.length + after.length
  const bytes = rows.reduce((sum, row, index) => sum + separator(index).length + row.bytes, frameBytes)
  async function* parts() {
    yield before
    for (const [index, { id, ...row }] of rows.entries()) {
      yield separator(index)
      yield* read(id, row)
    }
    yield after
  }
  return { data: { bytes, parts: parts() }, ...rest }
}

/** Everything of a page except its rows. */
function frameOf({ etags, positions }: Pick<PageRow, 'etags' | 'positions'>, params: PageParams, list: string) {
  const { limit, offset = 0, cursor } = params
  const hasMore = etags !== null && countOf(etags) > limit
  const shownEtags = hasMore ? withoutLast(etags, ',') : etags
  let next: PageStart | undefined
  let previous: PageStart | undefined
  let pagination: string
  if (cursor === undefined) {
    // A larger offset would not be an exact integer.
    if (hasMore && offset + limit <= Number.MAX_SAFE_INTEGER) next = { offset: offset + limit }
    if (offset > 0) previous = { offset: Math.max(0, offset - limit) }
    pagination = `{"limit":${limit},"offset":${offset}}`
  } else {
    const nextCursor = hasMore ? cursorAfter(positions, list) : null
    if (nextCursor !== null) next = { cursor: nextCursor }
    pagination = `{"limit":${limit},"nextCursor":${JSON.stringify(nextCursor)}}`
  }
  return { hasMore, pagination, etag: etagOf(`${pagination},${shownEtags ?? ''}`), next, previous }
}

/** The cursor of the last row on the page, which is the last but one that was read. */
function cursorAfter(positions: string | null, list: string): string {
  const onPage = withoutLast(positions, ',') ?? ''
  const [at, id] = onPage.slice(onPage.lastIndexOf(',') + 1).split('.')
  return encodeCursor(Number(at), Number(id), list)
}

function countOf(list: string): number {
  let count = 1
  for (let comma = list.indexOf(','); comma !== -1; comma = list.indexOf(',', comma + 1)) count += 1
  return count
}

function withoutLast(text: string | null, separator: string): string | null {
  return text === null ? null : text.slice(0, text.lastIndexOf(separator))
}

function etagOf(text: string): string {
  return hash('sha1', text, 'base64url')
}
