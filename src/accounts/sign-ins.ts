import type { Insertable, Kysely, Selectable } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/** How somebody got into an account, and when: what its owner looks through for what they did not do. */

export type SignIn = Omit<Selectable<Tables['sign_in']>, 'id' | 'account_id'>

/** Adds to the list of an account, within the transaction of what it tells. */
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
  return store.db
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
