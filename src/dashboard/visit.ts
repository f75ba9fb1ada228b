import type { FastifyRequest, FastifyReply } from 'fastify'
import { type BrowserSession, findSession } from '../accounts/browser-sessions.ts'
import { listReceivedAccess } from '../accounts/access.ts'
import { readKnownTime } from '../stats/known-time.ts'
import { copiedSoFar } from '../pull/state.ts'
import {
  cookie,
  type CookieOptions,
  cookieValue,
  displayValue,
  type SiteOrigin,
  parseCookies,
  siteOriginOf,
} from './site.ts'
import {
  type SignedInViewer,
  type Units,
  type Visit,
  type Display,
  themes,
  type PageSection,
  sections,
  PageAccess,
} from './page.ts'
import { knownTimeZone } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { SECRET_FORM } from '../accounts/secrets.ts'
import { type Actor, browserName } from '../accounts/events.ts'
import type { Config } from '../config.ts'
import { clientAddress, networkPart } from '../http/addresses.ts'
import { share } from '../fairness.ts'
import type { DashboardOptions } from './options.ts'

/** From a request to a visit: its session, whose records are shown, and how this browser shows them. */

/** The visit of a request; undefined if nobody is signed in. */
export async function visitOf(
  { store, config, log, oidc, events, uploads, inBackground }: DashboardOptions,
  reply: FastifyReply,
  section: PageSection,
): Promise<Visit | undefined> {
  const { request } = reply
  const { target, now } = request.context
  const site = siteOriginOf(request.context, config)
  const cookies = parseCookies(request.headers.cookie)
  const session = await sessionOf(store, request, site)
  if (session === undefined) return undefined
  await share(session.accountId)
  const { id = '' } = request.params as { id?: string }
  const viewer = await viewerOf(store, session, { cookies, site, now })
  const grant = { accountId: session.accountId, shared: viewer.shared }
  return {
    store,
    viewer,
    pageAccess: new PageAccess({ grant, now }, viewer.subject.id),
    now,
    path: target.path,
    sectionStart: sections[section ?? 'overview'],
    id: /^[1-9][0-9]{0,15}$/.test(id) ? Number(id) : 0,
    query: new URLSearchParams(target.query),
    form: formFields(request),
    site,
    oidc,
    cookies,
    limitReached: name => {
      request.context.limit = name
    },
    get actor() {
      return actorOf(request, config)
    },
    events,
    config,
    uploads,
    receiveFiles: () => uploads.receive(request, session.accountId),
    inBackground: work => inBackground(work.catch((error: unknown) => log.failure(error, request.context.requestId))),
  }
}

/** The viewer of a session, with the display settings of this browser. Access is looked up on every request. */
async function viewerOf(
  store: Store,
  session: BrowserSession,
  { cookies, site, now }: Pick<Visit, 'cookies' | 'site' | 'now'>,
): Promise<SignedInViewer> {
  const own = { id: session.accountId, username: session.username }
  const received = await listReceivedAccess(store, session.accountId, now)
  const readable = [own, ...received.map(({ accountId: id, username }) => ({ id, username }))]
  // Without access to somebody else's records, the viewer sees their own.
  const chosen = chosenSubject(cookieValue(cookies, SUBJECT, site), session)
  const found = readable.find(({ id }) => String(id) === chosen)
  const subject = found ?? own
  const { asOf, isPartial } = await readKnownTime(store, own.id, subject.id, now)
  return {
    ...readDisplay(cookies),
    session,
    shared: received.map(({ accountId: ownerId, ...terms }) => ({ ownerId, ...terms })),
    readable,
    subject,
    chosenIsGone: chosen !== undefined && found === undefined,
    asOf,
    copied: isPartial ? await copiedSoFar(store, subject.id) : null,
    timeZone: knownTimeZone(session.timeZone) ?? 'UTC',
    units: isUnits(session.units) ? session.units : 'metric',
  }
}

/** A cookie that keeps whose records somebody looks at. */
export function subjectCookie(session: BrowserSession, subject: number, options: CookieOptions): string {
  return cookie(SUBJECT, `${session.accountId}.${subject}`, options)
}

/** Undefined also if somebody else chose it in this browser. */
function chosenSubject(cookie: string | undefined, { accountId }: BrowserSession): string | undefined {
  const [account, subject] = cookie?.split('.') ?? []
  return account === String(accountId) ? subject : undefined
}

const SUBJECT = 'subject'

export const unitNames: Readonly<Record<Units, string>> = { metric: 'Metres', imperial: 'Feet' }

export function isUnits(text: string): text is Units {
  return Object.hasOwn(unitNames, text)
}

export function readDisplay(cookies: ReadonlyMap<string, string>): Display {
  return {
    theme: themes.find(theme => theme === displayValue(cookies, 'theme')) ?? 'auto',
    discreet: displayValue(cookies, 'discreet') === '1',
    hasShortcut: displayValue(cookies, 'shortcut') !== '0',
  }
}

/** The fields of the form that was sent; none for a request without one. */
export function formFields({ body }: Pick<FastifyRequest, 'body'>): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams()
}

/** Who sends a request, as the log of events stores it: without the whole address. */
export function actorOf({ raw, headers }: FastifyRequest, { trustedProxies }: Pick<Config, 'trustedProxies'>): Actor {
  return {
    by: 'self',
    network: networkPart(clientAddress(raw, trustedProxies)),
    browser: browserName(headers['user-agent'] ?? ''),
  }
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

export const SESSION = 'session'

/** What a request says its session is, before that is checked; undefined if it names none that can exist. */
export function claimedSession(cookieHeader: string | undefined, site: Pick<SiteOrigin, 'secure'>): string | undefined {
  const secret = cookieValue(parseCookies(cookieHeader), SESSION, site)
  return secret !== undefined && SECRET_FORM.test(secret) ? secret : undefined
}
