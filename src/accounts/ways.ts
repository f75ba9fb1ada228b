import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { endSessionsAndInvitation } from './browser-sessions.ts'
import { RefusedError } from './errors.ts'
import { clearPassword } from './passwords.ts'
import { lockAccount } from './proofs.ts'

/** Which ways to sign in an account has, and removing one as long as another is left. */

export interface Ways {
  readonly hasPassword: boolean
  readonly passkeys: number
  /** Whether it is linked with the issuer. */
  readonly isLinked: boolean
}

/** What the ways to sign in depend on: a passkey of another host or a link to another issuer does not count. */
export interface WaysHere {
  /** The host that passkeys work at; undefined if they do not. */
  readonly rpId: string | undefined
  readonly issuer: string | undefined
}

export function readWays({ reads }: Pick<Store, 'reads'>, accountId: number, here: WaysHere): Promise<Ways> {
  return waysOf(reads, accountId, here)
}

interface RemovedWay {
  readonly accountId: number
  readonly here: WaysHere
  /** The session that stays open. */
  readonly keep: number
}

/** Removes the password. Throws RefusedError unless two passkeys or a link remain. */
export function removePassword(store: Store, way: RemovedWay): Promise<void> {
  return removeWay(store, way, async db => {
    await clearPassword(db, way.accountId)
    const { passkeys, isLinked } = await waysOf(db, way.accountId, way.here)
    if (passkeys < 2 && !isLinked) throw new RefusedError(NEEDS_TWO)
  })
}

export function removePasskey(store: Store, id: number, way: RemovedWay): Promise<void> {
  return removeWay(store, way, async db => {
    await db.deleteFrom('passkey').where('id', '=', id).where('account_id', '=', way.accountId).execute()
  })
}

export function removeIdentity(store: Store, way: RemovedWay): Promise<void> {
  return removeWay(store, way, async db => {
    const { numDeletedRows } = await db
      .deleteFrom('linked_identity')
      .where('account_id', '=', way.accountId)
      .where('issuer', '=', way.here.issuer ?? '')
      .executeTakeFirstOrThrow()
    if (numDeletedRows === 0n) throw new RefusedError('there is no such link')
  })
}

/** Ends the other sessions, too: whoever signed in that way must not stay. Throws RefusedError if no way would be left. */
async function removeWay(
  store: Store,
  { accountId, here, keep }: RemovedWay,
  remove: (db: Kysely<Tables>) => Promise<void>,
): Promise<void> {
  await store.db.transaction().execute(async db => {
    await lockAccount(db, store, accountId)
    await remove(db)
    const { hasPassword, passkeys, isLinked } = await waysOf(db, accountId, here)
    if (!hasPassword && passkeys === 0 && !isLinked) throw new RefusedError(LAST)
    await endSessionsAndInvitation(db, accountId, keep)
  })
}

const NEEDS_TWO = 'without a password an account needs two passkeys, or a linked sign-in'
const LAST = 'it is the only way to sign in that is left, so add another one first'

async function waysOf(db: Kysely<Tables>, accountId: number, { rpId, issuer }: WaysHere): Promise<Ways> {
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
    .where('issuer', '=', issuer ?? '')
    .executeTakeFirstOrThrow()
  return { hasPassword: account?.password_hash != null, passkeys: count(passkeys), isLinked: count(links) > 0 }
}
