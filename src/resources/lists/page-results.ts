import { encodeCursor, type Position } from '../../contract/cursor.ts'
import { etagOf, type ListPage } from '../handler.ts'
import { DOCUMENT_SEPARATOR, type PageRow, type RowSizes } from './page-queries.ts'
import { formatLinks, knownPage, pageEtag, type PageKey, type PageLinks } from './page-validators.ts'

/** Pages of lists, from their rows or from a validator. */

/** The facts about a row that are read before its text. */
interface LongRow {
  readonly etag: string
  readonly bytes: number
}

/** Which page of a list to read. */
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
export function pageResult(page: PageRow, source: ListPageSource): ListPage {
  const { hasMore, pagination, ...rest } = frameOf(page, source)
  const records = (hasMore ? withoutLast(page.documents, DOCUMENT_SEPARATOR) : page.documents) ?? ''
  return { kind: 'page', data: ['{"data":[', records, `],"pagination":${pagination}}`], ...rest }
}

/** A page whose rows are read in chunks while it is sent. */
export function longPageResult(
  rowSizes: RowSizes,
  source: ListPageSource,
  read: (id: number, row: LongRow) => AsyncIterable<string>,
): ListPage {
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
  return { kind: 'long page', data: { bytes, parts: parts() }, ...rest }
}

/** A page that the caller has, by the If-None-Match header of the request and the present revisions of its list. */
export function unchangedPage(
  header: string,
  revisions: string,
  { params, list, key }: ListPageSource & { readonly key: PageKey },
): ListPage | undefined {
  const known = knownPage(header, key, revisions)
  return known && { kind: 'unchanged page', etag: known.etag, ...startsOf(known.links, params, list) }
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
      : pageEtag(key, revisions ?? '', links)
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
): Pick<ListPage, 'next' | 'previous'> {
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
