import {
  CHALLENGE_MS,
  openChallenge,
  type PasskeyChallenge,
  type PasskeyPurpose,
  sealChallenge,
} from '../accounts/passkey-challenges.ts'
import type { Store } from '../store/index.ts'
import { cookie } from './cookies.ts'
import type { SiteOrigin } from './origin.ts'

/** Cookies in which a browser keeps the state of a sign-in, sealed, until it is completed. */

/** The name of a cookie that other hosts cannot set. Browsers accept the prefix only over TLS. */
export function hostCookie(name: string, { secure }: Pick<SiteOrigin, 'secure'>): string {
  return secure ? `__Host-${name}` : name
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
