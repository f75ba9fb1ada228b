import { hash } from 'node:crypto'
import { encodeCursor, type Position } from '../../contract/cursor.ts'
import { etagOf, type Result } from '../handler.ts'
import { DOCUMENT_SEPARATOR, type PageRow, type RowSizes } from './page-queries.ts'
import { etagsIn } from '../../contract/validators.ts'

/** Pages of lists, from their rows or from a validator. */

export interface PageParams {
  readonly limit: number
  readonly offset: number | undefined
  readonly cursor: Position | 'start' | undefined
}

/** A page, apart from its rows. */
export interface ListPageSource {
  readonly params: PageParams
  /** The list that cursors are bound to. */
  readonly list: string
  /** What its validator depends on, beside the revisions; undefined for a list without revisions. */
  readonly key?: PageKey | undefined
  /** Whether the previous page, which the offset allows, has no rows either. */
  readonly isPreviousEmpty?: boolean
}

/** A page of rows. One row more than `limit` means that another page follows. */
export function pageResult(page: PageRow, source: ListPageSource): Result {
  const { hasMore, pagination, ...rest } = frameOf(page, source)
  const records = (hasMore ? withoutLast(page.documents, DOCUMENT_SEPARATOR) : page.documents) ?? ''
  return { data: ['{"data":[', records, `],"pagination":${pagination}}`], ...rest }
}

/** A page whose rows are read in chunks while it is sent. */
export function longPageResult(
  rowSizes: RowSizes,
  source: ListPageSource,
  read: (id: number, row: { readonly etag: string; readonly bytes: number }) => AsyncIterable<string>,
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
  { params, list, key }: ListPageSource & { readonly key: PageKey },
): Result | undefined {
  const known = knownPage(header, key, revisions)
  return known && { etag: known.etag, ...startsOf(known.links, params, list) }
}

/** Everything but the rows of a page: pagination, validator and the starts of other pages. */
function frameOf(page: Omit<PageRow, 'documents'>, { params, list, key, isPreviousEmpty }: ListPageSource) {
  const { limit, offset = 0, cursor } = params
  const { count, etags, positions, revisions } = page
  const hasMore = count > limit
  const links =
    cursor === undefined ? linksByOffset(params, hasMore, isPreviousEmpty) : linksByCursor(hasMore, positions)
  const starts = startsOf(links, params, list)
  const nextCursor = starts.next !== undefined && 'cursor' in starts.next ? starts.next.cursor : null
  const pagination =
    cursor === undefined
      ? `{"limit":${limit},"offset":${offset}}`
      : `{"limit":${limit},"nextCursor":${JSON.stringify(nextCursor)}}`
  const etag =
    key === undefined
      ? etagOf(`${pagination},${formatLinks(links)},${(hasMore ? withoutLast(etags, ',') : etags) ?? ''}`)
      : etagWith(key, revisions ?? '', formatLinks(links))
  return { hasMore, pagination, etag, ...starts }
}

function linksByOffset({ limit, offset = 0 }: PageParams, hasMore: boolean, isPreviousEmpty = false): PageLinks {
  return {
    // A larger offset would not be an exact integer.
    hasNext: hasMore && offset + limit <= Number.MAX_SAFE_INTEGER,
    hasPrevious: offset > 0 && !isPreviousEmpty,
  }
}

/** The last row on the page is the last but one that was read. */
function linksByCursor(hasMore: boolean, positions: string | null): PageLinks {
  if (!hasMore) return { hasNext: false, hasPrevious: false }
  const onPage = withoutLast(positions, ',') ?? ''
  const [at, id] = onPage.slice(onPage.lastIndexOf(',') + 1).split('.')
  return { hasNext: true, hasPrevious: false, lastRow: { at: Number(at), id: Number(id) } }
}

/** The paging parameters of other pages. */
function startsOf(
  { hasNext, hasPrevious, lastRow }: PageLinks,
  { limit, offset = 0 }: PageParams,
  list: string,
): Pick<Result, 'next' | 'previous'> {
  const next =
    lastRow === undefined ? { offset: offset + limit } : { cursor: encodeCursor(lastRow.at, lastRow.id, list) }
  return {
    next: hasNext ? next : undefined,
    previous: hasPrevious ? { offset: Math.max(0, offset - limit) } : undefined,
  }
}

function withoutLast(text: string | null, separator: string): string | null {
  return text === null ? null : text.slice(0, text.lastIndexOf(separator))
}

/**
 * Validators of pages that are computed from the revisions of a list, not from its rows. A validator begins with what the `Link`
 * header says, because that depends on the rows: so a 304 does not need to read them.
 */

/** Identifies a page: everything that its text depends on, apart from the records. */
export type PageKey = string

interface PageLinks {
  readonly hasNext: boolean
  readonly hasPrevious: boolean
  /** With a cursor, the position that the next page starts after. */
  readonly lastRow?: { readonly at: number; readonly id: number }
}

/** As a text of letters, digits, a dot and a minus sign. */
function formatLinks({ hasNext, hasPrevious, lastRow }: PageLinks): string {
  if (lastRow !== undefined) return `${lastRow.at}.${lastRow.id}`
  return `${hasNext ? 'n' : ''}${hasPrevious ? 'p' : ''}`
}

function parseLinks(text: string): PageLinks {
  const [at, id] = text.split('.')
  if (id !== undefined) return { hasNext: true, hasPrevious: false, lastRow: { at: Number(at), id: Number(id) } }
  return { hasNext: text.includes('n'), hasPrevious: text.includes('p') }
}

function etagWith(key: PageKey, revisions: string, links: string): string {
  const inOneOrder = revisions.includes(',') ? revisions.split(',').toSorted().join() : revisions
  return links + hash('sha1', `${key} ${inOneOrder} ${links}`, 'base64url')
}

/** The validator in an If-None-Match header that the page has with these revisions, and what it says of links. Undefined if there is none. */
function knownPage(header: string, key: PageKey, revisions: string): { etag: string; links: PageLinks } | undefined {
  for (const quoted of etagsIn(header)) {
    const etag = quoted.slice(1, -1)
    const links = etag.slice(0, -HASH_LENGTH)
    if (etag.length >= HASH_LENGTH && etagWith(key, revisions, links) === etag) {
      return { etag, links: parseLinks(links) }
    }
  }
  return undefined
}

/** Of SHA-1 in base64url. */
const HASH_LENGTH = 27
