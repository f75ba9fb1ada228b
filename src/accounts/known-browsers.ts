import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import { newRevision, type Tables } from '../store/tables.ts'
import { sealingKey } from './sealed.ts'

/**
 * Browsers in which somebody has signed in to an account before. Attempts to sign in elsewhere do not count against theirs. A
 * browser keeps a signed mark. Signing out all browsers changes a number in the signature, so that no earlier mark is valid.
 */

export interface KnownBrowser {
  readonly name: string
  /** Of the account that somebody signed in to. */
  readonly username: string
}

/** A mark for a browser in which somebody has just signed in. */
export async function markBrowser(store: Store, accountId: number): Promise<string> {
  const account = await accountOf(store, accountId)
  const name = randomBytes(NAME_BYTES).toString('base64url')
  return `${accountId}.${name}.${await signatureOf(store, accountId, name, account?.sign_outs ?? 0)}`
}

/** The browser that has this mark; undefined if it is not valid. */
export async function knownBrowser(store: Store, mark: string): Promise<KnownBrowser | undefined> {
  const [, id = '', name = '', signature = ''] = MARK_FORM.exec(mark) ?? []
  if (name === '') return undefined
  const account = await accountOf(store, Number(id))
  if (account === undefined) return undefined
  const expected = Buffer.from(await signatureOf(store, Number(id), name, account.sign_outs))
  return timingSafeEqual(Buffer.from(signature), expected) ? { name, username: account.username } : undefined
}

/** Ends all marks of an account, or of all accounts, within a transaction. */
export async function forgetBrowsers(db: Kysely<Tables>, accountId?: number): Promise<void> {
  await db
    .updateTable('account')
    .set({ sign_outs: newRevision() })
    .$if(accountId !== undefined, accounts => accounts.where('id', '=', accountId ?? 0))
    .execute()
}

async function signatureOf(store: Store, accountId: number, name: string, signOuts: number) {
  return createHmac('sha256', await sealingKey(store))
    .update(`known browser ${accountId} ${name} ${signOuts}`)
    .digest('base64url')
}

const NAME_BYTES = 16
const MARK_FORM = /^(\d{1,16})\.([\w-]{22})\.([\w-]{43})$/

function accountOf({ reads }: Store, id: number) {
  return reads.selectFrom('account').select(['username', 'sign_outs']).where('id', '=', id).executeTakeFirst()
}
