import type { End } from '../contract/parameters.ts'
import { type Store, StoreUnavailable, TooLong } from '../store/index.ts'
import { EVER, type IdStretch, type ListQueries, PIECE, type Stretch } from './list-queries.ts'
import { type Asked, longPageOf, pageOf, type Reply } from './replies.ts'

/** A list as its endpoint describes it. */
interface List {
  readonly listOf: (values: object) => string
}

interface AskedOfNewest extends Asked {
  readonly from?: number | undefined
  readonly to?: End | undefined
}

/** A page of rows, newest first; `filter` is what the filter column of the queries must equal. */
export function newestPage(
  store: Store,
  queries: ListQueries<Stretch>,
  owners: readonly number[],
  asked: AskedOfNewest,
  list: List,
  filter: string | number = '',
): Promise<Reply> {
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
  queries: ListQueries<IdStretch>,
  owners: readonly number[],
  asked: Asked,
  list: List,
): Promise<Reply> {
  return readPage(store, queries, { owners, ...stretchById(asked) }, asked, list)
}

/** Where a page by identifier begins, and how many rows tell whether it is the last. */
export function stretchById({ limit, offset = 0, cursor }: Asked) {
  return { after: cursor === undefined || cursor === 'start' ? 0 : cursor.id, limit: limit + 1, offset }
}

/** A page of a list, whatever the length of its rows. */
export async function readPage<Values extends object>(
  store: Store,
  queries: ListQueries<Values>,
  values: Values,
  asked: Asked,
  list: List,
): Promise<Reply> {
  const placed = asked.cursor !== undefined
  try {
    const [page] = await store.read(queries.joined(values, placed), values)
    if (page === undefined || page.documents !== null || page.etags === null) {
      return pageOf(page, asked, list.listOf(asked))
    }
  } catch (error) {
    if (!(error instanceof TooLong)) throw error
  }
  const [page] = await store.read(queries.listed(values), values)
  const piece = queries.piece(values)
  return longPageOf(page, asked, list.listOf(asked), async function* (id, { etag, bytes }) {
    for (let from = 1, sent = 0; sent < bytes; from += PIECE) {
      const [found] = await store.read(piece, { ...values, id, from })
      // The length of the answer has been said.
      if (found?.etag !== etag) throw new StoreUnavailable('a row changed while its page was sent')
      sent += Buffer.byteLength(found.text)
      yield found.text
    }
  })
}
