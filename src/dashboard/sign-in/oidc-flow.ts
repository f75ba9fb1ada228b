import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Oidc, OidcIdentity, OidcRequest } from '../../accounts/oidc.ts'
import type { OidcError } from '../../accounts/oidc-errors.ts'
import type { Config } from '../../config.ts'
import type { Store } from '../../store/index.ts'
import { parseCookies } from '../cookies.ts'
import type { SiteOrigin } from '../origin.ts'
import { noCookie, openedCookie, sealedCookie } from './sealed-cookie.ts'

/** The redirect to the issuer and back. A sealed cookie keeps its purpose, so that any process can complete it. */

export interface OidcFlow {
  readonly purpose: 'signin' | 'confirm' | 'link' | 'invitation'
  /** The session, or the secret of the invitation, that it is for; empty for a sign-in. */
  readonly subject: string
  /** The path to redirect to when it has succeeded. */
  readonly next: string
}

interface PendingFlow extends OidcFlow {
  readonly request: OidcRequest
}

export const CALLBACK_PATH = '/signin/oidc/callback'

/** Sends the browser to the issuer. Throws OidcError. */
export async function sendToIssuer(
  { store, oidc, site }: OidcContext,
  { context: { now } }: FastifyRequest,
  reply: FastifyReply,
  flow: OidcFlow,
) {
  const { url, request } = await oidc.begin(site.baseUrl + CALLBACK_PATH, { asksAgain: flow.purpose === 'confirm' })
  const pending: PendingFlow = { ...flow, request }
  const cookie = await sealedCookie(store, { site, name: COOKIE, now }, pending, FLOW_MS)
  return reply.header('Set-Cookie', cookie).redirect(url, 303)
}

/** What the browser was sent to the issuer for; undefined if that was too long ago, or in another browser. */
export async function openFlow(
  { store, site }: OidcContext,
  request: FastifyRequest,
): Promise<PendingFlow | undefined> {
  const cookies = parseCookies(request.headers.cookie)
  // Only `sendToIssuer` seals for this name.
  return (await openedCookie(store, cookies, { site, name: COOKIE, now: request.context.now })) as
    | PendingFlow
    | undefined
}

/** The identity that the issuer confirmed. Throws OidcError. */
export async function identify(
  { oidc, site }: OidcContext,
  { context }: FastifyRequest,
  flow: PendingFlow,
): Promise<OidcIdentity> {
  return oidc.finish(new URL(`${site.baseUrl}${CALLBACK_PATH}?${context.target.query}`), flow.request)
}

/** A cookie header that removes the flow, so that its callback works only once. */
export function forgetFlow({ site }: Pick<OidcContext, 'site'>): string {
  return noCookie({ site, name: COOKIE })
}

/** The message for a person, and whether it counts as a failed attempt: only a refused response can have been a guess. */
export function oidcProblem({ reason, why }: OidcError, name: string) {
  const counts = reason === 'refused'
  switch (reason) {
    case 'away':
      return {
        problem: `At the moment, ${name} cannot be used: ${why}. Try again later, or use another sign-in method.`,
        status: 503,
        counts,
      }
    case 'declined':
      return { problem: `The sign-in with ${name} was not completed there.`, status: 403, counts }
    case 'refused':
      return {
        problem: `The sign-in with ${name} was not accepted: ${why}. Try again, or use another sign-in method.`,
        status: 403,
        counts,
      }
    default:
      return reason satisfies never
  }
}

export const TOO_LATE = 'That took too long, or was started in another browser. Try again.'

/** What redirects to the issuer and its callback need. */
export interface OidcContext {
  readonly store: Store
  readonly config: Config
  readonly oidc: Oidc
  readonly site: SiteOrigin
}

const COOKIE = 'oidc'
const FLOW_MS = 10 * 60_000
