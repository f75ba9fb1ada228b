import { PGlite, types } from '@electric-sql/pglite'
// oxlint-disable-next-line no-restricted-imports -- the bundle has no dialect of PGlite
import { Kysely, PGliteDialect, sql } from 'kysely'
import { migrate } from '../../src/archive/migrate.ts'
import { checkVersion } from '../../src/store/migrations.ts'
import { compile, type Query } from '../../src/store/query.ts'
import type { Store } from '../../src/store/index.ts'
import type { Tables } from '../../src/store/tables.ts'
import { runTransaction } from '../../src/store/transaction.ts'

/** A store on PGlite, a PostgreSQL in memory within this process: one connection, and no server needed. */
export async function openPglite(): Promise<Store> {
  const pglite = await PGlite.create({ parsers: { [types.INT8]: Number } })
  const db = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite }) })
  const store: Store = {
    engine: 'postgres',
    db,
    reads: db,
    async read<Values extends object, Row>(query: Query<Values, Row>, values: Values) {
      const { sql: text, parameters } = compile(db, 'postgres', query)
      const { rows } = await pglite.query<Row>(text, parameters(values))
      return rows
    },
    async health() {
      await checkVersion(store)
    },
    snapshot: work => db.transaction().execute(work),
    locked: (connection, work) => runTransaction(connection, sql`begin`, work),
    tryLock: async () => async () => {},
    requireAlone: async () => {},
    erase: undefined,
    close: () => db.destroy(),
  }
  await migrate(store, Date.now())
  return store
}
