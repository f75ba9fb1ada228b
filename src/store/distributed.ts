import { type Kysely, sql } from 'kysely'
import type pg from 'pg'
import { StoreError } from './store.ts'
import type { Tables } from './tables.ts'

/** Records that are distributed to several servers by their owner, with Citus. */

async function isDistributed(execute: (text: string) => Promise<{ rows: unknown[] }>): Promise<boolean> {
  const installed = await execute(`select 1 where to_regclass('pg_catalog.pg_dist_partition') is not null`)
  if (installed.rows.length === 0) return false
  const { rows } = await execute(`select 1 from pg_catalog.pg_dist_partition
    where logicalrelid = to_regclass('training_session') and partmethod = 'h'`)
  return rows.length > 0
}

/** Throws StoreError if the tables are distributed: one transaction cannot empty and fill all of them. */
export async function requireOneServer(db: Kysely<Tables>): Promise<void> {
  if (!(await isDistributed(text => sql.raw(text).execute(db)))) return
  throw new StoreError(
    'the tables of the database are distributed: name one whose tables are not, and distribute them afterwards',
  )
}

/** Whether records are distributed; if so, a new connection gets no generic plans, which cannot be distributed. */
export async function allowDistributedPlans(client: pg.ClientBase): Promise<boolean> {
  const found = await isDistributed(text => client.query(text))
  if (found) await client.query('set plan_cache_mode = force_custom_plan')
  return found
}

/**
 * Runs work that joins records with temporary tables. Distributed records cannot be joined with them, so the named records are copied
 * to temporary tables of the same names. What the work changes there is written back.
 */
export async function withLocalRecords<Result>(
  db: Kysely<Tables>,
  /** Their table, and a query that returns their ids. */
  records: readonly { readonly table: string; readonly ids: string }[],
  work: () => Promise<Result>,
): Promise<Result> {
  if (!(await isDistributed(text => sql.raw(text).execute(db)))) return work()
  // After parallel writes to the servers, a later statement of the transaction may not see all that was written.
  await run(db, `set local citus.multi_shard_modify_mode = 'sequential'`)
  const schema = await schemaOf(db)
  for (const { table, ids } of records) {
    await run(
      db,
      `create temporary table ${originalOf(table)} as select * from ${schema}.${table} where id in (select id from (${ids}) as wanted)`,
    )
    await run(db, `create temporary table ${table} as table ${originalOf(table)}`)
    await run(db, `alter table pg_temp.${table} add primary key (owner_id, id)`)
    await run(db, `create index on pg_temp.${table} (id)`)
  }
  try {
    const result = await work()
    for (const { table } of records) await writeBack(db, schema, table)
    return result
  } finally {
    // So that their names mean the records again. If the transaction has failed, its rollback drops them.
    for (const { table } of records)
      await run(db, `drop table if exists pg_temp.${table}, pg_temp.${originalOf(table)}`).catch(() => {})
  }
}

async function writeBack(db: Kysely<Tables>, schema: string, table: string) {
  const names = await columnsOf(db, table)
  const columns = names.join(', ')
  const rest = names.filter(name => name !== 'owner_id' && name !== 'id')
  await run(
    db,
    `delete from ${schema}.${table} where (owner_id, id) in (
      select owner_id, id from pg_temp.${originalOf(table)} except select owner_id, id from pg_temp.${table})`,
  )
  await run(
    db,
    `insert into ${schema}.${table} (${columns})
      select ${columns} from (table pg_temp.${table} except table pg_temp.${originalOf(table)}) as changed
      on conflict (owner_id, id) do update set ${rest.map(name => `${name} = excluded.${name}`).join(', ')}`,
  )
}

/** The copy that stays unchanged, to find what the work has changed. */
function originalOf(table: string): string {
  return `stored_${table}`
}

async function schemaOf(db: Kysely<Tables>): Promise<string> {
  const { rows } = await sql<{ name: string }>`select quote_ident(nspname) as name
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where pg_class.oid = to_regclass('training_session')`.execute(db)
  return rows[0]?.name ?? 'public'
}

async function columnsOf(db: Kysely<Tables>, table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select quote_ident(attname) as name from pg_attribute
    where attrelid = to_regclass(${`pg_temp.${table}`}) and attnum > 0 and not attisdropped order by attnum`.execute(db)
  return rows.map(({ name }) => name)
}

async function run(db: Kysely<Tables>, statement: string) {
  await sql.raw(statement).execute(db)
}
