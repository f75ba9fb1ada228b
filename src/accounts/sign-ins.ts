import type { Insertable, Kysely, Selectable } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/** How and when somebody signed in to an account, so that its owner can notice sign-ins of others. */

export type SignIn = Omit<Selectable<Tables['sign_in']>, 'id' | 'account_id'>

/** Adds a sign-in to the list of an account, within the transaction of the sign-in itself. */
export async function recordSignIn(
  db: Kysely<Tables>,
  { browser, ...signIn }: Omit<Insertable<Tables['sign_in']>, 'id'>,
): Promise<void> {
  await db
    .deleteFrom('sign_in')
    .where('account_id', '=', signIn.account_id)
    .where('at', '<=', signIn.at - MAX_AGE_MS)
    .execute()
  await db
    .insertInto('sign_in')
    .values({ ...signIn, browser: storedBrowser(browser) })
    .execute()
}

/** The newest of an account first. */
export function listSignIns(store: Store, accountId: number): Promise<SignIn[]> {
  return store.reads
    .selectFrom('sign_in')
    .select(['at', 'way', 'browser'])
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(MAX_LISTED_SIGN_INS)
    .execute()
}

export const MAX_LISTED_SIGN_INS = 50

/** As much of a user agent as is stored. */
export function storedBrowser(agent: string): string {
  return agent.slice(0, MAX_BROWSER_LENGTH)
}

const MAX_BROWSER_LENGTH = 300
const MAX_AGE_MS = 365 * DAY_MS
