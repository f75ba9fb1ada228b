import { type RawBuilder, sql } from 'kysely'
import { type Query, type query, recordQuery, type Params } from '../store/query.ts'
import type { RecordName } from '../store/tables.ts'
import { byOwnerCount, ownedBy, type Owners } from '../accounts/access.ts'

/** How a list is read: as one long text, or piece by piece where that text would be too long to hold. */
export interface ListQueries<Values> {
  /** `withCursor` where a cursor may follow. */
  page(values: Values, withCursor: boolean): Query<Values, PageRow>
  rowSizes(values: Values): Query<Values, RowSizes>
  chunk(values: Values): Query<Values & Chunk, Piece>
}

/**
 * Rows of a list, joined by the engine: one long text costs much less than an object for each row. The texts are null
 * when there are none. No document has a line break in it, so one stands between two of them.
 */
export interface PageRow {
  /** On PostgreSQL also null where it would be too long; SQLite says so by an error. */
  readonly documents: string | null
  /** By commas. */
  readonly etags: string | null
  /** `<at>.<id>` of each row, by commas, where asked for; `at` is 0 in lists by identifier. */
  readonly positions: string | null
}

/** The same rows without their texts. */
export interface RowSizes extends Omit<PageRow, 'documents'> {
  /** Bytes of each text, by commas. */
  readonly sizes: string | null
}

/** Where a piece of a text begins, in characters; the first is 1. */
interface Chunk {
  readonly id: number
  readonly from: number
}

interface Piece {
  readonly text: string
  readonly etag: string
}

/** Characters of a piece: garbage of this size is collected with the young, and does not pile up. */
export const CHUNK_CHARACTERS = 60 * 1024

export const BETWEEN_DOCUMENTS = ',\n'

/** Bytes of a text from which on PostgreSQL does not join it to others. */
const LONG = 64 * 1024

interface RowsOptions<Values> {
  /** A query of rows that have `document`, `etag`, `size` and `position`, in their order. */
  readonly rows: (param: Params<Values>, width: number) => RawBuilder<unknown>
  /** The row with an identifier; it has `document` and `etag`. */
  readonly row: (param: Params<Values & Chunk>, width: number) => RawBuilder<unknown>
  readonly make: typeof query
  /** How often a query is compiled: once for each width, or only once. */
  readonly family: <Asked extends Values, Row>(
    build: (width: number) => Query<Asked, Row>,
  ) => (values: Values) => Query<Asked, Row>
}

/**
 * Joins rows in their order: both engines aggregate a sorted subquery in its order, where asking for it again would cost
 * a sort. The tests of paging hold both to it.
 */
export function listQueries<Values>({ rows, row, make, family }: RowsOptions<Values>): ListQueries<Values> {
  const etags = sql`string_agg(etag, ',') as etags`
  const positions = sql`string_agg(position, ',') as positions`
  const joined = (withCursor: boolean) =>
    family<Values, PageRow>(width =>
      make(
        param => sql`
          select ${texts(param)} as documents, ${etags}, ${withCursor ? positions : sql`null as positions`}
          from (${rows(param, width)}) as shown`,
      ),
    )
  const byOffset = joined(false)
  const byCursor = joined(true)
  return {
    page: (values, withCursor) => (withCursor ? byCursor : byOffset)(values),
    rowSizes: family<Values, RowSizes>(width =>
      make(
        param => sql`
          select ${etags}, ${positions}, string_agg(cast(size as text), ',') as sizes
          from (${rows(param, width)}) as shown`,
      ),
    ),
    chunk: family<Values & Chunk, Piece>(width =>
      make(
        param => sql`
          select substr(document, ${param('from')}, ${sql.lit(CHUNK_CHARACTERS)}) as text, etag
          from (${row(param, width)}) as shown`,
      ),
    ),
  }
}

function texts<Values>({ engine }: Params<Values>): RawBuilder<unknown> {
  const between = sql.lit(BETWEEN_DOCUMENTS)
  // SQLite is told once and for all how long a text may get.
  if (engine === 'sqlite') return sql`string_agg(document, ${between})`
  return sql`case when max(size) <= ${sql.lit(LONG)}
    then string_agg(case when size <= ${sql.lit(LONG)} then document end, ${between}) end`
}

/** What a row shows, and how many bytes of UTF-8 that is. */
type Shown = keyof typeof shown
const shown = {
  document: { document: sql`found.document`, etag: sql`found.etag`, size: sql`octet_length(found.document)` },
  summary: { document: sql`found.summary`, etag: sql`found.etag`, size: sql`octet_length(found.summary)` },
  /** A training session does not name its owner unless asked to. */
  withOwner: {
    document: sql`substr(found.document, 1, length(found.document) - 1) || ',"ownerId":' || found.owner_id || '}'`,
    etag: sql`found.etag || '-' || found.owner_id`,
    size: sql`octet_length(found.document) + octet_length(',"ownerId":' || found.owner_id)`,
  },
}

/** Where lists begin and end: rows before (`at`, `id`), not before `from`. */
export interface ListRange {
  readonly owners: readonly number[]
  readonly from: number
  readonly beforeAt: number
  readonly beforeId: number
  readonly filter: string | number
  readonly limit: number
  readonly offset: number
}

interface ListOptions {
  /** The column that must equal `filter`. */
  readonly filter?: 'passed' | 'lock_state'
  readonly show?: Shown
}

/**
 * Rows of some accounts, newest first. Each account is a stretch of an index that is already in order, so the engine
 * merges them: a page costs what it shows, whatever the accounts hold.
 */
export function newestFirst(table: RecordName, options: ListOptions = {}): ListQueries<ListRange> {
  const whole = stretches(table, options, false)
  const bounded = stretches(table, options, true)
  const of = ({ from, beforeAt }: ListRange) => (from === EVER.from && beforeAt === EVER.beforeAt ? whole : bounded)
  return {
    page: (values, withCursor) => of(values).page(values, withCursor),
    rowSizes: values => of(values).rowSizes(values),
    chunk: values => of(values).chunk(values),
  }
}

/** The stretch that holds all there is. Asked for without bounds, because each row would be compared with them. */
export const EVER = { from: Number.MIN_SAFE_INTEGER, beforeAt: Number.MAX_SAFE_INTEGER, beforeId: 0 }

function stretches(
  table: RecordName,
  { filter, show = 'document' }: ListOptions,
  isBounded: boolean,
): ListQueries<ListRange> {
  return recordLists(table, show, (param, width) => {
    const { document, etag, size } = shown[show]
    const asFound = sql`${document} as document, ${etag} as etag, ${size} as size`
    const within = (mine: RawBuilder<boolean>) => {
      const conditions = [
        mine,
        ...(filter === undefined ? [] : [sql`${sql.ref(filter)} = ${param('filter')}`]),
        ...(isBounded
          ? [sql`at >= ${param('from')}`, sql`(at, id) < (${param('beforeAt')}, ${param('beforeId')})`]
          : []),
      ]
      return sql`where ${sql.join(conditions, sql` and `)} order by at desc, id desc`
    }
    const part = sql`limit ${param('limit')} offset ${param('offset')}`
    const position = sql`at || '.' || id as position`
    const [only] = onlyOwner(param, width)
    // SQLite looks at no row that the offset passes over.
    if (only !== undefined) {
      return sql`select ${asFound}, ${position} from ${sql.table(table)} as found ${within(only)} ${part}`
    }
    return sql`
      select ${asFound}, position.at || '.' || position.id as position
      from (${merged(param, width, mine => sql`select at, id, owner_id from ${sql.table(table)} ${within(mine)}`)}
        order by at desc, id desc ${part}) as position
      join ${sql.table(table)} as found on ${isPlace(param)}
      order by position.at desc, position.id desc`
  })
}

export interface IdRange {
  readonly owners: readonly number[]
  readonly after: number
  readonly limit: number
  readonly offset: number
}

/** Rows of some accounts, by identifier. */
export function byIdentifier(table: RecordName): ListQueries<IdRange> {
  return recordLists(table, 'document', (param, width) => {
    const arm = (mine: RawBuilder<boolean>) => sql`
      select id, owner_id from ${sql.table(table)} where ${mine} and id > ${param('after')} order by id`
    const { document, etag, size } = shown.document
    return sql`
      select ${document} as document, ${etag} as etag, ${size} as size, '0.' || position.id as position
      from (${merged(param, width, arm)}
        order by id limit ${param('limit')} offset ${param('offset')}) as position
      join ${sql.table(table)} as found on ${isPlace(param)}
      order by position.id`
  })
}

function recordLists<Values extends Owners>(
  table: RecordName,
  show: Shown,
  rows: RowsOptions<Values>['rows'],
): ListQueries<Values> {
  const { document, etag } = shown[show]
  return listQueries({
    rows,
    row: (param, width) => sql`
      select ${document} as document, ${etag} as etag from ${sql.table(table)} as found
      where ${ownedBy(param, width).mine} and id = ${param('id')}`,
    make: recordQuery,
    family: build => {
      const queries = byOwnerCount(build)
      return ({ owners }) => queries(owners)
    },
  })
}

function onlyOwner<Values extends Owners>(param: Params<Values>, width: number): RawBuilder<boolean>[] {
  return param.engine === 'sqlite' && width === 1 ? ownedBy(param, width).apart : []
}

/** Whether `found` is the row that `position` names, by the primary key of its engine. */
function isPlace<Values>({ engine }: Params<Values>): RawBuilder<boolean> {
  return engine === 'sqlite'
    ? sql`found.id = position.id`
    : sql`found.owner_id = position.owner_id and found.id = position.id`
}

function merged<Values extends Owners & { limit: number; offset: number }>(
  param: Params<Values>,
  width: number,
  arm: (mine: RawBuilder<boolean>) => RawBuilder<unknown>,
) {
  // PostgreSQL merges only what comes to it in order, and what comes from another server should end with the page.
  const enough =
    param.engine === 'postgres' && width !== 1
      ? sql`limit cast(${param('limit')} as bigint) + cast(${param('offset')} as bigint)`
      : sql``
  const arms = ownedBy(param, width).apart.map(mine => sql`select * from (${arm(mine)} ${enough}) as mine`)
  return sql.join(arms, sql` union all `)
}
