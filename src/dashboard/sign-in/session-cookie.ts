import type { FastifyReply, FastifyRequest } from 'fastify'
import { MAX_SESSION_MS, type SessionStart } from '../../accounts/browser-sessions.ts'
import type { Store } from '../../store/index.ts'
import { knownTimeZone } from '../../contract/time.ts'
import { formFields, actorOf, sessionOf, SESSION } from '../visit.ts'
import { html } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import { type SiteOrigin, cookie } from '../site.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

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
    .header('Set-Cookie', cookie(SESSION, secret, { maxAge: MAX_SESSION_MS / 1000, secure: site.secure }))
    .header('Set-Cookie', await knownBrowserCookie(store, site, accountId))
  return reply.redirect(next, 303)
}

/** The field for the zone of the browser, which assets/dashboard.js fills in. */
export const timeZoneField = html`<input type="hidden" name="timeZone" data-time-zone>`
