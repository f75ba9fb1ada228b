import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { pullJob, renameJob } from '../jobs/jobs.ts'
import type { Store } from '../store/index.ts'
import { recordTables, type Tables } from '../store/tables.ts'
import { accountRow } from './accounts.ts'
import { noteGrantChange } from './grants.ts'
import { isRemoved } from './removal.ts'
import { Refusal } from '../contract/refusal.ts'

/** Whether an account has neither records nor a source. */
export async function isUnused({ db }: Pick<Store, 'db'>, accountId: number): Promise<boolean> {
  const owners = recordTables.map(name => sql`exists (select 1 from ${sql.table(name)} where owner_id = ${accountId})`)
  const { rows } = await sql`select 1 where ${sql.join(owners, sql` or `)}
    or exists (select 1 from pull_source where account_id = ${accountId})`.execute(db)
  return rows.length === 0
}

/**
 * Gives an unused account the id that its owner has in the records that are about to come, with everything that belongs to it.
 * `within` runs last in the same transaction. Throws Refusal if it has records or a source by now, or if the id is taken or was
 * removed here.
 */
export async function renumberAccount(
  store: Store,
  from: number,
  to: number,
  within?: (db: Kysely<Tables>, id: number) => Promise<void>,
): Promise<void> {
  await store.db.transaction().execute(async db => {
    const account = await db.selectFrom('account').selectAll().where('id', '=', from).executeTakeFirst()
    const taken = await db.selectFrom('account').select('id').where('id', '=', to).executeTakeFirst()
    if (account === undefined || !(await isUnused({ db }, from)))
      throw new Refusal('refused', `account ${from} is in use`)
    if (taken !== undefined || (await isRemoved({ db }, to))) throw new Refusal('refused', `the id ${to} is not free`)
    // No two accounts have the same name, and references to a new id need its row.
    await db.updateTable('account').set({ username: randomUUID() }).where('id', '=', from).execute()
    // A stored document is a user, so JSON of an object.
    const user = JSON.parse(account.document) as Record<string, unknown>
    await db
      .insertInto('account')
      .values({ ...account, ...accountRow({ ...user, id: to }) })
      .execute()
    for (const { table, column } of await referencesOf({ engine: store.engine, db })) {
      await sql`update ${sql.table(table)} set ${sql.ref(column)} = ${to} where ${sql.ref(column)} = ${from}`.execute(
        db,
      )
    }
    await db.deleteFrom('account').where('id', '=', from).execute()
    await renameJob(db, store.engine, pullJob(from), pullJob(to))
    await within?.(db, to)
  })
  noteGrantChange()
}

/** The columns that name an account, but for those of records: an unused account has none. */
export async function referencesOf({ engine, db }: Pick<Store, 'engine' | 'db'>) {
  const { rows } = await (
    engine === 'sqlite'
      ? sql<Reference>`select found.name as "table", columns.name as "column" from sqlite_schema as found, pragma_table_info(found.name) as columns
          where found.type = 'table' and columns.name in (${sql.join(NAMING)})`
      : sql<Reference>`select table_name as "table", column_name as "column" from information_schema.columns
          where table_schema = current_schema() and column_name in (${sql.join(NAMING)})`
  ).execute(db)
  return rows.filter(({ table }) => !recordTables.some(name => name === table))
}

interface Reference {
  readonly table: string
  readonly column: string
}

const NAMING = ['account_id', 'owner_id', 'partner_id', 'reader_id']
