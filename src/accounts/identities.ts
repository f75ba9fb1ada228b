import type { Kysely, Selectable } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { RefusedError } from './errors.ts'
import { lockAccount } from './proofs.ts'

/** People at an issuer who may sign in to an account here. Nothing but issuer and subject links them: no name, no address. */

/** Somebody whom an issuer has identified. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** Records that an identity is used now, and returns its account; undefined if it is linked with none. */
export async function useIdentity(
  { db }: Store,
  { issuer, subject }: Identity,
  now: number,
): Promise<{ readonly identityId: number; readonly accountId: number } | undefined> {
  return db
    .updateTable('linked_identity')
    .set({ last_used_at: now })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .returning(['id as identityId', 'account_id as accountId'])
    .executeTakeFirst()
}

export type LinkFacts = Pick<Selectable<Tables['linked_identity']>, 'linked_at' | 'last_used_at'>

/** The link of an account with an issuer. */
export function findLink({ reads }: Store, accountId: number, issuer: string): Promise<LinkFacts | undefined> {
  return reads
    .selectFrom('linked_identity')
    .select(['linked_at', 'last_used_at'])
    .where('account_id', '=', accountId)
    .where('issuer', '=', issuer)
    .executeTakeFirst()
}

/** Links an identity within a transaction. Throws RefusedError if it, or the account, is linked already. */
export async function linkIdentity(
  db: Kysely<Tables>,
  store: Pick<Store, 'engine'>,
  { accountId, identity, now }: { readonly accountId: number; readonly identity: Identity; readonly now: number },
): Promise<void> {
  await lockAccount(db, store, accountId)
  const { issuer, subject } = identity
  const own = await db
    .selectFrom('linked_identity')
    .select('subject')
    .where('account_id', '=', accountId)
    .where('issuer', '=', issuer)
    .executeTakeFirst()
  if (own?.subject === subject) return
  if (own !== undefined)
    throw new RefusedError('this account is linked with somebody else there; remove that link first')
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('linked_identity')
    .values({ account_id: accountId, issuer, subject, linked_at: now })
    .onConflict(conflict => conflict.columns(['issuer', 'subject']).doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) throw new RefusedError('it is linked with another account here')
}
