import { type Access, areaOf } from '../accounts/access.ts'
import type { End } from '../contract/parameters.ts'
import { type Store, StoreUnavailableError, TooLongError } from '../store/index.ts'
import type { RecordName } from '../store/tables.ts'
import type { Caller } from './handler.ts'
import { CHUNK_CHARACTERS, type PageQueries } from './page-queries.ts'
import { pageOfRecords, type RecordList } from './record-lists.ts'
import { longPageResult, type PageParams, pageResult, type Result } from './results.ts'

/** A list as its endpoint describes it. */
interface ListEndpoint {
  readonly listOf: (values: object) => string
}

interface RangeParams extends PageParams {
  readonly from?: number | undefined
  readonly to?: End | undefined
}

/** A page of records. */
export async function recordPage<Table extends RecordName>(
  { store }: Pick<Caller, 'store'>,
  list: RecordList<Table>,
  access: Access,
  params: RangeParams,
  endpoint: ListEndpoint,
): Promise<Result> {
  const range = list.order === 'newest' ? timeRangeOf(params) : idRangeOf(params)
  const { queries, values } = pageOfRecords(list, access, range)
  const result = await readPage(store, queries, values, params, endpoint)
  return { ...result, reads: [{ area: areaOf(list.table), owners: access.owners }] }
}

/** The range of a page by time; it too has one row more than the page. */
export function timeRangeOf({ limit, offset = 0, cursor, from, to }: RangeParams) {
  // A cursor is bound to `to`, so its position is before that already.
  const before = cursor === undefined || cursor === 'start' ? { at: to?.before, id: 0 } : cursor
  return { from, beforeAt: before.at, beforeId: before.id, limit: limit + 1, offset }
}

/** The range of a page by identifier. It has one row more than the page, which shows whether another page follows. */
export function idRangeOf({ limit, offset = 0, cursor }: PageParams) {
  return { after: cursor === undefined || cursor === 'start' ? 0 : cursor.id, limit: limit + 1, offset }
}

/** A page of a list, whatever the length of its rows. */
export async function readPage<Values extends { limit: number; offset: number }>(
  store: Store,
  queries: PageQueries<Values>,
  values: Values,
  params: PageParams,
  endpoint: ListEndpoint,
): Promise<Result> {
  const list = endpoint.listOf(params)
  try {
    const [page] = await store.read(params.cursor === undefined ? queries.page : queries.pageWithCursor, values)
    if (page === undefined || page.etags === null) {
      return await withExistingPrevious(store, queries, values, pageResult(page, params, list))
    }
    if (page.documents !== null) return pageResult(page, params, list)
  } catch (error) {
    if (!(error instanceof TooLongError)) throw error
  }
  const [sizes] = await store.read(queries.rowSizes, values)
  return longPageResult(sizes, params, list, async function* (id, { etag, bytes }) {
    for (let start = 1, sent = 0; sent < bytes; start += CHUNK_CHARACTERS) {
      const [chunk] = await store.read(queries.chunk, { ...values, id, start })
      // The length of the response has been sent already.
      if (chunk?.etag !== etag) throw new StoreUnavailableError('a row changed while its page was sent')
      sent += Buffer.byteLength(chunk.text)
      yield chunk.text
    }
  })
}

/** An empty page, with a previous page only where that has rows. */
async function withExistingPrevious<Values extends { limit: number; offset: number }>(
  store: Store,
  queries: PageQueries<Values>,
  values: Values,
  result: Result,
): Promise<Result> {
  if (result.previous === undefined || 'cursor' in result.previous) return result
  const [first] = await store.read(queries.rowSizes, { ...values, limit: 1, offset: result.previous.offset })
  return first === undefined || first.etags === null ? { ...result, previous: undefined } : result
}
