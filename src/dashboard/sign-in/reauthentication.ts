import type { BrowserSession } from '../../accounts/browser-sessions.ts'
import { verifyPassword } from '../../accounts/passwords.ts'
import type { SignInAddress } from '../../accounts/sign-in-methods.ts'
import type { Store } from '../../store/index.ts'
import { type DashboardPage, type Redirect, redirect, type Visit } from '../page.ts'
import { Attempts, tooManyAttempts } from './attempts.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

/** Asking people who are signed in to sign in again, before they change who can sign in or read. */

/** Whether the person behind a session signed in during the last ten minutes. */
export function isFresh({ confirmedAt }: Pick<BrowserSession, 'confirmedAt'>, now: number): boolean {
  // Setting the clock back does not extend it.
  return Math.abs(now - confirmedAt) < FRESH_MS
}

const FRESH_MS = 10 * 60_000

/**
 * Asks the viewer to sign in again if the sign-in is more than ten minutes old. It leads to the page of the form, which is asked for
 * before it is filled in. Undefined if the handler may run.
 */
export function askAgain(
  { viewer, now, path, sectionStart }: Visit,
  page: Pick<DashboardPage, 'path' | 'isDownload'>,
): Redirect | undefined {
  if (isFresh(viewer.session, now)) return undefined
  // A download does not replace the page with the form, so the form leads back to the button of the download.
  const next = page.isDownload === true ? `${sectionStart.path}?confirmed=${page.path}` : path
  return redirect(`/signin?${new URLSearchParams({ again: '1', next })}`)
}

/** What is wrong with the password of the viewer, which a form asks for although they are signed in; undefined if nothing is. */
export async function passwordProblem(
  { store, viewer, events, actor, now, limitReached }: Visit,
  password: string,
): Promise<string | undefined> {
  const { id, username } = viewer.session
  const attempt = guesses.getOrInsertComputed(store, () => new Attempts()).begin(String(id))
  if (attempt.waitMs > 0) {
    limitReached('attempts')
    return tooManyAttempts(attempt)
  }
  const proof = await verifyPassword(store, username, password).catch((error: unknown) => {
    attempt.refund()
    throw error
  })
  if (proof === undefined) {
    const { network, browser } = actor
    events.count({ type: 'sign-in-failed', username, now, network, browser })
    return 'The password is wrong.'
  }
  attempt.refund()
  return undefined
}

/** Sessions of two stores may have the same identifier. */
const guesses = new WeakMap<Store, Attempts>()

/** Where sign-in methods have to work to count. */
export function signInAddress({ site, oidc }: Pick<Visit, 'site' | 'oidc'>): SignInAddress {
  return { rpId: site.rpId, issuer: oidc?.issuer }
}

/** Redirects to Settings after all other browsers of the account were signed out; this one stays known to the account. */
export async function othersSignedOut({ store, site, viewer }: Visit, saved: string): Promise<Redirect> {
  const cookies = [await knownBrowserCookie(store, site, viewer.session.accountId)]
  return redirect(`/settings?saved=${saved}`, { cookies })
}
