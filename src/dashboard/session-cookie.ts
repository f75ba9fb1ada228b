import type { FastifyRequest } from 'fastify'
import { type BrowserSession, findSession, MAX_SESSION_MS } from '../accounts/browser-sessions.ts'
import type { Store } from '../store/index.ts'
import { cookie, parseCookies } from './cookies.ts'
import type { SiteOrigin } from './origin.ts'
import { hostCookie } from './sealed-cookie.ts'

/** The cookie that holds the secret of a browser session. */
export function sessionCookie(site: SiteOrigin, secret: string): string {
  return cookie(nameOf(site), secret, { maxAge: MAX_SESSION_MS / 1000, secure: site.secure })
}

/** Removes it. */
export function noSessionCookie(site: Pick<SiteOrigin, 'secure'>): string {
  return cookie(nameOf(site), '', { maxAge: 0, secure: site.secure })
}

/** The session that a request belongs to. */
export async function sessionOf(
  store: Store,
  { headers, context }: FastifyRequest,
  site: SiteOrigin,
): Promise<BrowserSession | undefined> {
  const secret = parseCookies(headers.cookie).get(nameOf(site))
  return secret === undefined || !site.maySignIn ? undefined : findSession(store, secret, context.now)
}

function nameOf(site: Pick<SiteOrigin, 'secure'>): string {
  return hostCookie('session', site)
}
