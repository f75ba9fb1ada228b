import type { FastifyReply, FastifyRequest } from 'fastify'
import { type BrowserSession, findSession, MAX_SESSION_MS, type SessionStart } from '../accounts/browser-sessions.ts'
import type { Store } from '../store/index.ts'
import { cookie, parseCookies } from './cookies.ts'
import type { SiteOrigin } from './origin.ts'
import { hostCookie } from './sealed-cookie.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

/** The facts of a session that starts with this request. It replaces the one that the browser had. */
export async function sessionStart(store: Store, request: FastifyRequest, site: SiteOrigin): Promise<SessionStart> {
  const { headers, context } = request
  const replaces = (await sessionOf(store, request, site))?.id
  return { browser: headers['user-agent'] ?? '', now: context.now, replaces }
}

/** Sets the cookies of a session that has just started, and redirects. */
export async function sendSignedIn(
  reply: FastifyReply,
  { store, site }: { readonly store: Store; readonly site: SiteOrigin },
  session: { readonly secret: string; readonly accountId: number },
  next: string,
) {
  return reply
    .header('Set-Cookie', sessionCookie(site, session.secret))
    .header('Set-Cookie', await knownBrowserCookie(store, site, session.accountId))
    .redirect(next, 303)
}

/** The cookie that holds the secret of a browser session. */
function sessionCookie(site: SiteOrigin, secret: string): string {
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
