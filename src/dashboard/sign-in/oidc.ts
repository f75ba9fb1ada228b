import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { linkOwnIdentity, useIdentity } from '../../accounts/identities.ts'
import { acceptInvitation, findInvitation, INVITATION_PATH } from '../../accounts/invitations.ts'
import type { Oidc, OidcIdentity } from '../../accounts/oidc.ts'
import { OidcError } from '../../accounts/oidc-errors.ts'
import type { Proof } from '../../accounts/proofs.ts'
import { Refusal } from '../../contract/refusal.ts'
import { isFresh } from './reauthentication.ts'
import { html } from '../html.ts'
import { beginFlow, CALLBACK_PATH, identify, type OidcContext, type OidcFlow, takeFlow } from './oidc-flow.ts'
import { problemOf } from '../layout/form-page.ts'
import type { DashboardOptions } from '../options.ts'
import { isFromAnotherSite, siteOriginOf, safePath } from '../site.ts'
import { sendSignedOutPage } from '../layout/signed-out-page.ts'
import { sendSignedIn, sessionStart } from './session-cookie.ts'
import { type SignInSteps, signInVisit } from './sign-in-steps.ts'
import { actorOf, sessionOf } from '../visit.ts'

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
    if (purpose === 'signin' && (await sessionOf(store, request, contextOf(options, request).site)) !== undefined)
      return reply.redirect(next, 303)
    // At the issuer somebody may be signed in already, and would be signed in here without having asked for it.
    if (isFromAnotherSite(request)) return reply.redirect(`/signin?${new URLSearchParams({ next })}`, 303)
    return begin(options, request, reply, { purpose, subject: '', next })
  })
  scope.post('/settings/oidc', async (request, reply) => {
    const session = await sessionOf(store, request, contextOf(options, request).site)
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

async function begin(options: OidcOptions, request: FastifyRequest, reply: FastifyReply, flow: OidcFlow) {
  const oidcContext = contextOf(options, request)
  try {
    const url = await beginFlow(oidcContext, request, reply, flow)
    if (request.method !== 'POST') return await reply.redirect(url, 303)
    // The policy of pages lets no form be redirected to another site.
    return await sendSignedOutPage(request, reply.header('Refresh', `0; url=${url}`), leaving(options.oidc, url), TITLE)
  } catch (error) {
    return showProblem(options, request, reply, error, flow)
  }
}

function leaving({ name }: Oidc, url: string) {
  return html`<div class="card stack"><h1>Sign-in with ${name}</h1><p><a class="button" href="${url}">Continue with ${name}</a></p></div>`
}

async function handleCallback(options: OidcOptions, request: FastifyRequest, reply: FastifyReply) {
  const { store, config, signInSteps } = options
  const { now } = request.context
  const oidcContext = contextOf(options, request)
  const flow = await takeFlow(oidcContext, request, reply)
  const visit = await signInVisit(options, request, reply, flow === undefined ? undefined : fieldsOf(flow))
  if (flow === undefined) return signInSteps.show(visit, { next: '/', problem: problemOf(TOO_LATE) }, 400)
  if (isSignIn(flow)) {
    const wrong = visit.session === undefined ? NOT_LINKED : 'That sign-in is not linked with this account.'
    return signInSteps.attempt(visit, { method: 'oidc', wrong }, async () => {
      const identity = await identify(oidcContext, request, flow).catch((error: unknown) =>
        oidcProblem(options, request, error),
      )
      return 'problem' in identity ? identity : provedBy(oidcContext, identity, now)
    })
  }
  try {
    const identity = await identify(oidcContext, request, flow)
    if (flow.purpose === 'invitation') return await accept(options, request, reply, flow, identity)
    const session = await sessionOf(store, request, oidcContext.site)
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

async function accept(
  options: OidcOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  { subject: secret, next }: OidcFlow,
  identity: OidcIdentity,
) {
  const { store, site } = contextOf(options, request)
  const { authenticatedAt } = identity
  const chosen = { method: 'oidc', identity, authenticatedAt } as const
  const session = await acceptInvitation(store, { ...(await sessionStart(options, request, site)), secret, chosen })
  // The page of the invitation says that it no longer works.
  if (session === undefined) return reply.redirect(`${INVITATION_PATH}${secret}`, 303)
  return sendSignedIn(reply, { store, site }, session, next)
}

async function provedBy(
  { store }: Pick<OidcContext, 'store'>,
  identity: OidcIdentity,
  now: number,
): Promise<Proof | undefined> {
  const used = await useIdentity(store, identity, now)
  return used === undefined ? undefined : { method: 'oidc', ...used, authenticatedAt: identity.authenticatedAt }
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

function contextOf({ store, oidc, config }: OidcOptions, request: FastifyRequest): OidcContext {
  return { store, oidc, site: siteOriginOf(request.context, config) }
}

const TITLE = 'Sign-in'
const TOO_LATE = new Refusal('refused', 'that took too long, or was started in another browser')
const NOT_LINKED = 'No account here is linked with this sign-in. Sign in with another method, and link it in Settings.'
