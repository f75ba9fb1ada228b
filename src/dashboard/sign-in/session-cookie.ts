import type { FastifyReply, FastifyRequest } from 'fastify'
import { type BrowserSession, findSession, MAX_SESSION_MS, type SessionStart } from '../../accounts/browser-sessions.ts'
import { SECRET_FORM } from '../../accounts/secrets.ts'
import { type Actor, browserName } from '../../accounts/events.ts'
import type { Config } from '../../config.ts'
import { clientAddress, networkPart } from '../../http/addresses.ts'
import type { Store } from '../../store/index.ts'
import { knownTimeZone } from '../../contract/time-zones.ts'
import { formFields } from '../layout/form-page.ts'
import { cookie, cookieValue, parseCookies } from '../cookies.ts'
import { html } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import type { SiteOrigin } from '../origin.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

/** Who sends a request, as the log of events stores it: without the whole address. */
export function actorOf({ raw, headers }: FastifyRequest, { trustedProxies }: Pick<Config, 'trustedProxies'>): Actor {
  return {
    by: 'self',
    network: networkPart(clientAddress(raw, trustedProxies)),
    browser: browserName(headers['user-agent'] ?? ''),
  }
}

/** The facts of a session that starts with this request. It replaces the one that the browser had. */
export async function sessionStart(
  { store, config }: Pick<DashboardOptions, 'store' | 'config'>,
  request: FastifyRequest,
  site: SiteOrigin,
): Promise<SessionStart> {
  const { headers, context } = request
  const replaces = (await sessionOf(store, request, site))?.id
  const timeZone = knownTimeZone(formFields(request).get('timeZone') ?? '')
  return { browser: headers['user-agent'] ?? '', actor: actorOf(request, config), now: context.now, replaces, timeZone }
}

/** Sets the cookies of a session that has just started, and redirects. */
export async function sendSignedIn(
  reply: FastifyReply,
  { store, site }: { readonly store: Store; readonly site: SiteOrigin },
  { secret, accountId }: { readonly secret: string; readonly accountId: number },
  next: string,
) {
  reply
    .header('Set-Cookie', sessionCookie(site, secret))
    .header('Set-Cookie', await knownBrowserCookie(store, site, accountId))
  return reply.redirect(next, 303)
}

/** The cookie that holds the secret of a browser session. */
export function sessionCookie(site: SiteOrigin, secret: string): string {
  return cookie(SESSION, secret, { maxAge: MAX_SESSION_MS / 1000, secure: site.secure })
}

/** The field for the zone of the browser, which assets/signin.js fills in. */
export const timeZoneField = html`<input type="hidden" name="timeZone" data-time-zone>`

/** Removes it. */
export function noSessionCookie(site: Pick<SiteOrigin, 'secure'>): string {
  return cookie(SESSION, '', { maxAge: 0, secure: site.secure })
}

/** The session that a request belongs to. */
export async function sessionOf(
  store: Store,
  { headers, context }: FastifyRequest,
  site: SiteOrigin,
): Promise<BrowserSession | undefined> {
  const secret = claimedSession(headers.cookie, site)
  const session = secret === undefined || !site.maySignIn ? undefined : await findSession(store, secret, context.now)
  if (session !== undefined) context.confirmSession?.()
  return session
}

const SESSION = 'session'

/** What a request says its session is, before that is checked; undefined if it names none that can exist. */
export function claimedSession(cookieHeader: string | undefined, site: Pick<SiteOrigin, 'secure'>): string | undefined {
  const secret = cookieValue(parseCookies(cookieHeader), SESSION, site)
  return secret !== undefined && SECRET_FORM.test(secret) ? secret : undefined
}
