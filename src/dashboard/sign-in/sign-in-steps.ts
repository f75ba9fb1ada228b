import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasAccounts } from '../../accounts/accounts.ts'
import { beginSession } from '../../accounts/browser-sessions.ts'
import type { Proof } from '../../accounts/proofs.ts'
import { readSignInMethods } from '../../accounts/sign-in-methods.ts'
import type { SignInMethod } from '../../store/tables.ts'
import { tooManyAttempts } from './attempts.ts'
import { formFields, actorOf, readDisplay, sessionOf } from '../visit.ts'
import type { DashboardOptions } from '../options.ts'
import { parseCookies, siteOriginOf, safePath } from '../site.ts'
import { signInAddress } from './reauthentication.ts'
import { firstSteps, type SignInState, signInForms } from './signin-form.ts'
import { sendSignedOutPage } from '../layout/error-page.ts'
import { sendSignedIn, sessionStart } from './session-cookie.ts'
import { makeSignInLimits } from './sign-in-limits.ts'

/** The steps that all sign-in methods have in common: check the limits, start the session, show the page that says what was wrong. */

export type SignInVisit = Awaited<ReturnType<typeof signInVisit>>

/** With `again` in the fields, somebody who is signed in has to prove who they are: it has their session. */
export async function signInVisit(
  { store, config }: Pick<DashboardOptions, 'store' | 'config'>,
  request: FastifyRequest,
  reply: FastifyReply,
  form = formFields(request),
) {
  const site = siteOriginOf(request.context, config)
  const session = form.has('again') ? await sessionOf(store, request, site) : undefined
  return { request, reply, site, form, session }
}

interface Attempted {
  readonly method: SignInMethod
  /** As it was entered. The attempt also counts for this account. */
  readonly username?: string
  /** The message if the proof is wrong. */
  readonly wrong: string
}

/** A failure with a message of its own. */
interface OtherProblem {
  readonly problem: string
  readonly status: number
  /** Whether it counts as a failed attempt. */
  readonly counts: boolean
}

export function makeSignInSteps({ store, config, events, sample, oidc }: DashboardOptions) {
  const limits = makeSignInLimits(store, config)
  let isEmpty = true

  /** Sends the page with all sign-in methods, or those of the account that has to sign in again. */
  const show = async (
    { request, reply, site, session }: SignInVisit,
    shown: Omit<SignInState, 'site' | 'oidc' | 'again'>,
    status = 200,
  ) => {
    const again = session && {
      methods: await readSignInMethods(store.reads, session.accountId, signInAddress({ site, oidc })),
      username: readDisplay(parseCookies(request.headers.cookie)).discreet ? '' : session.username,
    }
    // The store is not queried again once there is an account. If it cannot be read, the form is shown.
    if (isEmpty) isEmpty = !(await hasAccounts(store).catch(() => true))
    const forms = isEmpty ? firstSteps : signInForms({ ...shown, site, oidc, again }, sample)
    return sendSignedOutPage(request, reply.code(status), forms)
  }

  /** Signs somebody in if `check` returns a proof of who they are. It is called only if there were not too many attempts. */
  const attempt = async (
    visit: SignInVisit,
    { method, username, wrong }: Attempted,
    check: () => Promise<Proof | OtherProblem | undefined>,
  ) => {
    const { request, reply, site, form, session } = visit
    const shown = { next: safePath(form.get('next')), ...(username === undefined ? {} : { username }) }
    if (form.has('again') && session === undefined)
      return reply.redirect(`/signin?${new URLSearchParams({ next: shown.next })}`, 303)
    const limit = await limits.begin(visit, method, username)
    if (limit.waitMs > 0) {
      request.context.limit = 'attempts'
      reply.header('Retry-After', String(Math.ceil(limit.waitMs / 1000)))
      return show(visit, { ...shown, problem: tooManyAttempts(limit) }, 429)
    }
    const proof = await check().catch((error: unknown) => {
      limit.refund()
      throw error
    })
    if (proof !== undefined && 'problem' in proof) {
      if (!proof.counts) limit.refund()
      return show(visit, { ...shown, problem: proof.problem }, proof.status)
    }
    if (proof === undefined || (session !== undefined && session.accountId !== proof.accountId)) {
      if (username !== undefined) {
        const { network, browser } = actorOf(request, config)
        events.count({ type: 'sign-in-failed', username, now: request.context.now, network, browser })
      }
      return show(visit, { ...shown, problem: wrong }, 403)
    }
    limit.refund()
    const secret = await beginSession(store, { ...(await sessionStart({ store, config }, request, site)), proof })
    if (secret === undefined) return show(visit, { ...shown, problem: wrong }, 403)
    return sendSignedIn(reply, { store, site }, { accountId: proof.accountId, secret }, shown.next)
  }

  return { show, attempt }
}

export type SignInSteps = ReturnType<typeof makeSignInSteps>
