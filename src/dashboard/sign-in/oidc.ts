import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { confirmSession } from '../../accounts/browser-sessions.ts'
import { linkOwnIdentity, useIdentity } from '../../accounts/identities.ts'
import { acceptInvitation, findInvitation, INVITATION_PATH } from '../../accounts/invitations.ts'
import type { Oidc, OidcIdentity } from '../../accounts/oidc.ts'
import { OidcError } from '../../accounts/oidc-errors.ts'
import { parseCookies } from '../cookies.ts'
import { isFresh } from './reauthentication.ts'
import { html, type Html } from '../html.ts'
import {
  CALLBACK_PATH,
  type OidcContext,
  forgetFlow,
  identify,
  type OidcFlow,
  openFlow,
  oidcProblem,
  sendToIssuer,
  TOO_LATE,
} from './oidc-flow.ts'
import { hasInvitationMark, hasSessionMark } from './oidc-start.ts'
import { problemOf } from '../layout/form-page.ts'
import type { DashboardOptions } from '../options.ts'
import { isFromAnotherSite, siteOriginOf, safePath } from '../origin.ts'
import { insecureExplanation, sendSignedOutPage } from '../layout/signed-out-page.ts'
import { actorOf, sendSignedIn, sessionCookie, sessionOf, sessionStart } from './session-cookie.ts'
import { type SignInSteps, signInVisit } from './sign-in-steps.ts'

/** Redirects to the issuer and its callback: to sign in, to prove again who somebody is, to link an account, to accept an invitation. */
export function registerOidc(scope: FastifyInstance, dashboard: DashboardOptions, signInSteps: SignInSteps) {
  const { oidc } = dashboard
  if (oidc === undefined) return
  const options = { ...dashboard, oidc, signInSteps }
  registerRedirects(scope, options)
  scope.get(CALLBACK_PATH, (request, reply) => handleCallback(options, request, reply))
}

interface OidcOptions extends DashboardOptions {
  readonly oidc: Oidc
  readonly signInSteps: SignInSteps
}

function registerRedirects(scope: FastifyInstance, options: OidcOptions) {
  const { store } = options
  const queryOf = ({ context }: FastifyRequest) => new URLSearchParams(context.target.query)
  scope.get('/signin/oidc', async (request, reply) => {
    const next = safePath(queryOf(request).get('next'))
    // A link on another site must not sign in somebody else.
    if ((await sessionOf(store, request, oidcContextOf(options, request).site)) !== undefined)
      return reply.redirect(next, 303)
    // At the issuer somebody may be signed in already, and would be signed in here without having asked for it.
    if (isFromAnotherSite(request)) return reply.redirect(`/signin?next=${encodeURIComponent(next)}`, 303)
    return begin(options, request, reply, { purpose: 'signin', subject: '', next })
  })
  scope.get(`${INVITATION_PATH}:secret/oidc`, async (request, reply) => {
    // The path has this parameter.
    const { secret } = request.params as { secret: string }
    const { now } = request.context
    const opened = { secret, site: oidcContextOf(options, request).site, now }
    const cookies = parseCookies(request.headers.cookie)
    const isMarked = await hasInvitationMark(store, opened, cookies, queryOf(request).get('mark') ?? '')
    if (!isMarked || (await findInvitation(store, secret, now)) === undefined) {
      return reply.redirect(`${INVITATION_PATH}${encodeURIComponent(secret)}`, 303)
    }
    return begin(options, request, reply, { purpose: 'invitation', subject: secret, next: '/' })
  })
  scope.get('/confirm/oidc', async (request, reply) => {
    const session = await sessionOf(store, request, oidcContextOf(options, request).site)
    if (session === undefined) return reply.redirect('/signin', 303)
    const flow = { purpose: 'confirm', subject: String(session.id), next: '/confirm/continue' } as const
    return begin(options, request, reply, flow)
  })
  scope.get('/settings/oidc/start', async (request, reply) => {
    const session = await sessionOf(store, request, oidcContextOf(options, request).site)
    if (session === undefined) return reply.redirect('/signin', 303)
    const { now } = request.context
    const isMarked = await hasSessionMark(store, session.id, queryOf(request).get('mark') ?? '', now)
    if (!isMarked || !isFresh(session, now)) return reply.redirect('/settings/oidc', 303)
    const flow = { purpose: 'link', subject: String(session.id), next: '/settings?saved=oidc' } as const
    return begin(options, request, reply, flow)
  })
}

async function begin(options: OidcOptions, request: FastifyRequest, reply: FastifyReply, flow: OidcFlow) {
  const oidcContext = oidcContextOf(options, request)
  if (!oidcContext.site.maySignIn) return sendSignedOutPage(request, reply.code(403), insecureExplanation)
  try {
    return await sendToIssuer(oidcContext, request, reply, flow)
  } catch (error) {
    return showProblem(options, request, reply, error, flow)
  }
}

async function handleCallback(options: OidcOptions, request: FastifyRequest, reply: FastifyReply) {
  const { config, signInSteps } = options
  const oidcContext = oidcContextOf(options, request)
  const flow = await openFlow(oidcContext, request)
  reply.header('Set-Cookie', forgetFlow(oidcContext))
  if (flow === undefined) {
    return signInSteps.show(signInVisit(config, request, reply), { next: '/', problem: TOO_LATE }, 400)
  }
  if (flow.purpose === 'signin') {
    const visit = { ...signInVisit(config, request, reply), form: new URLSearchParams({ next: flow.next }) }
    return signInSteps.attempt(visit, { method: 'oidc', wrong: NOT_LINKED }, async () => {
      const identity = await identify(oidcContext, request, flow).catch((error: unknown) =>
        logOidcError(options, request, error),
      )
      return 'problem' in identity ? identity : provedBy(oidcContext, identity, request.context.now)
    })
  }
  try {
    const identity = await identify(oidcContext, request, flow)
    return await outcomes[flow.purpose](oidcContext, request, reply, flow, identity)
  } catch (error) {
    return showProblem(options, request, reply, error, flow)
  }
}

/** Shows what went wrong at the issuer: on the sign-in page, or with a link back to the page that the redirect began on. */
async function showProblem(
  options: OidcOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  { purpose, next, subject }: OidcFlow,
) {
  const { problem, status } = logOidcError(options, request, error)
  if (purpose === 'signin')
    return options.signInSteps.show(signInVisit(options.config, request, reply), { next, problem }, status)
  const back = { invitation: `${INVITATION_PATH}${subject}`, link: '/settings', confirm: next }[purpose]
  return sendSignedOutPage(request, reply.code(status), problemPage(problem, back), TITLE)
}

/** Logs an error of the issuer, and returns its message for people. Throws any other error. */
function logOidcError({ log, oidc }: OidcOptions, request: FastifyRequest, error: unknown) {
  if (!(error instanceof OidcError)) throw error
  if (error.reason !== 'declined') log.failure(error, request.context.requestId)
  return oidcProblem(error, oidc.name)
}

function oidcContextOf({ store, oidc, config }: OidcOptions, request: FastifyRequest): OidcContext {
  return { store, oidc, config, site: siteOriginOf(request.context, config) }
}

const NOT_LINKED = 'No account here is linked with this sign-in. Sign in with another method, and link it in Settings.'

/** What to do once the issuer has identified somebody. */
const outcomes = { confirm, link, invitation: acceptWith } as const

async function provedBy({ store }: OidcContext, identity: OidcIdentity, now: number) {
  const used = await useIdentity(store, identity, now)
  return used === undefined
    ? undefined
    : ({ method: 'oidc', ...used, authenticatedAt: identity.authenticatedAt } as const)
}

async function confirm(
  oidcContext: OidcContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { subject, next }: OidcFlow,
  identity: OidcIdentity,
) {
  const { store, site } = oidcContext
  const { now } = request.context
  const session = await sessionOf(store, request, site)
  if (session === undefined || String(session.id) !== subject) return refuse(request, reply, TOO_LATE, '/')
  const proof = await provedBy(oidcContext, identity, now)
  const isOwn = proof?.accountId === session.accountId
  const secret = isOwn ? await confirmSession(store, { proof, id: session.id, now }) : undefined
  if (secret === undefined) {
    return refuse(request, reply, 'That sign-in is not linked with this account.', '/settings')
  }
  return reply.header('Set-Cookie', sessionCookie(site, secret)).redirect(next, 303)
}

async function link(
  { store, site, config }: OidcContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { subject, next }: OidcFlow,
  identity: OidcIdentity,
) {
  const { now } = request.context
  const session = await sessionOf(store, request, site)
  if (session === undefined || String(session.id) !== subject) return refuse(request, reply, TOO_LATE, '/')
  if (!isFresh(session, now)) return reply.redirect('/settings/oidc', 303)
  const { accountId } = session
  try {
    await linkOwnIdentity(store, { accountId, identity }, now, actorOf(request, config))
  } catch (error) {
    return refuse(request, reply, problemOf(error), '/settings')
  }
  return reply.redirect(next, 303)
}

async function acceptWith(
  { store, site, config }: OidcContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { subject: secret, next }: OidcFlow,
  identity: OidcIdentity,
) {
  const { authenticatedAt } = identity
  const start = await sessionStart({ store, config }, request, site)
  const back = `${INVITATION_PATH}${secret}`
  try {
    const session = await acceptInvitation(store, {
      ...start,
      secret,
      chosen: { method: 'oidc', identity, authenticatedAt },
    })
    // The page of the invitation says that it no longer works.
    if (session === undefined) return await reply.redirect(back, 303)
    return await sendSignedIn(reply, { store, site }, session, next)
  } catch (error) {
    return refuse(request, reply, problemOf(error), back)
  }
}

function refuse(request: FastifyRequest, reply: FastifyReply, problem: string, back: string) {
  return sendSignedOutPage(request, reply.code(403), problemPage(problem, back), TITLE)
}

const TITLE = 'Sign-in'

function problemPage(problem: string, back: string): Html {
  return html`
    <div class="card stack">
      <h1>That did not work</h1>
      <p class="problem" role="alert">${problem}</p>
      <p><a class="button" href="${back}">Back</a></p>
    </div>
  `
}
