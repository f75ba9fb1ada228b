import { type Redirect, redirect, type Visit } from './page.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

/** Redirects to Settings after all other browsers of the account were signed out; this one stays known to the account. */
export async function othersSignedOut({ store, site, viewer }: Visit, saved: string): Promise<Redirect> {
  const cookies = [await knownBrowserCookie(store, site, viewer.session.accountId)]
  return redirect(`/settings?saved=${saved}`, { cookies })
}
