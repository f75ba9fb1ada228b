import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/** The row of an account, locked until the transaction ends. SQLite has one writer in any case. */
export function lockedAccount(db: Kysely<Tables>, { engine }: Pick<Store, 'engine'>, id: number) {
  return db
    .selectFrom('account')
    .where('id', '=', id)
    .$if(engine === 'postgres', accounts => accounts.forUpdate())
}
