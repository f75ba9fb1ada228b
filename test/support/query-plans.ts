import assert from 'node:assert/strict'
import pg from 'pg'
import type { Store } from '../../src/store/index.ts'
import { planning } from '../../src/store/postgres.ts'
import { compile, type Query } from '../../src/store/query.ts'
import { connect } from './postgres.ts'
import { sql } from 'kysely'
import { importArchive } from '../../src/archive/import.ts'
import { recordTables } from '../../src/store/tables.ts'
import { filteredColumns } from './parameters.ts'
import { account, oneOfEach } from './records.ts'
import { archiveOf } from './service.ts'

/** The reads of a store, and their plans on PostgreSQL. */

export interface RecordedRead {
  readonly query: Query<never, unknown>
  readonly values: object
}

/** A store that notes each compiled read in `asked`. */
export function watch(store: Store): { watched: Store; asked: RecordedRead[] } {
  const asked: RecordedRead[] = []
  const watched: Store = {
    ...store,
    read(query, values) {
      asked.push({ query, values })
      return store.read(query, values)
    },
  }
  return { watched, asked }
}

/**
 * Enough rows to notice a scan: accounts, and copies of one record of each kind that are spread over some of them. The readers read
 * all accounts of a lower number than theirs. What is changed is said in the SQL of both engines, for row `n`.
 */
export async function spreadRecords(
  store: Store,
  { rows, owners, readers, changed }: { rows: number; owners: number; readers: readonly number[]; changed: Cells },
) {
  const one = rows + 1
  await importArchive(store, archiveOf([account(one, 'one'), ...oneOfEach(one, one)]))
  const numbers = `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${rows})`
  await store.db.transaction().execute(async db => {
    const copy = async (table: string, given: Cells) => {
      const found = await sql<object>`select * from ${sql.table(table)} where id = ${one}`.execute(db)
      const names = Object.keys(found.rows[0] ?? {})
      const cells: Cells = { ...changed, ...given, id: 'n' }
      await sql
        .raw(
          `${numbers} insert into ${table} (${names.join(', ')})
           select ${names.map(name => cells[name] ?? name).join(', ')} from numbers, (select * from ${table} where id = ${one}) as one`,
        )
        .execute(db)
    }
    await copy('account', { username: "'user-' || n" })
    for (const reader of readers) {
      const links = `select n, ${reader} from numbers where n < ${reader}`
      await sql.raw(`${numbers} insert into partnership (owner_id, partner_id) ${links}`).execute(db)
    }
    for (const table of recordTables)
      await copy(table, { owner_id: `1 + (n - 1) % ${owners}`, at: 'n % 20000', ...filteredColumns[table] })
  })
}

type Cells = Readonly<Record<string, string>>

/** A connection that plans reads as those of a service are. */
export async function connectAsReader(url: string): Promise<pg.Client> {
  const client = await connect(url)
  for (const [name, value] of Object.entries(planning)) await client.query(`set ${name} = ${value}`)
  return client
}

export interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/** Runs a read and returns its plan with actual numbers of rows. */
export async function planOf(client: pg.Client, { db }: Store, { query, values }: RecordedRead): Promise<Plan> {
  const { sql: text, parameters } = compile(db, 'postgres', query)
  const given = parameters(values).map(value => (typeof value === 'string' ? pg.escapeLiteral(value) : String(value)))
  await client.query(`prepare asked as ${text}`)
  try {
    const execute = given.length === 0 ? 'execute asked' : `execute asked (${given.join(', ')})`
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `explain (analyze, format json, timing off) ${execute}`,
    )
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    assert(plan !== undefined)
    return plan
  } finally {
    await client.query('deallocate asked')
  }
}

export function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan
  for (const child of plan.Plans ?? []) yield* nodesOf(child)
}
