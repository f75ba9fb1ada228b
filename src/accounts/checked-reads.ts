import { type RawBuilder, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { type Params, type Query, query } from '../store/query.ts'

/**
 * The last check of who sees what. Every row that is read for a caller says which query it answers, and whose it is; a row about
 * somebody else says for whom it was read. Both are compared with what was asked for, so that no mistake in a query, in a driver or in
 * a pooler shows somebody what they may not see.
 */

/** What a row says of itself: the name of its query, and in `owner_id` whose it is, or for whom it was read. */
type CheckedRow = { readonly query: string } & (
  | { readonly owner_id: number; readonly is_public?: number }
  /** Of rows that a query has joined to one: their owners, or the lowest and the highest, separated by commas; null if there are none. */
  | { readonly owners: string | null }
  /** Of a row that was found by a secret: the hash of that. */
  | { readonly hash: string }
)

export type OwnedRow = Extract<CheckedRow, { owner_id: number }>

/** Values of a query: whose rows it may return, or who asks. */
export type Asked = { readonly owner: number } | { readonly owners: readonly number[] } | { readonly hash: string }

/** A query whose rows can be checked. */
export interface CheckedQuery<Values, Row> {
  /** No other query has it. */
  readonly name: string
  readonly query: Query<Values, Row & CheckedRow>
}

/** A query that selects `query`, its name, and `owner_id`, `owners` or `hash`. */
export function checkedQuery<Values, Row>(
  name: string,
  build: (param: Params<Values>, named: RawBuilder<unknown>) => RawBuilder<unknown>,
): CheckedQuery<Values, Row> {
  const named = sql`${sql.lit(name)} as query`
  // The statement has the columns of the row.
  return { name, query: query(param => build(param, named) as RawBuilder<Row & CheckedRow>) }
}

/** A query of a table with the column `owner_id`; it selects `owned`. */
export function recordQuery<Values, Row>(
  name: string,
  build: (param: Params<Values>, owned: RawBuilder<unknown>) => RawBuilder<unknown>,
): CheckedQuery<Values, Row & OwnedRow> {
  return checkedQuery(name, (param, named) => build(param, sql`${named}, owner_id`))
}

/** Runs a query and checks its rows. Synchronous on SQLite. Throws WrongRowError, and what the store throws. */
export function readChecked<Values extends Asked, Row>(
  store: Pick<Store, 'read'>,
  { name, query }: CheckedQuery<Values, Row>,
  values: Values,
): Row[] | Promise<Row[]> {
  const rows = store.read(query, values)
  return rows instanceof Promise ? rows.then(all => checked(all, name, values)) : checked(rows, name, values)
}

/** A row that must not be shown. The message has no identifiers. */
class WrongRowError extends Error {
  override readonly name = 'WrongRowError'
}

function checked<Row>(rows: (Row & CheckedRow)[], name: string, values: Asked): Row[] {
  for (const row of rows) {
    if (row.query !== name) throw new WrongRowError(`the query "${name}" returned a row of another query`)
    if (!isAsked(row, values)) throw new WrongRowError(`the query "${name}" returned a row of somebody else`)
  }
  return rows
}

function isAsked(row: CheckedRow, values: Asked): boolean {
  if ('hash' in values) return 'hash' in row && row.hash === values.hash
  const isAllowed = (owner: number) => ('owners' in values ? values.owners.includes(owner) : owner === values.owner)
  if ('owner_id' in row) return isAllowed(row.owner_id) || row.is_public === 1
  return 'owners' in row && (row.owners === null || row.owners.split(',').every(owner => isAllowed(Number(owner))))
}
