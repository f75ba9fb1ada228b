import {
  CHALLENGE_MS,
  openChallenge,
  type PasskeyChallenge,
  type PasskeyPurpose,
  sealChallenge,
} from '../accounts/passkey-challenges.ts'
import { seal, unseal } from '../accounts/sealed.ts'
import type { Store } from '../store/index.ts'
import { cookie } from './cookies.ts'
import type { SiteOrigin } from './origin.ts'

/** Cookies in which a browser keeps the state of a sign-in, sealed, until it is completed. */

/** The name of a cookie that other hosts cannot set. Browsers accept the prefix only over TLS. */
export function hostCookie(name: string, { secure }: Pick<SiteOrigin, 'secure'>): string {
  return secure ? `__Host-${name}` : name
}

interface Kept {
  readonly site: Pick<SiteOrigin, 'secure'>
  readonly name: string
  /** The cookie can be opened only for the same subject, such as a session; undefined if its name is enough. */
  readonly subject?: string
  readonly now: number
}

/** A cookie with a value that only this service can read. Undefined if browsers would not keep it, because it is too long. */
export async function sealedCookie(
  store: Store,
  kept: Kept,
  value: object,
  lifeMs: number,
): Promise<string | undefined> {
  const { site, name, now } = kept
  const sealed = await seal(store, purposeOf(kept), value, now + lifeMs)
  if (sealed.length > MAX_COOKIE_LENGTH) return undefined
  return cookie(hostCookie(name, site), sealed, { maxAge: Math.ceil(lifeMs / 1000), secure: site.secure })
}

/** The value of such a cookie; undefined if there is none, or it has expired. */
export async function openedCookie(store: Store, cookies: ReadonlyMap<string, string>, kept: Kept): Promise<unknown> {
  const sealed = cookies.get(hostCookie(kept.name, kept.site))
  return sealed === undefined ? undefined : unseal(store, purposeOf(kept), sealed, kept.now)
}

/** Removes such a cookie. */
export function noCookie({ site, name }: Pick<Kept, 'site' | 'name'>): string {
  return cookie(hostCookie(name, site), '', { maxAge: 0, secure: site.secure })
}

const MAX_COOKIE_LENGTH = 3800

function purposeOf({ name, subject = '' }: Kept): string {
  return `${name} ${subject}`
}

interface ChallengeFor {
  readonly site: Pick<SiteOrigin, 'secure'>
  readonly purpose: PasskeyPurpose
  /** The session or the invitation that it is for; empty for a sign-in. */
  readonly subject: string
  readonly now: number
}

/** A cookie with the challenge that a passkey is to answer. */
export async function challengeCookie(
  store: Store,
  { site, purpose, subject, now }: ChallengeFor,
  challenge: PasskeyChallenge,
): Promise<string> {
  const sealed = await sealChallenge(store, purpose, subject, challenge, now)
  return cookie(challengeName(purpose, site), sealed, { maxAge: CHALLENGE_MS / 1000, secure: site.secure })
}

/** The challenge that the browser was given for this, unless it has expired. */
export async function challengeOf(
  store: Store,
  cookies: ReadonlyMap<string, string>,
  { site, purpose, subject, now }: ChallengeFor,
): Promise<PasskeyChallenge | undefined> {
  const sealed = cookies.get(challengeName(purpose, site))
  return sealed === undefined ? undefined : openChallenge(store, purpose, subject, sealed, now)
}

function challengeName(purpose: PasskeyPurpose, site: Pick<SiteOrigin, 'secure'>): string {
  return hostCookie(`passkey-${purpose}`, site)
}
