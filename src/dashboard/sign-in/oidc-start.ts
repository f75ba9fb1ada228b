import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../../accounts/sealed.ts'
import type { Store } from '../../store/index.ts'
import { cookie, cookieValue } from '../cookies.ts'
import type { SiteOrigin } from '../origin.ts'

/**
 * An account is linked with an identity at the issuer only from a page of this service, in the same browser. The address that
 * starts it contains a mark that only this browser receives, so a link on another site or in a mail cannot start it.
 */

/** The mark for a session; only its browser receives the page. */
export function sessionMark(store: Store, sessionId: number, now: number): Promise<string> {
  return seal(store, purposeOf(`session ${sessionId}`), {}, now + MARK_MS)
}

export async function hasSessionMark(store: Store, sessionId: number, mark: string, now: number): Promise<boolean> {
  return (await unseal(store, purposeOf(`session ${sessionId}`), mark, now)) !== undefined
}

/** The mark for an invitation, and the cookie that binds it to a browser: others may have opened the same invitation. */
export async function invitationMark(store: Store, { secret, site, now }: OpenedInvitation) {
  const browser = randomBytes(BROWSER_BYTES).toString('base64url')
  return {
    mark: await seal(store, purposeOf(`invitation ${secret} ${browser}`), {}, now + MARK_MS),
    setCookie: cookie(COOKIE, browser, { maxAge: MARK_MS / 1000, secure: site.secure }),
  }
}

export async function hasInvitationMark(
  store: Store,
  { secret, site, now }: OpenedInvitation,
  cookies: ReadonlyMap<string, string>,
  mark: string,
): Promise<boolean> {
  const browser = cookieValue(cookies, COOKIE, site)
  if (browser === undefined) return false
  return (await unseal(store, purposeOf(`invitation ${secret} ${browser}`), mark, now)) !== undefined
}

interface OpenedInvitation {
  readonly secret: string
  readonly site: Pick<SiteOrigin, 'secure'>
  readonly now: number
}

function purposeOf(subject: string): string {
  return `start at the issuer, ${subject}`
}

const COOKIE = 'invited-browser'
const BROWSER_BYTES = 16
const MARK_MS = 10 * 60_000
