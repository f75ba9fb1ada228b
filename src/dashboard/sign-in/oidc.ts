import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { linkOwnIdentity, useIdentity } from '../../accounts/identities.ts'
import { findInvitation, INVITATION_PATH } from '../../accounts/invitations.ts'
import type { Oidc, OidcRequest } from '../../accounts/oidc.ts'
import { OidcError } from '../../accounts/oidc-errors.ts'
import { Refusal } from '../../contract/refusal.ts'
import { isFresh } from './reauthentication.ts'
import { html } from '../html.ts'
import { problemOf } from '../layout/form-page.ts'
import type { DashboardOptions } from '../options.ts'
import { isFromAnotherSite, parseCookies, siteOriginOf, safePath } from '../site.ts'
import { sendSignedOutPage } from '../layout/error-page.ts'
import { noCookie, openedCookie, sealedCookie } from './sealed-cookie.ts'
import { useInvitation } from './invitation.ts'
import { type SignInSteps, signInVisit } from './sign-in-steps.ts'
import { actorOf, sessionOf } from '../visit.ts'

interface OidcFlow {
  readonly purpose: 'signin' | 'again' | 'link' | 'invitation'
  /** The session, or the secret of the invitation, that it is for; empty for a sign-in. */
  readonly subject: string
  /** The path to redirect to when it has succeeded. */
  readonly next: string
}

interface PendingFlow extends OidcFlow {
  readonly asked: OidcRequest
}

interface OidcOptions extends DashboardOptions {
  readonly oidc: Oidc
  readonly signInSteps: SignInSteps
}

/**
 * The ways to the issuer and its callback: to sign in, also again, to link an account, to accept an invitation.
 * The last two begin with a form of this service, because whoever followed a link could be linked with an account of somebody else.
 */
export function registerOidc(scope: FastifyInstance, dashboard: DashboardOptions, signInSteps: SignInSteps) {
  const { oidc, store } = dashboard
  if (oidc === undefined) return
  const options = { ...dashboard, oidc, signInSteps }
  scope.get('/signin/oidc', async (request, reply) => {
    const query = new URLSearchParams(request.context.target.query)
    const next = safePath(query.get('next'))
    const purpose = query.has('again') ? 'again' : 'signin'
    // A link on another site must not sign in somebody else.
    if (purpose === 'signin' && (await sessionOf(store, request, placeOf(options, request).site)) !== undefined)
      return reply.redirect(next, 303)
    // At the issuer somebody may be signed in already, and would be signed in here without having asked for it.
    if (isFromAnotherSite(request)) return reply.redirect(`/signin?${new URLSearchParams({ next })}`, 303)
    return begin(options, request, reply, { purpose, subject: '', next })
  })
  scope.post('/settings/oidc', async (request, reply) => {
    const session = await sessionOf(store, request, placeOf(options, request).site)
    if (session === undefined || !isFresh(session, request.context.now)) return reply.redirect('/settings/oidc', 303)
    const flow = { purpose: 'link', subject: String(session.id), next: '/settings?saved=oidc' } as const
    return begin(options, request, reply, flow)
  })
  scope.post(`${INVITATION_PATH}:secret/oidc`, async (request, reply) => {
    // The path has this parameter.
    const { secret } = request.params as { secret: string }
    const invited = await findInvitation(store, secret, request.context.now)
    if (invited?.id === undefined) return reply.redirect(`${INVITATION_PATH}${encodeURIComponent(secret)}`, 303)
    return begin(options, request, reply, { purpose: 'invitation', subject: secret, next: '/' })
  })
  scope.get(CALLBACK_PATH, (request, reply) => handleCallback(options, request, reply))
}

/** Redirects to the issuer, with a cookie that completes the flow, so that any process can. */
async function begin(options: OidcOptions, request: FastifyRequest, reply: FastifyReply, flow: OidcFlow) {
  const { oidc, store } = options
  const place = placeOf(options, request)
  try {
    const { url, request: asked } = await oidc.begin(place.site.baseUrl + CALLBACK_PATH, {
      asksAgain: flow.purpose === 'again',
    })
    const pending: PendingFlow = { ...flow, asked }
    reply.header('Set-Cookie', await sealedCookie(store, place, pending, FLOW_MS))
    if (request.method !== 'POST') return await reply.redirect(url, 303)
    // The policy of pages lets no form be redirected to another site.
    const page = html`<div class="card stack"><h1>Sign-in with ${oidc.name}</h1><p><a class="button" href="${url}">Continue with ${oidc.name}</a></p></div>`
    return await sendSignedOutPage(request, reply.header('Refresh', `0; url=${url}`), page, TITLE)
  } catch (error) {
    return showProblem(options, request, reply, error, flow)
  }
}

async function handleCallback(options: OidcOptions, request: FastifyRequest, reply: FastifyReply) {
  const { store, config, oidc, signInSteps } = options
  const { now, target } = request.context
  const place = placeOf(options, request)
  // Only `begin` seals for this name. The cookie works once, and not in another browser.
  const flow = (await openedCookie(store, parseCookies(request.headers.cookie), place)) as PendingFlow | undefined
  reply.header('Set-Cookie', noCookie(place))
  const visit = await signInVisit(options, request, reply, flow === undefined ? undefined : fieldsOf(flow))
  if (flow === undefined) return signInSteps.show(visit, { next: '/', problem: problemOf(TOO_LATE) }, 400)
  const identify = () => oidc.finish(new URL(`${place.site.baseUrl}${CALLBACK_PATH}?${target.query}`), flow.asked)
  if (isSignIn(flow)) {
    const wrong = visit.session === undefined ? NOT_LINKED : 'That sign-in is not linked with this account.'
    return signInSteps.attempt(visit, { method: 'oidc', wrong }, async () => {
      const identity = await identify().catch((error: unknown) => oidcProblem(options, request, error))
      return 'problem' in identity ? identity : useIdentity(store, identity, now)
    })
  }
  try {
    const identity = await identify()
    if (flow.purpose === 'invitation') {
      const chosen = { method: 'oidc', identity } as const
      return await useInvitation(options, request, reply, { secret: flow.subject, chosen })
    }
    const session = await sessionOf(store, request, place.site)
    if (session === undefined || String(session.id) !== flow.subject || !isFresh(session, now)) throw TOO_LATE
    await linkOwnIdentity(store, { accountId: session.accountId, identity }, now, actorOf(request, config))
    return await reply.redirect(flow.next, 303)
  } catch (error) {
    return showProblem(options, request, reply, error, flow)
  }
}

function isSignIn({ purpose }: OidcFlow): boolean {
  return purpose === 'signin' || purpose === 'again'
}

/** The fields that the form of such a sign-in has. */
function fieldsOf({ purpose, next }: OidcFlow): URLSearchParams {
  return new URLSearchParams(purpose === 'again' ? { next, again: '1' } : { next })
}

/** Shows what went wrong: on the sign-in page, or with a link back to the page that the way to the issuer began on. */
async function showProblem(
  options: OidcOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  flow: OidcFlow,
) {
  const { next, subject } = flow
  const { problem, status } =
    error instanceof Refusal ? { problem: problemOf(error), status: 403 } : oidcProblem(options, request, error)
  if (isSignIn(flow)) {
    const visit = await signInVisit(options, request, reply, fieldsOf(flow))
    return options.signInSteps.show(visit, { next, problem }, status)
  }
  const back = flow.purpose === 'link' ? '/settings' : `${INVITATION_PATH}${subject}`
  const page = html`
    <div class="card stack">
      <h1>That did not work</h1>
      <p class="problem" role="alert">${problem}</p>
      <p><a class="button" href="${back}">Back</a></p>
    </div>
  `
  return sendSignedOutPage(request, reply.code(status), page, TITLE)
}

/**
 * Logs an error of the issuer, and returns its message for people. It counts as a failed attempt only if the response was refused,
 * which can have been a guess. Throws any other error.
 */
function oidcProblem({ log, oidc: { name } }: OidcOptions, request: FastifyRequest, error: unknown) {
  if (!(error instanceof OidcError)) throw error
  const { reason, why } = error
  if (reason === 'declined') {
    return { problem: `The sign-in with ${name} was not completed there.`, status: 403, counts: false }
  }
  log.failure(error, request.context.requestId)
  const [what, status] =
    reason === 'away' ? (['cannot be used now', 503] as const) : (['was not accepted', 403] as const)
  const problem = `The sign-in with ${name} ${what}: ${why}. Try again later, or use another sign-in method.`
  return { problem, status, counts: reason === 'refused' }
}

/** Of the cookie that keeps what the browser was sent to the issuer for. */
function placeOf({ config }: OidcOptions, { context }: FastifyRequest) {
  return { site: siteOriginOf(context, config), name: 'oidc', now: context.now }
}

const CALLBACK_PATH = '/signin/oidc/callback'
const FLOW_MS = 10 * 60_000
const TITLE = 'Sign-in'
const TOO_LATE = new Refusal('refused', 'that took too long, or was started in another browser')
const NOT_LINKED = 'No account here is linked with this sign-in. Sign in with another method, and link it in Settings.'
