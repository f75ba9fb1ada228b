import { hash } from 'node:crypto'
import type { Area } from '../contract/areas.ts'
import { encodeCursor, type Position } from '../contract/cursor.ts'
import { DOCUMENT_SEPARATOR, type PageRow, type RowSizes } from './page-queries.ts'
import { knownPage, pageEtag, type PageKey } from './page-validators.ts'

/** The JSON text of `data`, and a strong validator of it. */
export interface Result {
  /** In parts, because joining them would cost a copy. Undefined if the caller has it. */
  readonly data: readonly string[] | LongText | WholeBody | undefined
  readonly etag: string
  /** The revisions of a list as its rows were read. */
  readonly revisions?: string | null
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

/** A body with its envelope, ready to be sent. */
export interface WholeBody {
  /** In bytes. */
  readonly length: number
  open(): OpenBody
}

/** The bytes of a body. Whoever opened it calls `release` once they are sent, and does not look at them any more. */
export interface OpenBody {
  readonly bytes: Buffer
  readonly release?: () => void
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

/** A page, apart from its rows. */
export interface PageSource {
  readonly params: PageParams
  /** The list that cursors are bound to. */
  readonly list: string
  /** What its validator depends on, beside the revisions; undefined for a list without revisions. */
  readonly key?: PageKey | undefined
  /** Whether the previous page, which the offset allows, has no rows either. */
  readonly isPreviousEmpty?: boolean
}

/** A page of rows. One row more than `limit` means that another page follows. */
export function pageResult(page: PageRow, source: PageSource): Result {
  const { hasMore, pagination, ...rest } = frameOf(page, source)
  const records = (hasMore ? withoutLast(page.documents, DOCUMENT_SEPARATOR) : page.documents) ?? ''
  return { data: ['{"data":[', records, `],"pagination":${pagination}}`], revisions: page.revisions, ...rest }
}

/** A page whose rows are read in chunks while it is sent. */
export function longPageResult(
  rowSizes: RowSizes,
  source: PageSource,
  read: (id: number, row: LongRow) => AsyncIterable<string>,
): Result {
  const { hasMore, pagination, ...rest } = frameOf(rowSizes, source)
  const { sizes, etags, positions } = rowSizes
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

/** A page that the caller has, by the If-None-Match header of the request and the present revisions of its list. */
export function unchangedPage(
  header: string,
  revisions: string,
  { params, list, key }: PageSource & { readonly key: PageKey },
): Result | undefined {
  const known = knownPage(header, key, revisions)
  return known && { data: undefined, etag: known.etag, ...startsOf(known.links, params, list) }
}

/** Everything but the rows of a page: pagination, validator and the starts of other pages. */
function frameOf(page: Omit<PageRow, 'documents'>, { params, list, key, isPreviousEmpty }: PageSource) {
  const { limit, offset = 0, cursor } = params
  const { count, etags, positions, revisions } = page
  const hasMore = count > limit
  const links =
    cursor === undefined ? linksByOffset(params, hasMore, isPreviousEmpty) : hasMore ? lastOn(positions) : ''
  const starts = startsOf(links, params, list)
  const nextCursor = starts.next !== undefined && 'cursor' in starts.next ? starts.next.cursor : null
  const pagination =
    cursor === undefined
      ? `{"limit":${limit},"offset":${offset}}`
      : `{"limit":${limit},"nextCursor":${JSON.stringify(nextCursor)}}`
  const etag =
    key === undefined
      ? etagOf(`${pagination},${links},${(hasMore ? withoutLast(etags, ',') : etags) ?? ''}`)
      : pageEtag(key, revisions ?? '', links)
  return { hasMore, pagination, etag, ...starts }
}

/** Which other pages there are by offset, as a text: `n` for the next and `p` for the previous one. */
function linksByOffset({ limit, offset = 0 }: PageParams, hasMore: boolean, isPreviousEmpty = false): string {
  // A larger offset would not be an exact integer.
  const next = hasMore && offset + limit <= Number.MAX_SAFE_INTEGER ? 'n' : ''
  return offset > 0 && !isPreviousEmpty ? `${next}p` : next
}

/** The paging parameters of the pages that `links` names; with a cursor, it is the position of the last row. */
function startsOf(
  links: string,
  { limit, offset = 0, cursor }: PageParams,
  list: string,
): Pick<Result, 'next' | 'previous'> {
  if (cursor !== undefined) {
    if (links === '') return {}
    const [at, id] = links.split('.')
    return { next: { cursor: encodeCursor(Number(at), Number(id), list) } }
  }
  return {
    next: links.includes('n') ? { offset: offset + limit } : undefined,
    previous: links.includes('p') ? { offset: Math.max(0, offset - limit) } : undefined,
  }
}

/** The position of the last row on the page, which is the last but one that was read. */
function lastOn(positions: string | null): string {
  const onPage = withoutLast(positions, ',') ?? ''
  return onPage.slice(onPage.lastIndexOf(',') + 1)
}

function withoutLast(text: string | null, separator: string): string | null {
  return text === null ? null : text.slice(0, text.lastIndexOf(separator))
}

function etagOf(text: string): string {
  return hash('sha1', text, 'base64url')
}
