import { type RawBuilder, sql } from 'kysely'
import type { Engine } from '../../store/index.ts'
import { checkedQuery, type CheckedQuery } from '../../accounts/access.ts'
import type { Params } from '../../store/query.ts'

/** The queries of a page: as one long text, or in chunks if that text would take too much memory. */
export interface PageQueries<Values> {
  readonly page: CheckedQuery<Values, PageRow>
  readonly pageWithCursor: CheckedQuery<Values, PageRow>
  readonly rowSizes: CheckedQuery<Values, RowSizes>
  /** Undefined for a list whose validators follow from its rows. */
  readonly revisions: CheckedQuery<Values, Pick<PageRow, 'revisions'>> | undefined
  readonly chunk: CheckedQuery<Values & Chunk, { readonly text: string; readonly etag: string }>
}

/**
 * Rows of a list, joined by the engine: one long text costs much less than an object for each row. The texts are null
 * when there are none. Documents are separated by a comma and a line break, which no document contains.
 */
export interface PageRow {
  readonly count: number
  /** Null if `count` is 0; on PostgreSQL also with another count, if it would be too long. SQLite throws TooLongError then. */
  readonly documents: string | null
  /** Separated by commas; null in a list that has revisions. */
  readonly etags: string | null
  /** `<at>.<id>` of each row, separated by commas; only with a cursor. `at` is 0 in lists by identifier. */
  readonly positions: string | null
  /** The revisions of the list as these rows were read; null if it has none. */
  readonly revisions: string | null
}

/** The same rows without their texts. */
export interface RowSizes extends Omit<PageRow, 'documents'> {
  /** Bytes of each text, separated by commas. */
  readonly sizes: string | null
}

/** Where a chunk of a text begins, in characters; the first is 1. */
interface Chunk {
  readonly id: number
  readonly start: number
}

/** Chunks of this size are garbage collected with the young generation and do not accumulate. */
export const CHUNK_CHARACTERS = 60 * 1024

export const DOCUMENT_SEPARATOR = ',\n'

export interface RowSource<Values> {
  /** No other list has it. */
  readonly name: string
  /** A query of rows that have `owner_id`, `document`, `etag`, `size` and `position`, in their order. */
  readonly rows: (param: Params<Values>) => RawBuilder<unknown>
  /** The row with an identifier; it has `owner_id`, `document` and `etag`. */
  readonly row: (param: Params<Values & Chunk>) => RawBuilder<unknown>
  /** A query of rows with `owner_id` and a `revision`, which change whenever a row of the list does, even one that the page does not show. */
  readonly revisions?: (param: Params<Values>) => RawBuilder<unknown>
  /** Whether only one owner is allowed. Then the lowest and the highest say whose the rows are; otherwise all are named. */
  readonly ofOneOwner?: boolean
}

/**
 * Joins rows in their order. Both engines aggregate a sorted subquery in its order, which the tests of paging check; an
 * explicit order would cost another sort.
 */
export function pageQueries<Values>({
  name,
  rows,
  row,
  revisions,
  ofOneOwner = false,
}: RowSource<Values>): PageQueries<Values> {
  const owners = ofOneOwner
    ? sql`cast(min(owner_id) as text) || ',' || cast(max(owner_id) as text)`
    : sql`string_agg(cast(owner_id as text), ',')`
  const joinedRevisions = ofOneOwner ? sql`revision` : sql`string_agg(revision, ',')`
  const etags = sql`string_agg(etag, ',') as etags`
  const positions = sql`string_agg(position, ',') as positions`
  // Read in the statement of the rows, so that both are of one moment. Several servers have none in common: there, the validators
  // of the rows take the place of revisions.
  const revision = (param: Params<Values>) => {
    if (revisions === undefined) return sql`null`
    return param.onOneServer(
      sql`(select ${joinedRevisions} from (${revisions(param)}) as revised)`,
      sql`string_agg(etag, ',')`,
    )
  }
  const counted = (param: Params<Values>) => sql`count(*) as count, ${revision(param)} as revisions`
  const shownEtags = revisions === undefined ? etags : sql`null as etags`
  const page = (part: string, shownPositions: RawBuilder<unknown>) =>
    checkedQuery<Values, PageRow>(
      `${part} of ${name}`,
      (param, named) => sql`
        select ${named}, ${owners} as owners, ${documents(param.engine)} as documents, ${shownEtags}, ${shownPositions}, ${counted(param)}
        from (${rows(param)}) as page`,
    )
  return {
    page: page('page', sql`null as positions`),
    pageWithCursor: page('page with cursor', positions),
    rowSizes: checkedQuery(
      `sizes of ${name}`,
      (param, named) => sql`
        select ${named}, ${owners} as owners, ${etags}, ${positions}, string_agg(cast(size as text), ',') as sizes, ${counted(param)}
        from (${rows(param)}) as page`,
    ),
    revisions:
      revisions && checkedQuery(`revisions of ${name}`, (...built) => revisionsAlone(ofOneOwner, revisions, ...built)),
    chunk: checkedQuery(
      `chunk of ${name}`,
      (param, named) => sql`
        select ${named}, owner_id, substr(document, ${param('start')}, ${sql.lit(CHUNK_CHARACTERS)}) as text, etag
        from (${row(param)}) as page`,
    ),
  }
}

function revisionsAlone<Values>(
  ofOneOwner: boolean,
  rows: (param: Params<Values>) => RawBuilder<unknown>,
  param: Params<Values>,
  named: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const columns = ofOneOwner
    ? sql`cast(owner_id as text) as owners, revision as revisions`
    : sql`string_agg(cast(owner_id as text), ',') as owners, string_agg(revision, ',') as revisions`
  return param.onOneServer(
    sql`select ${named}, ${columns} from (${rows(param)}) as revised`,
    sql`select ${named}, null as owners, null as revisions`,
  )
}

/** PostgreSQL does not join longer texts. */
const MAX_JOINED_TEXT_BYTES = 64 * 1024

function documents(engine: Engine): RawBuilder<unknown> {
  const separator = sql.lit(DOCUMENT_SEPARATOR)
  // On SQLite, `limits.length` of the connection bounds the text.
  if (engine === 'sqlite') return sql`string_agg(document, ${separator})`
  const longest = sql.lit(MAX_JOINED_TEXT_BYTES)
  return sql`case when max(size) <= ${longest}
    then string_agg(case when size <= ${longest} then document end, ${separator}) end`
}
