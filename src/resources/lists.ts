import type { End } from '../contract/parameters.ts'
import type { Store } from '../store/index.ts'
import type { Query } from '../store/query.ts'
import type { IdStretch, Joined, Stretch } from './access.ts'
import { type Asked, pageOf, type Reply } from './replies.ts'

/** A list as its endpoint describes it. */
interface List {
  readonly listOf: (values: object) => string
}

interface AskedOfNewest extends Asked {
  readonly from?: number | undefined
  readonly to?: End | undefined
}

/** A page of rows, newest first; `filter` is what the filter column of the family must equal. */
export async function newestPage(
  store: Store,
  family: (owners: readonly number[]) => Query<Stretch, Joined>,
  owners: readonly number[],
  asked: AskedOfNewest,
  list: List,
  filter: string | number = '',
): Promise<Reply> {
  const { cursor, from = Number.MIN_SAFE_INTEGER, to } = asked
  const after = cursor === undefined || cursor === 'start' ? undefined : cursor
  const [page] = await store.read(family(owners), {
    owners,
    from,
    // A cursor stands within the list, so never after its end.
    beforeAt: after?.at ?? to?.before ?? Number.MAX_SAFE_INTEGER,
    beforeId: after?.id ?? 0,
    filter,
    limit: asked.limit + 1,
    offset: asked.offset ?? 0,
  })
  return pageOf(page, asked, list.listOf(asked))
}

/** A page of rows by identifier. */
export async function identifierPage(
  store: Store,
  family: (owners: readonly number[]) => Query<IdStretch, Joined>,
  owners: readonly number[],
  asked: Asked,
  list: List,
): Promise<Reply> {
  const [page] = await store.read(family(owners), { owners, ...stretchById(asked) })
  return pageOf(page, asked, list.listOf(asked))
}

/** Where a page by identifier begins, and how many rows tell whether it is the last. */
export function stretchById({ limit, offset = 0, cursor }: Asked) {
  return { after: cursor === undefined || cursor === 'start' ? 0 : cursor.id, limit: limit + 1, offset }
}
