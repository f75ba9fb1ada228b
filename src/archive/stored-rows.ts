import { type Kysely, sql } from 'kysely'
import type { Tables } from '../store/tables.ts'
import type { Cell, Kind, Row } from './kind.ts'

/** The stored rows with these ids, of one account if it is given, by their keys. */
export async function storedRows(
  db: Kysely<Tables>,
  kind: Kind,
  records: readonly { readonly id: number }[],
  owner?: number,
): Promise<ReadonlyMap<string, Row>> {
  if (records.length === 0) return new Map()
  const columns = sql.join(kind.columns.map(column => sql.ref(column)))
  const isOwn = owner === undefined ? sql`` : sql`and owner_id = ${owner}`
  const { rows } = await sql<Row>`select ${columns} from ${sql.table(kind.table)}
    where ${sql.ref(kind.recordColumn)} in (${sql.join([...new Set(records.map(({ id }) => id))])}) ${isOwn}`.execute(
    db,
  )
  return new Map(rows.map(row => [keyOf(kind, row), row]))
}

export async function storedIds(
  db: Kysely<Tables>,
  kind: Kind,
  records: readonly { readonly id: number }[],
): Promise<ReadonlySet<number>> {
  if (records.length === 0) return new Set()
  const { rows } = await sql<{ id: Cell }>`select ${sql.ref(kind.recordColumn)} as id from ${sql.table(kind.table)}
    where ${sql.ref(kind.recordColumn)} in (${sql.join([...new Set(records.map(({ id }) => id))])})`.execute(db)
  return new Set(rows.map(({ id }) => Number(id)))
}

export function keyOf({ key }: Kind, row: Row): string {
  return key.map(column => row[column]).join('/')
}
