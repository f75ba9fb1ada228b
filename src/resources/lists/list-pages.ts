import { accessTo, areaOf, type Asked, readChecked } from '../../accounts/access.ts'
import type { ListEndpoint } from '../../contract/endpoint.ts'
import type { End } from '../../contract/parameters.ts'
import { type Store, StoreUnavailableError, TooLongError } from '../../store/index.ts'
import type { RecordName } from '../../store/tables.ts'
import type { Caller, Result } from '../handler.ts'
import { CHUNK_CHARACTERS, type PageQueries, type PageRow } from './page-queries.ts'
import { pageOfRecords, type RecordList } from './record-lists.ts'
import {
  longPageResult,
  type PageParams,
  pageResult,
  type ListPageSource,
  unchangedPage,
  type PageKey,
} from './page-results.ts'

interface RangeParams extends PageParams {
  readonly from?: number | undefined
  readonly to?: End | undefined
}

/** A page of the records of one account, or of all that the caller may read. Throws owner_not_accessible. */
export async function recordPage<Table extends RecordName>(
  caller: Caller,
  list: RecordList<Table>,
  params: RangeParams & { readonly ownerId?: number | undefined },
  endpoint: Pick<ListEndpoint, 'listOf'>,
  ownerId = params.ownerId,
): Promise<Result> {
  const { store, ifNoneMatch } = caller
  const access = accessTo(caller, list.table, ownerId)
  const range = list.order === 'newest' ? timeRangeOf(params) : idRangeOf(params)
  const { name, queries, values } = pageOfRecords(list, access, range)
  const ownersRead = [{ area: areaOf(list.table), owners: access.owners }]
  const source = { params, list: endpoint.listOf(params) }
  if (queries.revisions === undefined) return { ...(await readListPage(store, queries, values, source)), ownersRead }
  const keyed = { ...source, key: keyOf(name, source) }
  if (ifNoneMatch !== undefined) {
    const [row] = await readChecked(store, queries.revisions, values)
    const unchanged = unchangedPage(ifNoneMatch, row?.revisions ?? '', keyed)
    if (unchanged !== undefined) return { ...unchanged, ownersRead }
  }
  return { ...(await readListPage(store, queries, values, keyed)), ownersRead }
}

/** Everything that the text of a page depends on, apart from the records of its owners. */
function keyOf(name: string, { params, list }: ListPageSource): PageKey {
  const { limit, offset = 0, cursor } = params
  const position = typeof cursor === 'object' ? [cursor.at, cursor.id] : cursor
  return JSON.stringify([name, list, limit, offset, position])
}

/** The range of a page by time. It has one row more than the page, which shows whether another page follows. */
export function timeRangeOf({ limit, offset = 0, cursor, from, to }: RangeParams) {
  // A cursor is bound to `to`, so its position is before that already.
  const before = cursor === undefined || cursor === 'start' ? { at: to?.before, id: 0 } : cursor
  return { from, beforeAt: before.at, beforeId: before.id, limit: limit + 1, offset }
}

/** The same of a page by identifier. */
export function idRangeOf({ limit, offset = 0, cursor }: PageParams) {
  return { after: cursor === undefined || cursor === 'start' ? 0 : cursor.id, limit: limit + 1, offset }
}

/** A page of a list, whatever the length of its rows. */
export async function readListPage<Values extends Asked & { limit: number; offset: number }>(
  store: Store,
  queries: PageQueries<Values>,
  values: Values,
  source: ListPageSource,
): Promise<Result> {
  const { params } = source
  try {
    const [page = NO_ROWS] = await readChecked(
      store,
      params.cursor === undefined ? queries.page : queries.pageWithCursor,
      values,
    )
    if (page.count === 0) {
      return pageResult(page, { ...source, isPreviousEmpty: await isPreviousEmpty(store, queries, values, params) })
    }
    if (page.documents !== null) return pageResult(page, source)
  } catch (error) {
    if (!(error instanceof TooLongError)) throw error
  }
  const [sizes = { ...NO_ROWS, sizes: null }] = await readChecked(store, queries.rowSizes, values)
  return longPageResult(sizes, source, async function* (id, { etag, bytes }) {
    for (let start = 1, sent = 0; sent < bytes; start += CHUNK_CHARACTERS) {
      const [chunk] = await readChecked(store, queries.chunk, { ...values, id, start })
      // The length of the response has been sent already.
      if (chunk?.etag !== etag) throw new StoreUnavailableError('a row changed while its page was sent')
      sent += Buffer.byteLength(chunk.text)
      yield chunk.text
    }
  })
}

const NO_ROWS: PageRow = { count: 0, documents: null, etags: null, positions: null, revisions: null }

/** Whether the page before an empty one is also empty. */
async function isPreviousEmpty<Values extends Asked & { limit: number; offset: number }>(
  store: Store,
  queries: PageQueries<Values>,
  values: Values,
  { offset = 0, limit }: PageParams,
): Promise<boolean> {
  if (offset === 0) return true
  const [first] = await readChecked(store, queries.rowSizes, {
    ...values,
    limit: 1,
    offset: Math.max(0, offset - limit),
  })
  return first === undefined || first.count === 0
}
