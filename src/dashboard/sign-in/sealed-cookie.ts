import type { PasskeyChallenge, PasskeyPurpose } from '../../accounts/passkey-challenges.ts'
import { seal, unseal } from '../../accounts/sealed.ts'
import type { Store } from '../../store/index.ts'
import { type SiteOrigin, cookie, cookieValue } from '../site.ts'

/** Cookies in which a browser keeps the state of a sign-in, sealed, until it is completed. */

interface CookiePlace {
  readonly site: Pick<SiteOrigin, 'secure'>
  readonly name: string
  /** The cookie can be opened only for the same subject, such as a session; undefined if its name is enough. */
  readonly subject?: string
  readonly now: number
}

/** A cookie with a value that only this service can read. Undefined if browsers would not keep it, because it is too long. */
export async function sealedCookie(
  store: Store,
  place: CookiePlace,
  value: object,
  lifeMs: number,
): Promise<string | undefined> {
  const { site, name, now } = place
  const sealed = await seal(store, purposeOf(place), value, now + lifeMs)
  if (sealed.length > MAX_COOKIE_LENGTH) return undefined
  return cookie(name, sealed, { maxAge: Math.ceil(lifeMs / 1000), secure: site.secure })
}

/** The value of such a cookie; undefined if there is none, or it has expired. */
export async function openedCookie(
  store: Store,
  cookies: ReadonlyMap<string, string>,
  place: CookiePlace,
): Promise<unknown> {
  const sealed = cookieValue(cookies, place.name, place.site)
  return sealed === undefined ? undefined : unseal(store, purposeOf(place), sealed, place.now)
}

/** Removes such a cookie. */
export function noCookie({ site, name }: Pick<CookiePlace, 'site' | 'name'>): string {
  return cookie(name, '', { maxAge: 0, secure: site.secure })
}

const MAX_COOKIE_LENGTH = 3800

function purposeOf({ name, subject = '' }: CookiePlace): string {
  return `${name} ${subject}`
}

/**
 * The challenge that a passkey of this browser is to answer, for a session or an invitation, of which others cannot use it, or for a
 * sign-in; undefined if there is none, or it has expired.
 */
export async function challengeOf(
  store: Store,
  cookies: ReadonlyMap<string, string>,
  purpose: PasskeyPurpose,
  place: Omit<CookiePlace, 'name'>,
) {
  // Only the options for passkeys are sealed for this name.
  return (await openedCookie(store, cookies, { ...place, name: passkeyCookie(purpose) })) as
    | PasskeyChallenge
    | undefined
}

/** The name of its cookie. */
export function passkeyCookie(purpose: PasskeyPurpose): string {
  return `passkey-${purpose}`
}
