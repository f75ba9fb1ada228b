import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Oidc, OidcIdentity, OidcRequest } from '../../accounts/oidc.ts'
import type { Store } from '../../store/index.ts'
import { type SiteOrigin, parseCookies } from '../site.ts'
import { noCookie, openedCookie, sealedCookie } from './sealed-cookie.ts'

/** The way to the issuer and back. A sealed cookie keeps its purpose, so that any process can complete it. */

export interface OidcFlow {
  readonly purpose: 'signin' | 'again' | 'link' | 'invitation'
  /** The session, or the secret of the invitation, that it is for; empty for a sign-in. */
  readonly subject: string
  /** The path to redirect to when it has succeeded. */
  readonly next: string
}

interface PendingFlow extends OidcFlow {
  readonly request: OidcRequest
}

export const CALLBACK_PATH = '/signin/oidc/callback'

/** The address at the issuer to send the browser to; sets the cookie that completes the flow. Throws OidcError. */
export async function beginFlow(
  { store, oidc, site }: OidcContext,
  { context: { now } }: FastifyRequest,
  reply: FastifyReply,
  flow: OidcFlow,
): Promise<string> {
  const { url, request } = await oidc.begin(site.baseUrl + CALLBACK_PATH, { asksAgain: flow.purpose === 'again' })
  const pending: PendingFlow = { ...flow, request }
  reply.header('Set-Cookie', await sealedCookie(store, { site, name: COOKIE, now }, pending, FLOW_MS))
  return url
}

/**
 * What the browser was sent to the issuer for; undefined if that was too long ago, or in another browser. Its callback works only
 * once.
 */
export async function takeFlow(
  { store, site }: OidcContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<PendingFlow | undefined> {
  const cookies = parseCookies(request.headers.cookie)
  reply.header('Set-Cookie', noCookie({ site, name: COOKIE }))
  // Only `beginFlow` seals for this name.
  return (await openedCookie(store, cookies, { site, name: COOKIE, now: request.context.now })) as
    | PendingFlow
    | undefined
}

/** The identity that the issuer confirmed. Throws OidcError. */
export function identify(
  { oidc, site }: OidcContext,
  { context }: FastifyRequest,
  flow: PendingFlow,
): Promise<OidcIdentity> {
  return oidc.finish(new URL(`${site.baseUrl}${CALLBACK_PATH}?${context.target.query}`), flow.request)
}

/** What the way to the issuer and its callback need. */
export interface OidcContext {
  readonly store: Store
  readonly oidc: Oidc
  readonly site: SiteOrigin
}

const COOKIE = 'oidc'
const FLOW_MS = 10 * 60_000
