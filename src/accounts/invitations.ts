import { type Kysely, sql } from 'kysely'
import * as Type from 'typebox'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { checkedQuery, readChecked } from './access.ts'
import { addAccountIn } from './accounts.ts'
import { beginSessionIn, confirmedAt, endSessions, type SessionStart } from './browser-sessions.ts'
import { act } from './act.ts'
import { isFirstAccountLink, useFirstAccountLink } from './first-account.ts'
import { type Identity, linkIdentity } from './identities.ts'
import { addPasskey, type NewPasskey } from './passkeys.ts'
import { hashNewPassword, storePassword } from './passwords.ts'
import { hashSecret, makeSecret, SECRET_FORM } from './secrets.ts'
import { Refusal } from '../contract/refusal.ts'

/** Links with which an account chooses its first sign-in method, or another one if it has lost its last. */

export const INVITATION_PATH = '/invitation/'

/** Makes an invitation and returns its secret; only the hash of it is stored. An earlier one of the account ends. */
export const createInvitation = act({
  title: 'Invite',
  event: 'invitation-made',
  input: Type.Object({ accountId: Type.Integer() }),
  async run({ db, now, record }, { accountId }) {
    const secret = makeSecret()
    const row = { account_id: accountId, hash: hashSecret(secret), created_at: now }
    const account = await db.selectFrom('account').select('id').where('id', '=', accountId).executeTakeFirst()
    if (account === undefined) throw new Refusal('refused', 'there is no such account')
    await db
      .insertInto('invitation')
      .values(row)
      .onConflict(conflict => conflict.column('account_id').doUpdateSet({ hash: row.hash, created_at: now }))
      .execute()
    await record({ accountId })
    return secret
  },
})

/**
 * Whose invitation this is: an account, or whoever makes the first one, with neither id nor name. Undefined if it was used, has expired, or
 * never existed. Reading it changes nothing.
 */
export async function findInvitation(store: Store, secret: string, now: number) {
  if (!SECRET_FORM.test(secret)) return undefined
  const [row] = await readChecked(store, invitationByHash, {
    hash: hashSecret(secret),
    createdAfter: now - MAX_INVITATION_MS,
  })
  return row ?? ((await isFirstAccountLink(store, secret, now)) ? { id: undefined, username: undefined } : undefined)
}

export interface AcceptedInvitation extends SessionStart {
  readonly secret: string
  /** Of the first account. */
  readonly username?: string
  readonly chosen: ChosenMethod
}

/** How somebody wants to sign in from now on. */
export type ChosenMethod =
  | { readonly method: 'password'; readonly password: string }
  | { readonly method: 'passkey'; readonly passkey: NewPasskey }
  | { readonly method: 'oidc'; readonly identity: Identity }

/**
 * Uses an invitation up: adds the first account, or ends all sessions of one; sets the password, or adds the passkey or the link; begins
 * a session.
 * Returns the secret of that session and whose it is; undefined if the invitation was used or has expired. Throws
 * Refusal if what was chosen cannot be stored; then the invitation is not used up.
 */
export async function acceptInvitation(
  store: Store,
  { secret, chosen, username = '', ...start }: AcceptedInvitation,
): Promise<{ readonly secret: string; readonly accountId: number } | undefined> {
  const { now } = start
  const invited = await findInvitation(store, secret, now)
  if (invited === undefined) return undefined
  const name = invited.username ?? username
  const passwordHash = chosen.method === 'password' ? await hashNewPassword(chosen.password, name) : ''
  return store.db.transaction().execute(async db => {
    const accountId = invited.id === undefined ? await addFirst(db, name) : await useInvitation(db, secret, now)
    if (accountId === undefined) return undefined
    if (chosen.method === 'password') await storePassword(db, accountId, passwordHash)
    else if (chosen.method === 'passkey') await addPasskey(db, store, { ...chosen, accountId, now })
    else await linkIdentity(db, store, { ...chosen, accountId, now })
    await endSessions(db, accountId)
    const session = {
      ...start,
      accountId,
      event: `invitation-${chosen.method}`,
      confirmedAt: chosen.method === 'oidc' ? confirmedAt({ ...chosen.identity, ...chosen }) : null,
    } as const
    return { accountId, secret: await beginSessionIn(db, session) }
  })
}

/** Both return the account; undefined if somebody else was faster. */
async function useInvitation(db: Kysely<Tables>, secret: string, now: number): Promise<number | undefined> {
  const invitation = await db
    .deleteFrom('invitation')
    .where('hash', '=', hashSecret(secret))
    .where('created_at', '>', now - MAX_INVITATION_MS)
    .returning('account_id')
    .executeTakeFirst()
  return invitation?.account_id
}

async function addFirst(db: Kysely<Tables>, username: string): Promise<number | undefined> {
  return (await useFirstAccountLink(db)) ? (await addAccountIn(db, { username, tier: 'ultra' })).id : undefined
}

const MAX_INVITATION_MS = DAY_MS

const invitationByHash = checkedQuery<{ hash: string; createdAfter: number }, { id: number; username: string }>(
  'invitation',
  (param, named) => sql`
    select ${named}, invitation.hash, account.id, account.username from invitation join account on account.id = invitation.account_id
    where invitation.hash = ${param('hash')} and invitation.created_at > ${param('createdAfter')}`,
)
