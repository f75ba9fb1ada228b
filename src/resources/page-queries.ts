import { type RawBuilder, sql } from '../vendor/kysely.js'
import type { Engine } from '../store/index.ts'
import { type Params, type Query, query } from '../store/query.ts'

/** The queries of a page: as one long text, or in chunks if that text would take too much memory. */
export interface PageQueries<Values> {
  readonly page: Query<Values, PageRow>
  readonly pageWithCursor: Query<Values, PageRow>
  readonly rowSizes: Query<Values, RowSizes>
  /** Undefined for a list whose validators follow from its rows. */
  readonly revisions: Query<Values, Pick<PageRow, 'revisions'>> | undefined
  readonly chunk: Query<Values & Chunk, ChunkRow>
}

/**
 * Rows of a list, joined by the engine: one long text costs much less than an object for each row. The texts are null
 * when there are none. Documents are separated by a comma and a line break, which no document contains.
 */
export interface PageRow {
  readonly count: number
  /** On PostgreSQL also null if it would be too long; SQLite throws TooLongError then. */
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

interface ChunkRow {
  readonly text: string
  readonly etag: string
}

/** Chunks of this size are garbage collected with the young generation and do not accumulate. */
export const CHUNK_CHARACTERS = 60 * 1024

export const DOCUMENT_SEPARATOR = ',\n'

/** The rows of a list. */
export interface RowSource<Values> {
  /** A query of rows that have `document`, `etag`, `size` and `position`, in their order. */
  readonly rows: (param: Params<Values>) => RawBuilder<unknown>
  /** The row with an identifier; it has `document` and `etag`. */
  readonly row: (param: Params<Values & Chunk>) => RawBuilder<unknown>
  /** A text that changes whenever a row of the list does, even one that the page does not show. */
  readonly revisions?: (param: Params<Values>) => RawBuilder<unknown>
  /** Whether a replica has the rows. */
  readonly onlyRecords: boolean
}

/**
 * Joins rows in their order. Both engines aggregate a sorted subquery in its order, which the tests of paging check; an
 * explicit order would cost another sort.
 */
export function pageQueries<Values>({ rows, row, revisions, onlyRecords }: RowSource<Values>): PageQueries<Values> {
  const etags = sql`string_agg(etag, ',') as etags`
  const positions = sql`string_agg(position, ',') as positions`
  // Read in the statement of the rows, so that both are of one moment. Several servers have none in common: there, the validators
  // of the rows take the place of revisions.
  const revision = (param: Params<Values>) => {
    if (revisions === undefined) return sql`null`
    return param.isDistributed ? sql`string_agg(etag, ',')` : sql`(${revisions(param)})`
  }
  const counted = (param: Params<Values>) => sql`count(*) as count, ${revision(param)} as revisions`
  const shownEtags = revisions === undefined ? etags : sql`null as etags`
  const page = (shownPositions: RawBuilder<unknown>) =>
    query<Values, PageRow>(
      param => sql`
        select ${documents(param.engine)} as documents, ${shownEtags}, ${shownPositions}, ${counted(param)}
        from (${rows(param)}) as page`,
      onlyRecords,
    )
  return {
    page: page(sql`null as positions`),
    pageWithCursor: page(positions),
    rowSizes: query(
      param => sql`
        select ${etags}, ${positions}, string_agg(cast(size as text), ',') as sizes, ${counted(param)}
        from (${rows(param)}) as page`,
      onlyRecords,
    ),
    revisions:
      revisions &&
      query(
        param => sql`select ${param.isDistributed ? sql`null` : sql`(${revisions(param)})`} as revisions`,
        onlyRecords,
      ),
    chunk: query(
      param => sql`
        select substr(document, ${param('start')}, ${sql.lit(CHUNK_CHARACTERS)}) as text, etag
        from (${row(param)}) as page`,
      onlyRecords,
    ),
  }
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
