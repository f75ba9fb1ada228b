import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RefusedError } from '../../accounts/errors.ts'
import { acceptInvitation, findInvitation, INVITATION_PATH } from '../../accounts/invitations.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../accounts/passwords.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import { siteOriginOf } from '../origin.ts'
import { sessionCookie } from '../session-cookie.ts'
import { explanation, sendPlain } from './signin.ts'

/** The page that an invitation leads to. Opening it uses nothing up, because previews of links open them, too. */
export function registerInvitations(scope: FastifyInstance, { store, config }: DashboardOptions) {
  const path = `${INVITATION_PATH}:secret`

  /** Sends the form; false if the invitation was used, has expired or never existed. */
  const show = async (request: FastifyRequest, reply: FastifyReply, problem?: string) => {
    const secret = secretOf(request)
    const invitation = await findInvitation(store, secret, request.context.now)
    if (invitation === undefined) return sendPlain(request, reply.code(404), ended, TITLE)
    const form = passwordForm(secret, invitation.username, problem)
    return sendPlain(request, reply.code(problem === undefined ? 200 : 422), form, TITLE)
  }

  scope.get(path, (request, reply) =>
    siteOriginOf(request.context, config).maySignIn
      ? show(request, reply)
      : sendPlain(request, reply.code(403), explanation),
  )

  scope.post(path, async (request, reply) => {
    const site = siteOriginOf(request.context, config)
    if (!site.maySignIn) return sendPlain(request, reply.code(403), explanation)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const password = form.get('next') ?? ''
    if (password !== form.get('again')) return show(request, reply, 'The two passwords differ.')
    let session: string | undefined
    try {
      const browser = request.headers['user-agent'] ?? ''
      session = await acceptInvitation(store, {
        secret: secretOf(request),
        password,
        browser,
        now: request.context.now,
      })
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      return show(request, reply, `A password has ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters.`)
    }
    if (session === undefined) return sendPlain(request, reply.code(404), ended, TITLE)
    return reply.header('Set-Cookie', sessionCookie(site, session)).redirect('/', 303)
  })
}

const TITLE = 'Choose a password'

function secretOf({ params }: FastifyRequest): string {
  // The path has this parameter.
  return (params as { secret: string }).secret
}

function passwordForm(secret: string, username: string, problem: string | undefined): Html {
  return html`
    <form class="card stack" method="post" action="${INVITATION_PATH}${secret}">
      <h1>${TITLE}</h1>
      <p>For the account <strong>${username}</strong>. It ends every session that is open; API keys stay as they are.</p>
      ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
      <input type="hidden" name="username" autocomplete="username" value="${username}">
      <label>Password <span class="muted">${MIN_PASSWORD_LENGTH} characters or more</span>
        <input name="next" type="password" autocomplete="new-password" required minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH}" autofocus${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
      </label>
      <label>Password again
        <input name="again" type="password" autocomplete="new-password" required minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH}">
      </label>
      <button class="primary">Set password and sign in</button>
    </form>
  `
}

const ended = html`
  <div class="card stack">
    <h1>This link no longer works</h1>
    <p>A link to choose a password works once, and for 24 hours. Whoever runs this service can make another one, with <code>./lockstep account invite</code>.</p>
    <p><a class="button" href="/signin">Sign in</a></p>
  </div>
`
