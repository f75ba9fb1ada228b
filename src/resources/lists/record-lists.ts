import { type RawBuilder, sql } from 'kysely'
import {
  type Access,
  type AccessForm,
  accessFormName,
  accessForm,
  isOfOwners,
  isReadable,
  isReadableByOwner,
} from '../../accounts/access.ts'
import type { Params } from '../../store/query.ts'
import type { RecordName, Tables } from '../../store/tables.ts'
import { type PageQueries, pageQueries, type RowSource } from './page-queries.ts'
import { viewName, recordColumns, type RecordView } from '../record-queries.ts'

export interface RecordList<Table extends RecordName = RecordName> extends RecordView {
  readonly table: Table
  readonly order: 'newest' | 'id'
  readonly filters?: Filters<Table>
}

/** Values that columns must equal; undefined does not filter. */
type Filters<Table extends RecordName> = {
  readonly [Column in FilterColumn<Table>]?: NonNullable<Tables[Table][Column]> | undefined
}

type FilterColumn<Table extends RecordName> = Exclude<
  keyof Tables[Table] & string,
  'id' | 'owner_id' | 'at' | 'document' | 'summary' | 'etag' | 'extra'
>

type FilterValue = string | number

/** The part of a list that a page shows. */
export interface ListRange {
  /** For a list in order of time: rows from `from` on, and before (`beforeAt`, `beforeId`). */
  readonly from?: number | undefined
  readonly beforeAt?: number | undefined
  readonly beforeId?: number
  /** For a list in order of identifiers: rows after this one. */
  readonly after?: number
  readonly limit: number
  readonly offset: number
}

type ListValues = Access &
  Readonly<Record<'from' | 'beforeAt' | 'beforeId' | 'after' | 'limit' | 'offset', number>> & {
    /** The values of the filters, in the order of their columns. */
    readonly filters: readonly FilterValue[]
  }

/**
 * The queries of a page of records, built once for each form of a list, and the values of this page. The form is the table,
 * the columns shown and filtered, the order, whether it is bounded, and the form of the access.
 */
export function pageOfRecords(list: RecordList, access: Access, range: ListRange) {
  const { from = UNBOUNDED.from, beforeAt = UNBOUNDED.beforeAt, beforeId = 0, after = 0, limit, offset } = range
  const filters = Object.entries<FilterValue | undefined>(list.filters ?? {}).filter(isSet)
  const form: ListForm = {
    view: list,
    order: list.order,
    filtered: filters.map(([column]) => column),
    isBounded: from !== UNBOUNDED.from || beforeAt !== UNBOUNDED.beforeAt,
    access: accessForm(access),
  }
  const name = `${viewName(list)} ${form.order} ${form.filtered.join()} ${form.isBounded} ${accessFormName(form.access)}`
  const bounds = { from, beforeAt, beforeId, after, limit, offset }
  const values: ListValues = { ...access, ...bounds, filters: filters.map(([, value]) => value) }
  return { name, queries: recordLists.getOrInsertComputed(name, () => pageQueries(recordsOf(name, form))), values }
}

/** Everything that the queries of a list depend on. */
interface ListForm {
  readonly view: RecordView
  readonly order: 'newest' | 'id'
  readonly filtered: readonly string[]
  /** Whether the instants are bounded; if not, the query does not compare them. */
  readonly isBounded: boolean
  readonly access: AccessForm
}

function isSet(filter: [string, FilterValue | undefined]): filter is [string, FilterValue] {
  return filter[1] !== undefined
}

const UNBOUNDED = { from: Number.MIN_SAFE_INTEGER, beforeAt: Number.MAX_SAFE_INTEGER }

const recordLists = new Map<string, PageQueries<ListValues>>()

function recordsOf(name: string, form: ListForm): RowSource<ListValues> {
  const { view, access } = form
  const { document, etag } = recordColumns(view)
  return {
    name,
    rows: param => {
      const isOneRange = param.engine === 'sqlite' && access.owners === 1 && form.order === 'newest'
      return isOneRange ? rowsOfOne(form, param) : mergedRows(form, param)
    },
    row: param => sql`
      select owner_id, ${document} as document, ${etag} as etag from ${sql.table(view.table)} as record
      where ${isReadable(param, access)} and id = ${param('id')}`,
    ...(access.isLimited ? {} : { revisions: param => revisionsOf(view.table, param, access) }),
    ofOneOwner: access.owners === 1,
  }
}

/**
 * The revisions of all owners, in any order. They change with every row of an owner; where some rows must not be seen, the
 * validator follows from the others.
 */
function revisionsOf(table: RecordName, param: Params<Access>, form: AccessForm): RawBuilder<unknown> {
  return sql`
    select id as owner_id, cast(id as text) || '.' || cast(${sql.ref(`${table}_revision`)} as text) as revision
    from account where ${isOfOwners(param, form, sql`id`)}`
}

/** The rows of one owner, along an index. SQLite reads no row that the offset skips. */
function rowsOfOne(form: ListForm, param: Params<ListValues>): RawBuilder<unknown> {
  const { view } = form
  return sql`
    select ${shownColumns(view)}, at || '.' || id as position
    from ${sql.table(view.table)} as record ${selection(form, param, isReadable(param, form.access))}
    limit ${param.count('limit')} offset ${param.count('offset')}`
}

/**
 * The rows of several owners. Those of each owner are read along an index, in order, and the engine merges them. So the cost
 * of a page does not depend on how many records the accounts have.
 */
function mergedRows(form: ListForm, param: Params<ListValues>): RawBuilder<unknown> {
  const { view, order, access } = form
  const table = sql.table(view.table)
  const keys = order === 'newest' ? sql`at, id, owner_id` : sql`id, owner_id`
  const isPositioned =
    param.engine === 'sqlite'
      ? sql`record.id = position.id`
      : sql`record.owner_id = position.owner_id and record.id = position.id`
  // PostgreSQL merges only ordered subqueries, and one of another server should not return more rows than the page needs.
  const limit =
    param.engine === 'postgres' && access.owners !== 1
      ? sql`limit cast(${param('limit')} as bigint) + cast(${param('offset')} as bigint)`
      : sql``
  // Rows of several servers are joined in their order only if the ordered query ends with a limit or an offset.
  const end = param.onOneServer(sql``, sql`offset 0`)
  const branches = isReadableByOwner(param, access).map(
    readable => sql`select * from (select ${keys} from ${table} ${selection(form, param, readable)} ${limit}) as owned`,
  )
  return sql`
    select ${shownColumns(view)}, ${order === 'newest' ? sql`position.at` : sql`'0'`} || '.' || position.id as position
    from (${sql.join(branches, sql` union all `)}
      order by ${ordering(order)} limit ${param.count('limit')} offset ${param.count('offset')}) as position
    join ${table} as record on ${isPositioned} ${onServersOf(access.owners, param)}
    order by ${ordering(order, 'position.')} ${end}`
}

/** Keeps a join of several owners away from servers that have nothing of them. */
function onServersOf(owners: AccessForm['owners'], param: Params<ListValues>): RawBuilder<unknown> {
  if (owners === 'many') return sql``
  return param.onOneServer(
    sql``,
    sql`and record.owner_id in (${sql.join(param.each(access => access.owners, owners))})`,
  )
}

/** The rows that belong to the list, in its order. */
function selection(
  { order, filtered, isBounded }: ListForm,
  param: Params<ListValues>,
  readable: RawBuilder<boolean>,
): RawBuilder<unknown> {
  const values = param.each(({ filters }) => filters, filtered.length)
  const conditions = [
    readable,
    ...filtered.map((column, index) => sql`${sql.ref(column)} = ${values[index]}`),
    ...(order === 'id' ? [sql`id > ${param('after')}`] : []),
    ...(isBounded ? [sql`at >= ${param('from')}`, sql`(at, id) < (${param('beforeAt')}, ${param('beforeId')})`] : []),
  ]
  return sql`where ${sql.join(conditions, sql` and `)} order by ${ordering(order)}`
}

function ordering(order: 'newest' | 'id', table: '' | 'position.' = ''): RawBuilder<unknown> {
  const id = sql.ref(`${table}id`)
  return order === 'newest' ? sql`${sql.ref(`${table}at`)} desc, ${id} desc` : id
}

function shownColumns(view: RecordView): RawBuilder<unknown> {
  const { document, etag, size } = recordColumns(view)
  return sql`record.owner_id, ${document} as document, ${etag} as etag, ${size} as size`
}
