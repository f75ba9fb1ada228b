import type { End } from '../contract/parameters.ts'
import { type Store, StoreUnavailableError, TooLongError } from '../store/index.ts'
import { EVER, type IdRange, type ListQueries, CHUNK_CHARACTERS, type ListRange } from './list-queries.ts'
import { type PageParams, longPageOf, pageOf, type Result } from './results.ts'

/** A list as its endpoint describes it. */
interface List {
  readonly listOf: (values: object) => string
}

interface AskedOfNewest extends PageParams {
  readonly from?: number | undefined
  readonly to?: End | undefined
}

/** A page of rows, newest first; `filter` is what the filter column of the queries must equal. */
export function newestPage(
  store: Store,
  queries: ListQueries<ListRange>,
  owners: readonly number[],
  asked: AskedOfNewest,
  list: List,
  filter: string | number = '',
): Promise<Result> {
  const { cursor, from = EVER.from, to } = asked
  const after = cursor === undefined || cursor === 'start' ? undefined : cursor
  const stretch = {
    owners,
    from,
    // A cursor stands within the list, so never after its end.
    beforeAt: after?.at ?? to?.before ?? EVER.beforeAt,
    beforeId: after?.id ?? EVER.beforeId,
    filter,
    limit: asked.limit + 1,
    offset: asked.offset ?? 0,
  }
  return readPage(store, queries, stretch, asked, list)
}

/** A page of rows by identifier. */
export function identifierPage(
  store: Store,
  queries: ListQueries<IdRange>,
  owners: readonly number[],
  asked: PageParams,
  list: List,
): Promise<Result> {
  return readPage(store, queries, { owners, ...stretchById(asked) }, asked, list)
}

/** Where a page by identifier begins, and how many rows tell whether it is the last. */
export function stretchById({ limit, offset = 0, cursor }: PageParams) {
  return { after: cursor === undefined || cursor === 'start' ? 0 : cursor.id, limit: limit + 1, offset }
}

/** A page of a list, whatever the length of its rows. */
export async function readPage<Values extends object>(
  store: Store,
  queries: ListQueries<Values>,
  values: Values,
  asked: PageParams,
  list: List,
): Promise<Result> {
  const withCursor = asked.cursor !== undefined
  try {
    const [page] = await store.read(queries.page(values, withCursor), values)
    if (page === undefined || page.documents !== null || page.etags === null) {
      return pageOf(page, asked, list.listOf(asked))
    }
  } catch (error) {
    if (!(error instanceof TooLongError)) throw error
  }
  const [page] = await store.read(queries.rowSizes(values), values)
  const chunk = queries.chunk(values)
  return longPageOf(page, asked, list.listOf(asked), async function* (id, { etag, bytes }) {
    for (let from = 1, sent = 0; sent < bytes; from += CHUNK_CHARACTERS) {
      const [found] = await store.read(chunk, { ...values, id, from })
      // The length of the answer has been said.
      if (found?.etag !== etag) throw new StoreUnavailableError('a row changed while its page was sent')
      sent += Buffer.byteLength(found.text)
      yield found.text
    }
  })
}
