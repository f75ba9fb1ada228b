import { type Kysely, sql } from 'kysely'
import { type Engine, open } from '../store/index.ts'
import { inParts } from '../store/parts.ts'
import type { Tables } from '../store/tables.ts'

/** The tables of a backup, read from the schema itself, so that a new table needs no change here. */

export interface Table {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
  /** Whether the engine numbers its rows, and never reuses a number. */
  readonly isNumbered: boolean
}

export type Row = Readonly<Record<string, string | number | null>>

/** All tables of the current schema except `migration`, each after those that it refers to. */
export async function readTables(): Promise<readonly Table[]> {
  await using empty = await open('sqlite::memory:', { busyTimeoutMs: 0 })
  const { rows } = await sql<{ name: string; sql: string }>`select name, sql from sqlite_schema
      where type = 'table' and name not like 'sqlite\\_%' escape '\\' and name <> 'migration' order by rowid`.execute(
    empty.db,
  )
  const tables: Table[] = []
  const add = async ({ name, sql: text }: { name: string; sql: string }) => {
    if (tables.some(table => table.name === name)) return
    const { rows: parents } = await sql<{ table: string }>`
        select distinct "table" from pragma_foreign_key_list(${name}) where "table" <> ${name}`.execute(empty.db)
    for (const row of rows) if (parents.some(parent => parent.table === row.name)) await add(row)
    const { rows: columns } = await sql<{ name: string; pk: number }>`
        select name, pk from pragma_table_info(${name}) order by cid`.execute(empty.db)
    tables.push({
      name,
      columns: columns.map(column => column.name),
      key: columns
        .filter(({ pk }) => pk > 0)
        .toSorted((a, b) => a.pk - b.pk)
        .map(column => column.name),
      isNumbered: /\bautoincrement\b/.test(text),
    })
  }
  for (const row of rows) await add(row)
  return tables
}

export function readRows(db: Kysely<Tables>, { name, columns, key }: Table, rowsAtOnce = MAX_BATCH_ROWS) {
  const names = sql.join(columns.map(column => sql.ref(column)))
  const keys = sql.join(key.map(column => sql.ref(column)))
  const read = async (last: Row | undefined) => {
    const after = last === undefined ? sql`` : sql`where (${keys}) > (${sql.join(key.map(column => last[column]))})`
    const { rows } = await sql<Row>`select ${names} from ${sql.table(name)} ${after}
      order by ${keys} limit ${rowsAtOnce}`.execute(db)
    return rows
  }
  return inParts(rowsAtOnce, undefined, read, row => row)
}

/** A row can take a megabyte. */
const MAX_BATCH_ROWS = 50

export async function countRows(db: Kysely<Tables>, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.count)
}

/** Removes all rows. On PostgreSQL the tables are locked until the transaction ends. */
export async function removeAllRows(db: Kysely<Tables>, engine: Engine, tables: readonly Table[]) {
  if (engine === 'postgres') {
    await sql`truncate ${sql.join(tables.map(({ name }) => sql.table(name)))}`.execute(db)
    return
  }
  for (const { name } of tables.toReversed()) await sql`delete from ${sql.table(name)}`.execute(db)
}

/** The last number that was given to a row of the table, or a larger one that a row has. */
export async function lastNumber(db: Kysely<Tables>, engine: Engine, { name }: Table): Promise<number> {
  const counter =
    engine === 'sqlite'
      ? sql`select seq as last from sqlite_sequence where name = ${name}`
      : sql`select case when is_called then last_value else last_value - 1 end as last from ${await sequenceOf(db, name)}`
  const { rows } = await sql<{ last: number | null }>`
    select max(last) as last from (${counter} union all select max(id) as last from ${sql.table(name)}) as numbers`.execute(
    db,
  )
  return rows[0]?.last ?? 0
}

/** Makes the engine number the next row after `last`. */
export async function setLastNumber(db: Kysely<Tables>, engine: Engine, { name }: Table, last: number) {
  if (engine === 'sqlite') {
    await sql`delete from sqlite_sequence where name = ${name}`.execute(db)
    await sql`insert into sqlite_sequence (name, seq) values (${name}, ${last})`.execute(db)
    return
  }
  // Unlike setval, this is undone with its transaction.
  await sql`alter sequence ${await sequenceOf(db, name)} restart with ${sql.lit(last + 1)}`.execute(db)
}

async function sequenceOf(db: Kysely<Tables>, table: string) {
  const { rows } = await sql<{ name: string }>`select pg_get_serial_sequence(${table}, 'id') as name`.execute(db)
  // The server has quoted the name if necessary.
  return sql.raw(rows[0]?.name ?? '')
}
