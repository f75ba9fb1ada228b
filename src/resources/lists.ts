import type { Store } from '../store/index.ts'
import type { Query } from '../store/query.ts'
import type { Found, IdStretch, Listed, Stretch } from './access.ts'
import { type Asked, pageOf, type Reply } from './replies.ts'

/** A list as its endpoint describes it. */
interface List {
  readonly listOf: (values: object) => string
}

interface AskedOfNewest extends Asked {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

interface NewestOptions {
  /** What the filter column must equal. */
  readonly filter?: string | number
  /** How a row is shown, where not as it is stored. */
  readonly show?: (row: Listed) => Listed
}

/** A page of rows, newest first. */
export async function newestPage(
  store: Store,
  family: (owners: readonly number[]) => Query<Stretch, Listed>,
  owners: readonly number[],
  asked: AskedOfNewest,
  list: List,
  { filter = '', show }: NewestOptions = {},
): Promise<Reply> {
  const { cursor, from = Number.MIN_SAFE_INTEGER, to = Number.MAX_SAFE_INTEGER } = asked
  const after = cursor === undefined || cursor === 'start' ? undefined : cursor
  const rows = await store.read(family(owners), {
    owners,
    from,
    // A cursor stands within the list, so never after its end.
    beforeAt: after?.at ?? to,
    beforeId: after?.id ?? 0,
    filter,
    limit: asked.limit + 1,
    offset: asked.offset ?? 0,
  })
  return pageOf(show === undefined ? rows : rows.map(show), asked, list.listOf(asked))
}

/** A page of rows by identifier. */
export async function identifierPage(
  store: Store,
  family: (owners: readonly number[]) => Query<IdStretch, Found>,
  owners: readonly number[],
  asked: Asked,
  list: List,
): Promise<Reply> {
  const rows = await store.read(family(owners), { owners, ...stretchById(asked) })
  return pageOf(rows, asked, list.listOf(asked))
}

/** Where a page by identifier begins, and how many rows tell whether it is the last. */
export function stretchById({ limit, offset = 0, cursor }: Asked) {
  return { after: cursor === undefined || cursor === 'start' ? 0 : cursor.id, limit: limit + 1, offset }
}
