import { type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { endSessionsAndInvitation } from './browser-sessions.ts'
import { type Actor, type EventKind, recordEvent } from './events.ts'
import { spellingsOf } from './identities.ts'
import { clearPassword } from './passwords.ts'
import { lockAccount } from './proofs.ts'
import { Refusal } from '../contract/refusal.ts'

/** Which sign-in methods an account has, and removing one as long as another is left. */

export interface SignInMethods {
  readonly hasPassword: boolean
  readonly passkeys: number
  /** Whether it is linked with the issuer. */
  readonly isLinked: boolean
}

/** Where sign-in methods have to work to count: not a passkey of another host, or a link to another issuer. */
export interface SignInAddress {
  /** The host that passkeys work at; undefined if they do not. */
  readonly rpId: string | undefined
  readonly issuer: string | undefined
}

export function readSignInMethods(
  { reads }: Pick<Store, 'reads'>,
  accountId: number,
  address: SignInAddress,
): Promise<SignInMethods> {
  return signInMethodsOf(reads, accountId, address)
}

/** Whether any account has a sign-in method. */
export async function hasSignInMethods({ reads }: Pick<Store, 'reads'>): Promise<boolean> {
  const { rows } = await sql`select 1 where exists (select 1 from account where password_hash is not null)
    or exists (select 1 from passkey) or exists (select 1 from linked_identity)`.execute(reads)
  return rows.length > 0
}

interface RemovedMethod {
  readonly accountId: number
  readonly address: SignInAddress
  /** The session that stays open. */
  readonly keepSession: number
  readonly now: number
  readonly actor: Actor
}

/** Removes the password. Throws Refusal unless two passkeys or a link remain. */
export function removePassword(store: Store, method: RemovedMethod): Promise<void> {
  return removeMethod(store, method, 'password-removed', async db => {
    await clearPassword(db, method.accountId)
    const { passkeys, isLinked } = await signInMethodsOf(db, method.accountId, method.address)
    if (passkeys < 2 && !isLinked) throw new Refusal('refused', NEEDS_TWO)
  })
}

export function removePasskey(store: Store, id: number, method: RemovedMethod): Promise<void> {
  return removeMethod(store, method, 'passkey-removed', async db => {
    const removed = await db
      .deleteFrom('passkey')
      .where('id', '=', id)
      .where('account_id', '=', method.accountId)
      .returning('name')
      .executeTakeFirst()
    if (removed === undefined) throw new Refusal('refused', 'there is no such passkey')
    return removed.name
  })
}

export function removeIdentity(store: Store, method: RemovedMethod): Promise<void> {
  return removeMethod(store, method, 'oidc-unlinked', async db => {
    const { numDeletedRows } = await db
      .deleteFrom('linked_identity')
      .where('account_id', '=', method.accountId)
      .where('issuer', 'in', spellingsOf(method.address.issuer ?? ''))
      .executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) throw new Refusal('refused', 'there is no such link')
  })
}

/** Also ends the other sessions: whoever signed in by this method must not stay. Throws Refusal if no method would be left. */
async function removeMethod(
  store: Store,
  { accountId, address, keepSession, now, actor }: RemovedMethod,
  kind: EventKind,
  /** Returns the name of what it removed, if it has one. */
  remove: (db: Kysely<Tables>) => Promise<string | void>,
): Promise<void> {
  await store.db.transaction().execute(async db => {
    await lockAccount(db, store, accountId)
    const subject = (await remove(db)) ?? ''
    const { hasPassword, passkeys, isLinked } = await signInMethodsOf(db, accountId, address)
    if (!hasPassword && passkeys === 0 && !isLinked) throw new Refusal('refused', LAST)
    await endSessionsAndInvitation(db, accountId, keepSession)
    await recordEvent(db, { accountId, kind, now, actor, subject })
  })
}

const NEEDS_TWO = 'without a password an account needs two passkeys, or a linked sign-in'
const LAST = 'it is the only sign-in method that is left, so add another one first'

async function signInMethodsOf(
  db: Kysely<Tables>,
  accountId: number,
  { rpId, issuer }: SignInAddress,
): Promise<SignInMethods> {
  const count = ({ n }: { readonly n: unknown }) => Number(n)
  const account = await db.selectFrom('account').select('password_hash').where('id', '=', accountId).executeTakeFirst()
  const passkeys = await db
    .selectFrom('passkey')
    .select(({ fn }) => fn.countAll().as('n'))
    .where('account_id', '=', accountId)
    .where('rp_id', '=', rpId ?? '')
    .executeTakeFirstOrThrow()
  const links = await db
    .selectFrom('linked_identity')
    .select(({ fn }) => fn.countAll().as('n'))
    .where('account_id', '=', accountId)
    .where('issuer', 'in', spellingsOf(issuer ?? ''))
    .executeTakeFirstOrThrow()
  return { hasPassword: account?.password_hash != null, passkeys: count(passkeys), isLinked: count(links) > 0 }
}
