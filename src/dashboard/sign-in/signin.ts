import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { endSession } from '../../accounts/browser-sessions.ts'
import { verifyPasskey } from '../../accounts/passkeys.ts'
import { verifyPassword } from '../../accounts/passwords.ts'
import { isFresh } from './reauthentication.ts'
import { NOT_ACCEPTED } from './fields.ts'
import { formFields, SESSION, sessionOf } from '../visit.ts'
import type { DashboardOptions } from '../options.ts'
import { siteOriginOf, safePath, parseCookies, clearSiteData } from '../site.ts'
import { challengeOf, noCookie } from './sealed-cookie.ts'
import { type SignInSteps, signInVisit } from './sign-in-steps.ts'

/** Signing in with a password or a passkey, and signing out. */
export function registerSignIn(scope: FastifyInstance, options: DashboardOptions, signInSteps: SignInSteps) {
  const { store, config } = options
  scope.get('/signin', async (request, reply) => {
    const { target, now } = request.context
    const query = new URLSearchParams(target.query)
    const next = safePath(query.get('next'))
    const visit = await signInVisit(options, request, reply, query)
    const session = visit.session ?? (await sessionOf(store, request, visit.site))
    if (session !== undefined && (visit.session === undefined || isFresh(session, now)))
      return reply.redirect(next, 303)
    return signInSteps.show(visit, { next, isDeleted: query.get('done') === 'deleted' })
  })
  scope.post('/signin', async (request, reply) => {
    const visit = await signInVisit(options, request, reply)
    const { form, session } = visit
    const username = session?.username ?? form.get('username') ?? ''
    const wrong = session === undefined ? 'The username or the password is wrong.' : 'The password is wrong.'
    return signInSteps.attempt(visit, { method: 'password', username, wrong }, () =>
      verifyPassword(store, username, form.get('password') ?? ''),
    )
  })
  scope.post('/signin/passkey', async (request, reply) => {
    const visit = await signInVisit(options, request, reply)
    return signInSteps.attempt(visit, { method: 'passkey', wrong: NOT_ACCEPTED }, async () => {
      const { now } = request.context
      const cookies = parseCookies(request.headers.cookie)
      const challenge = await challengeOf(store, cookies, 'signin', { site: visit.site, now })
      return verifyPasskey(store, visit.form.get('answer'), challenge, now)
    })
  })
  scope.post('/signout', async (request, reply) => {
    const site = siteOriginOf(request.context, config)
    const session = await sessionOf(store, request, site)
    if (session !== undefined) await endSession(store, session.id)
    return reply
      .headers(clearSiteData())
      .header('Set-Cookie', noCookie({ site, name: SESSION }))
      .redirect('/signin', 303)
  })
}

/** Redirects somebody who is not signed in to the form, which leads back afterwards. */
export function askToSignIn({ method, body, context: { target } }: FastifyRequest, reply: FastifyReply) {
  // A form that was sent after its session ended cannot be sent again from here: its page is opened instead.
  const next =
    method === 'POST' ? pageOfForm(body, target.path) : `${target.path}${target.query === '' ? '' : `?${target.query}`}`
  if (next === '/') return reply.redirect('/signin', 303)
  return reply.redirect(`/signin?${new URLSearchParams({ next })}`, 303)
}

/** The page that a form was on. */
function pageOfForm(body: unknown, path: string): string {
  const fields = formFields({ body })
  if (fields.has('back')) return safePath(fields.get('back'))
  return /^\/keys\/\d+\/[a-z]+$/.test(path) ? path : (/^\/[a-z]+(-[a-z]+)*/.exec(path)?.[0] ?? '/')
}
