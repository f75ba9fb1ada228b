import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addFirstAccount, FIRST_ACCOUNT_PATH, isFirstAccountLink } from '../../accounts/first-account.ts'
import { html, type Html, nothing } from '../html.ts'
import { problemOf } from '../layout/form-page.ts'
import { sendSignedOutPage } from '../layout/signed-out-page.ts'
import type { DashboardOptions } from '../options.ts'
import { siteOriginOf } from '../site.ts'
import { newPasswordFields, PASSWORDS_DIFFER, readNewPassword } from './new-password.ts'
import { sendSignedIn, sessionStart, timeZoneField } from './session-cookie.ts'
import { formFields } from '../visit.ts'

/** The page that the link leads to which a service without accounts prints at its start. */
export function registerFirstAccount(scope: FastifyInstance, { store, config }: DashboardOptions) {
  const path = `${FIRST_ACCOUNT_PATH}:secret`

  const show = async (request: FastifyRequest, reply: FastifyReply, entered?: Entered) => {
    const secret = secretOf(request)
    const works = await isFirstAccountLink(store, secret, request.context.now)
    if (!works) return sendSignedOutPage(request, reply.code(404), ended, TITLE)
    return sendSignedOutPage(
      request,
      reply.code(entered === undefined ? 200 : 422),
      accountForm(secret, entered),
      TITLE,
    )
  }

  scope.get(path, (request, reply) => show(request, reply))
  scope.post(path, async (request, reply) => {
    const site = siteOriginOf(request.context, config)
    const form = formFields(request)
    const username = form.get('username') ?? ''
    const password = readNewPassword(form)
    if (password === undefined) return show(request, reply, { username, problem: PASSWORDS_DIFFER })
    const start = await sessionStart({ store, config }, request, site)
    try {
      const session = await addFirstAccount(store, { ...start, secret: secretOf(request), username, password })
      if (session === undefined) return await sendSignedOutPage(request, reply.code(404), ended, TITLE)
      return await sendSignedIn(reply, { store, site }, session, '/')
    } catch (error) {
      return show(request, reply, { username, problem: problemOf(error) })
    }
  })
}

const TITLE = 'Create the first account'

interface Entered {
  readonly username: string
  readonly problem: string
}

function secretOf({ params }: FastifyRequest): string {
  // The path has this parameter.
  return (params as { secret: string }).secret
}

function accountForm(secret: string, entered: Entered | undefined): Html {
  return html`
    <div class="card stack">
      <h1>${TITLE}</h1>
      <p>Nobody has an account here yet. This one is yours: sign in with it from now on.</p>
      ${entered === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${entered.problem}</p>`}
      <form class="stack" method="post" action="${FIRST_ACCOUNT_PATH}${secret}">
        ${timeZoneField}
        <label>Username<input name="username" autocomplete="username" value="${entered?.username ?? ''}" required autofocus></label>
        ${newPasswordFields('Password', { problem: entered?.problem })}
        <button class="primary">Create the account</button>
      </form>
      <p class="muted small">You can add a passkey in Settings.</p>
    </div>
  `
}

const ended = html`
  <div class="card stack">
    <h1>This link no longer works</h1>
    <p>A link for the first account works once, for an hour, and until the service starts again. While there is no account, each start prints a new one.</p>
    <p><a class="button" href="/signin">Sign in</a></p>
  </div>
`
