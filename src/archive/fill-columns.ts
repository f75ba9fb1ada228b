import { type Kysely, sql } from 'kysely'
import type { RecordName, Tables } from '../store/tables.ts'
import { gradedColumns, templateColumns } from './derived-columns.ts'
import type { JsonObject } from './values.ts'

/** Recomputes the derived columns of all stored records of a table. */
export async function fillColumns(db: Kysely<Tables>, table: RecordName): Promise<void> {
  const derive = derived[table]
  if (derive === undefined) return
  let last = { owner_id: 0, id: 0 }
  for (;;) {
    const rows = await db
      .selectFrom(table)
      .select(['owner_id', 'id', 'document', 'extra'])
      .where(({ eb, refTuple, tuple }) => eb(refTuple('owner_id', 'id'), '>', tuple(last.owner_id, last.id)))
      .orderBy('owner_id')
      .orderBy('id')
      .limit(ROWS_AT_ONCE)
      .execute()
    const [first] = rows
    if (first === undefined) return
    // The archive wrote each of these as JSON of an object.
    const columns = rows.map(({ document, extra }) =>
      derive(JSON.parse(document) as JsonObject, JSON.parse(extra ?? '{}') as JsonObject),
    )
    await update(db, table, rows, columns)
    last = rows.at(-1) ?? first
  }
}

const derived: Partial<
  Record<keyof Tables, (record: JsonObject, extra: JsonObject) => Readonly<Record<string, Cell>>>
> = {
  lock_template: templateColumns,
  training_session: (record, extra) => {
    const { grade, kinds } = gradedColumns(record, extra)
    return { grade, kinds }
  },
}

type Cell = string | number | null

const ROWS_AT_ONCE = 200

async function update(
  db: Kysely<Tables>,
  table: keyof Tables,
  rows: readonly { readonly owner_id: number; readonly id: number }[],
  columns: readonly Readonly<Record<string, Cell>>[],
) {
  const names = Object.keys(columns[0] ?? {})
  const values = rows.map(({ owner_id, id }, index) => {
    const cells = names.map(name => typed(name, columns[index]?.[name] ?? null))
    return sql`(${sql.join([typed('id', owner_id), typed('id', id), ...cells])})`
  })
  const changes = names.map(name => sql`${sql.ref(name)} = ${sql.ref(`filled.${name}`)}`)
  await sql`
    with filled (owner_id, id, ${sql.join(names.map(name => sql.ref(name)))}) as (values ${sql.join(values)})
    update ${sql.table(table)} set ${sql.join(changes)} from filled
    where ${sql.ref(`${table}.owner_id`)} = filled.owner_id and ${sql.ref(`${table}.id`)} = filled.id`.execute(db)
}

/** PostgreSQL treats parameters as text unless they are cast. */
function typed(name: string, cell: Cell) {
  return name === 'kinds' ? sql`cast(${cell} as text)` : sql`cast(${cell} as bigint)`
}
