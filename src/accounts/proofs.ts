import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { SignInMethod, Tables } from '../store/tables.ts'

/** How somebody proved that an account is theirs: the hash of the password, or the id of the row of another method. */
export type Proof = PasswordProof | PasskeyProof | OidcProof

export interface PasswordProof {
  readonly method: Extract<SignInMethod, 'password'>
  readonly accountId: number
  readonly passwordHash: string
}

export interface PasskeyProof {
  readonly method: Extract<SignInMethod, 'passkey'>
  readonly accountId: number
  readonly passkeyId: number
}

interface OidcProof {
  readonly method: Extract<SignInMethod, 'oidc'>
  readonly accountId: number
  readonly identityId: number
  /** When the issuer last asked the person to sign in; undefined if it does not say. */
  readonly authenticatedAt: number | undefined
}

/**
 * Whether a proof is still valid: the password was not changed meanwhile, and the passkey or link not removed. Holds until the
 * transaction ends.
 */
export async function isCurrent(db: Kysely<Tables>, store: Pick<Store, 'engine'>, proof: Proof): Promise<boolean> {
  const { accountId } = proof
  const account = await lockAccount(db, store, accountId)
  switch (proof.method) {
    case 'password':
      return account?.password_hash === proof.passwordHash
    case 'passkey':
      return (await findMethod(db, 'passkey', proof.passkeyId, accountId)) !== undefined
    case 'oidc':
      return (await findMethod(db, 'linked_identity', proof.identityId, accountId)) !== undefined
    default:
      return proof satisfies never
  }
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

function findMethod(db: Kysely<Tables>, table: 'passkey' | 'linked_identity', id: number, accountId: number) {
  return db.selectFrom(table).select('id').where('id', '=', id).where('account_id', '=', accountId).executeTakeFirst()
}
