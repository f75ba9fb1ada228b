import type { Kysely } from 'kysely'
import * as Type from 'typebox'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { act } from './act.ts'
import { lockAccount, type Proof } from './proofs.ts'
import { Refusal } from '../contract/refusal.ts'

/** People at an issuer who may sign in to an account here. Nothing but issuer and subject links them: no name, no address. */

/** Somebody whom an issuer has identified. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  /** When it last asked the person to sign in; undefined if it does not say. */
  readonly authenticatedAt: number | undefined
}

/** Records that an identity is used now, and returns whose it is; undefined if it is linked with no account. */
export async function useIdentity(
  { db }: Store,
  { issuer, subject, authenticatedAt }: Identity,
  now: number,
): Promise<Proof | undefined> {
  const used = await db
    .updateTable('linked_identity')
    .set({ last_used_at: now })
    .where('issuer', 'in', spellingsOf(issuer))
    .where('subject', '=', subject)
    .returning(['id as credential', 'account_id as accountId'])
    .executeTakeFirst()
  return used && { method: 'oidc', ...used, authenticatedAt }
}

/** How links of an issuer are stored: earlier versions kept a slash at the end of the setting. */
export function spellingsOf(issuer: string): readonly string[] {
  return [issuer, `${issuer}/`]
}

export function findLink({ reads }: Store, accountId: number, issuer: string) {
  return reads
    .selectFrom('linked_identity')
    .select(['linked_at', 'last_used_at'])
    .where('account_id', '=', accountId)
    .where('issuer', 'in', spellingsOf(issuer))
    .executeTakeFirst()
}

/** Links an identity for somebody who is signed in. */
export const linkOwnIdentity = act({
  title: 'Link sign-in',
  confirms: true,
  event: 'oidc-linked',
  input: Type.Object({ accountId: Type.Integer(), identity: Type.Unsafe<Identity>({}) }),
  async run({ db, store, now, record }, { accountId, identity }) {
    if (await linkIdentity(db, store, { accountId, identity, now })) await record({ accountId })
  },
})

/**
 * Links an identity within a transaction. Returns false if it was linked with the account already. Throws Refusal if it, or
 * the account, is linked otherwise.
 */
export async function linkIdentity(
  db: Kysely<Tables>,
  store: Pick<Store, 'engine'>,
  { accountId, identity, now }: { readonly accountId: number; readonly identity: Identity; readonly now: number },
): Promise<boolean> {
  await lockAccount(db, store, accountId)
  const { issuer, subject } = identity
  const own = await db
    .selectFrom('linked_identity')
    .select('subject')
    .where('account_id', '=', accountId)
    .where('issuer', 'in', spellingsOf(issuer))
    .executeTakeFirst()
  if (own?.subject === subject) return false
  if (own !== undefined)
    throw new Refusal('refused', 'this account is linked with somebody else there; remove that link first')
  const taken = await db
    .selectFrom('linked_identity')
    .select('account_id')
    .where('issuer', 'in', spellingsOf(issuer))
    .where('subject', '=', subject)
    .executeTakeFirst()
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('linked_identity')
    .values({ account_id: accountId, issuer, subject, linked_at: now })
    .onConflict(conflict => conflict.columns(['issuer', 'subject']).doNothing())
    .executeTakeFirstOrThrow()
  if (taken !== undefined || numInsertedOrUpdatedRows === 0n)
    throw new Refusal('refused', 'it is linked with another account here')
  return true
}
