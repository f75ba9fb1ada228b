import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { SignInMethod, Tables } from '../store/tables.ts'

/** How somebody proved that an account is theirs. */
export interface Proof {
  readonly method: SignInMethod
  readonly accountId: number
  /** The hash of the password, or the id of the row of another method. */
  readonly credential: string | number
  /** When an issuer last asked the person to sign in; undefined if it does not say. */
  readonly authenticatedAt?: number | undefined
}

/**
 * Whether a proof is still valid: the password was not changed meanwhile, and the passkey or link not removed. Holds until the
 * transaction ends.
 */
export async function isCurrent(
  db: Kysely<Tables>,
  store: Pick<Store, 'engine'>,
  { method, accountId, credential }: Proof,
): Promise<boolean> {
  const account = await lockAccount(db, store, accountId)
  if (method === 'password') return account?.password_hash === credential
  const row = await db
    .selectFrom(method === 'passkey' ? 'passkey' : 'linked_identity')
    .select('id')
    .where('id', '=', Number(credential))
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return row !== undefined
}

/** Locks an account until the transaction ends, and reads what its sign-in and keys depend on. SQLite has one writer in any case. */
export function lockAccount(db: Kysely<Tables>, { engine }: Pick<Store, 'engine'>, id: number) {
  return db
    .selectFrom('account')
    .select(['password_hash', 'subscription_tier as tier', 'subscription_ends_at as tierEndsAt'])
    .where('id', '=', id)
    .$if(engine === 'postgres', accounts => accounts.forUpdate())
    .executeTakeFirst()
}
