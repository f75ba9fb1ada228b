import { type RawBuilder, sql } from 'kysely'
import { type Query, type query, recordQuery, type Slots } from '../store/query.ts'
import type { RecordName } from '../store/tables.ts'
import { byWidth, ownedBy, type Owners } from './access.ts'

/** How a list is read: as one long text, or piece by piece where that text would be too long to hold. */
export interface ListQueries<Values> {
  /** `placed` where a cursor may follow. */
  joined(values: Values, placed: boolean): Query<Values, Joined>
  listed(values: Values): Query<Values, Listed>
  piece(values: Values): Query<Values & PieceOfRow, Piece>
}

/**
 * Rows of a list, joined by the engine: one long text costs much less than an object for each row. The texts are null
 * when there are none. No document has a line break in it, so one stands between two of them.
 */
export interface Joined {
  /** On PostgreSQL also null where it would be too long; SQLite says so by an error. */
  readonly documents: string | null
  /** By commas. */
  readonly etags: string | null
  /** `<at>.<id>` of each row, by commas, where asked for; `at` is 0 in lists by identifier. */
  readonly places: string | null
}

/** The same rows without their texts. */
export interface Listed extends Omit<Joined, 'documents'> {
  /** Bytes of each text, by commas. */
  readonly sizes: string | null
}

/** Where a piece of a text begins, in characters; the first is 1. */
interface PieceOfRow {
  readonly id: number
  readonly from: number
}

interface Piece {
  readonly text: string
  readonly etag: string
}

/** Characters of a piece: garbage of this size is collected with the young, and does not pile up. */
export const PIECE = 60 * 1024

export const BETWEEN_DOCUMENTS = ',\n'

/** Bytes of a text from which on PostgreSQL does not join it to others. */
const LONG = 64 * 1024

interface RowsOptions<Values> {
  /** A query of rows that have `document`, `etag`, `size` and `place`, in their order. */
  readonly rows: (slot: Slots<Values>, width: number) => RawBuilder<unknown>
  /** The row with an identifier; it has `document` and `etag`. */
  readonly row: (slot: Slots<Values & PieceOfRow>, width: number) => RawBuilder<unknown>
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
  const places = sql`string_agg(place, ',') as places`
  const joined = (placed: boolean) =>
    family<Values, Joined>(width =>
      make(
        slot => sql`
          select ${texts(slot)} as documents, ${etags}, ${placed ? places : sql`null as places`}
          from (${rows(slot, width)}) as shown`,
      ),
    )
  const byOffset = joined(false)
  const byCursor = joined(true)
  return {
    joined: (values, placed) => (placed ? byCursor : byOffset)(values),
    listed: family<Values, Listed>(width =>
      make(
        slot => sql`
          select ${etags}, ${places}, string_agg(cast(size as text), ',') as sizes
          from (${rows(slot, width)}) as shown`,
      ),
    ),
    piece: family<Values & PieceOfRow, Piece>(width =>
      make(
        slot => sql`
          select substr(document, ${slot('from')}, ${sql.lit(PIECE)}) as text, etag
          from (${row(slot, width)}) as shown`,
      ),
    ),
  }
}

function texts<Values>({ engine }: Slots<Values>): RawBuilder<unknown> {
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
export interface Stretch {
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
export function newestFirst(table: RecordName, options: ListOptions = {}): ListQueries<Stretch> {
  const whole = stretches(table, options, false)
  const bounded = stretches(table, options, true)
  const of = ({ from, beforeAt }: Stretch) => (from === EVER.from && beforeAt === EVER.beforeAt ? whole : bounded)
  return {
    joined: (values, placed) => of(values).joined(values, placed),
    listed: values => of(values).listed(values),
    piece: values => of(values).piece(values),
  }
}

/** The stretch that holds all there is. Asked for without bounds, because each row would be compared with them. */
export const EVER = { from: Number.MIN_SAFE_INTEGER, beforeAt: Number.MAX_SAFE_INTEGER, beforeId: 0 }

function stretches(
  table: RecordName,
  { filter, show = 'document' }: ListOptions,
  isBounded: boolean,
): ListQueries<Stretch> {
  return recordLists(table, show, (slot, width) => {
    const { document, etag, size } = shown[show]
    const asFound = sql`${document} as document, ${etag} as etag, ${size} as size`
    const within = (mine: RawBuilder<boolean>) => {
      const conditions = [
        mine,
        ...(filter === undefined ? [] : [sql`${sql.ref(filter)} = ${slot('filter')}`]),
        ...(isBounded ? [sql`at >= ${slot('from')}`, sql`(at, id) < (${slot('beforeAt')}, ${slot('beforeId')})`] : []),
      ]
      return sql`where ${sql.join(conditions, sql` and `)} order by at desc, id desc`
    }
    const part = sql`limit ${slot('limit')} offset ${slot('offset')}`
    const place = sql`at || '.' || id as place`
    const [only] = onlyOwner(slot, width)
    // SQLite looks at no row that the offset passes over.
    if (only !== undefined) {
      return sql`select ${asFound}, ${place} from ${sql.table(table)} as found ${within(only)} ${part}`
    }
    return sql`
      select ${asFound}, place.at || '.' || place.id as place
      from (${merged(slot, width, mine => sql`select at, id, owner_id from ${sql.table(table)} ${within(mine)}`)}
        order by at desc, id desc ${part}) as place
      join ${sql.table(table)} as found on ${isPlace(slot)}
      order by place.at desc, place.id desc`
  })
}

export interface IdStretch {
  readonly owners: readonly number[]
  readonly after: number
  readonly limit: number
  readonly offset: number
}

/** Rows of some accounts, by identifier. */
export function byIdentifier(table: RecordName): ListQueries<IdStretch> {
  return recordLists(table, 'document', (slot, width) => {
    const arm = (mine: RawBuilder<boolean>) => sql`
      select id, owner_id from ${sql.table(table)} where ${mine} and id > ${slot('after')} order by id`
    const { document, etag, size } = shown.document
    return sql`
      select ${document} as document, ${etag} as etag, ${size} as size, '0.' || place.id as place
      from (${merged(slot, width, arm)}
        order by id limit ${slot('limit')} offset ${slot('offset')}) as place
      join ${sql.table(table)} as found on ${isPlace(slot)}
      order by place.id`
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
    row: (slot, width) => sql`
      select ${document} as document, ${etag} as etag from ${sql.table(table)} as found
      where ${ownedBy(slot, width).mine} and id = ${slot('id')}`,
    make: recordQuery,
    family: build => {
      const queries = byWidth(build)
      return ({ owners }) => queries(owners)
    },
  })
}

function onlyOwner<Values extends Owners>(slot: Slots<Values>, width: number): RawBuilder<boolean>[] {
  return slot.engine === 'sqlite' && width === 1 ? ownedBy(slot, width).apart : []
}

/** Whether `found` is the row that `place` names, by the primary key of its engine. */
function isPlace<Values>({ engine }: Slots<Values>): RawBuilder<boolean> {
  return engine === 'sqlite' ? sql`found.id = place.id` : sql`found.owner_id = place.owner_id and found.id = place.id`
}

function merged<Values extends Owners & { limit: number; offset: number }>(
  slot: Slots<Values>,
  width: number,
  arm: (mine: RawBuilder<boolean>) => RawBuilder<unknown>,
) {
  // PostgreSQL merges only what comes to it in order, and what comes from another server should end with the page.
  const enough =
    slot.engine === 'postgres' && width !== 1
      ? sql`limit cast(${slot('limit')} as bigint) + cast(${slot('offset')} as bigint)`
      : sql``
  const arms = ownedBy(slot, width).apart.map(mine => sql`select * from (${arm(mine)} ${enough}) as mine`)
  return sql.join(arms, sql` union all `)
}
