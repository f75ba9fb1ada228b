import { type Redirect, redirect, type Visit } from './page.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

/** Back to Settings after what signed out all other browsers of the account: this one stays known. */
export async function othersSignedOut({ store, site, viewer }: Visit, saved: string): Promise<Redirect> {
  const cookies = [await knownBrowserCookie(store, site, viewer.session.accountId)]
  return redirect(`/settings?saved=${saved}`, { cookies })
}
