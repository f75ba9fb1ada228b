import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { newRevision, type Tables } from '../store/tables.ts'
import { seal, unseal } from './sealed.ts'

/**
 * Browsers in which somebody has signed in to an account before. Attempts to sign in elsewhere do not count against theirs. A
 * browser keeps a sealed mark. Signing out all browsers changes a number in it, so that no earlier mark is valid.
 */

interface Mark {
  readonly accountId: number
  readonly name: string
  readonly signOuts: number
}

export const KNOWN_BROWSER_MS = 365 * DAY_MS

/** A mark for a browser in which somebody has just signed in. */
export async function markBrowser(store: Store, accountId: number): Promise<string> {
  const account = await accountOf(store, accountId)
  const mark: Mark = { accountId, name: randomUUID(), signOuts: account?.sign_outs ?? 0 }
  return seal(store, PURPOSE, mark, Date.now() + KNOWN_BROWSER_MS)
}

/** The browser that has this mark, with the username of the account that somebody signed in to; undefined if it is not valid. */
export async function knownBrowser(store: Store, sealed: string) {
  // Only `markBrowser` seals for this purpose.
  const mark = (await unseal(store, PURPOSE, sealed, Date.now())) as Mark | undefined
  if (mark === undefined) return undefined
  const account = await accountOf(store, mark.accountId)
  return account?.sign_outs === mark.signOuts ? { name: mark.name, username: account.username } : undefined
}

/** Ends all marks of an account, or of all accounts, within a transaction. */
export async function forgetBrowsers(db: Kysely<Tables>, accountId?: number): Promise<void> {
  await db
    .updateTable('account')
    .set({ sign_outs: newRevision() })
    .$if(accountId !== undefined, accounts => accounts.where('id', '=', accountId ?? 0))
    .execute()
}

const PURPOSE = 'known browser'

function accountOf({ reads }: Store, id: number) {
  return reads.selectFrom('account').select(['username', 'sign_outs']).where('id', '=', id).executeTakeFirst()
}
