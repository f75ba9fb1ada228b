import { type Kysely, sql } from 'kysely'
import * as Type from 'typebox'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { endSessionsAndInvitation } from './browser-sessions.ts'
import { act } from './act.ts'
import type { EventType } from './events.ts'
import { spellingsOf } from './identities.ts'
import { lockAccount } from './proofs.ts'
import { Refusal } from '../contract/refusal.ts'

/** Which sign-in methods an account has, and removing one as long as another is left. */

export type SignInMethods = Awaited<ReturnType<typeof readSignInMethods>>

/** Where sign-in methods have to work to count: not a passkey of another host, or a link to another issuer. */
export interface SignInAddress {
  /** The host that passkeys work at; undefined if they do not. */
  readonly rpId: string | undefined
  readonly issuer: string | undefined
}

export async function hasSignInMethods({ reads }: Pick<Store, 'reads'>): Promise<boolean> {
  const { rows } = await sql`select 1 where exists (select 1 from account where password_hash is not null)
    or exists (select 1 from passkey) or exists (select 1 from linked_identity)`.execute(reads)
  return rows.length > 0
}

/** Removes the password, if two passkeys or a link remain. */
export const removePassword = removal('Remove password', 'password-removed', async (db, { accountId, address }) => {
  await db.updateTable('account').set({ password_hash: null }).where('id', '=', accountId).execute()
  const { passkeys, isLinked } = await readSignInMethods(db, accountId, address)
  if (passkeys < 2 && !isLinked) throw new Refusal('refused', NEEDS_TWO)
})

export const removePasskey = removal('Remove passkey', 'passkey-removed', async (db, { accountId, id = 0 }) => {
  const removed = await db
    .deleteFrom('passkey')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .returning('name')
    .executeTakeFirst()
  if (removed === undefined) throw new Refusal('refused', 'there is no such passkey')
  return removed.name
})

export const removeIdentity = removal('Remove link', 'oidc-unlinked', async (db, { accountId, address }) => {
  const { numDeletedRows } = await db
    .deleteFrom('linked_identity')
    .where('account_id', '=', accountId)
    .where('issuer', 'in', spellingsOf(address.issuer ?? ''))
    .executeTakeFirstOrThrow()
  if (numDeletedRows === 0n) throw new Refusal('refused', 'there is no such link')
})

interface RemovedMethod {
  readonly accountId: number
  readonly address: SignInAddress
  /** Of a passkey. */
  readonly id?: number
}

/**
 * Also ends the sessions but `keepSession`: whoever signed in by this method must not stay. It is refused if no method would be left.
 * `remove` returns the name of what it removed, if it has one.
 */
function removal(
  title: string,
  event: EventType,
  remove: (db: Kysely<Tables>, method: RemovedMethod) => Promise<string | void>,
) {
  return act({
    title,
    confirms: true,
    event,
    input: Type.Object({
      accountId: Type.Integer(),
      address: Type.Unsafe<SignInAddress>({}),
      keepSession: Type.Integer(),
      id: Type.Optional(Type.Integer()),
    }),
    async run({ db, store, record }, { keepSession, ...method }) {
      const { accountId, address } = method
      await lockAccount(db, store, accountId)
      const subject = (await remove(db, method)) ?? ''
      const { hasPassword, passkeys, isLinked } = await readSignInMethods(db, accountId, address)
      if (!hasPassword && passkeys === 0 && !isLinked) throw new Refusal('refused', LAST)
      await endSessionsAndInvitation(db, accountId, keepSession)
      await record({ accountId, subject })
    },
  })
}

const NEEDS_TWO = 'without a password an account needs two passkeys, or a linked sign-in'
const LAST = 'it is the only sign-in method that is left, so add another one first'

/** Those of an account that count. */
export async function readSignInMethods(db: Kysely<Tables>, accountId: number, { rpId, issuer }: SignInAddress) {
  const { rows } = await sql<{ passwords: number; passkeys: number; links: number }>`select
    (select count(*) from account where id = ${accountId} and password_hash is not null) as passwords,
    (select count(*) from passkey where account_id = ${accountId} and rp_id = ${rpId ?? ''}) as passkeys,
    (select count(*) from linked_identity
      where account_id = ${accountId} and issuer in (${sql.join(spellingsOf(issuer ?? ''))})) as links`.execute(db)
  const [found] = rows
  return {
    hasPassword: Number(found?.passwords) > 0,
    passkeys: Number(found?.passkeys),
    isLinked: Number(found?.links) > 0,
  }
}
