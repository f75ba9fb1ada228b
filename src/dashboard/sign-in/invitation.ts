import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { browserName } from '../../accounts/events.ts'
import { acceptInvitation, type ChosenMethod, findInvitation, INVITATION_PATH } from '../../accounts/invitations.ts'
import type { Oidc } from '../../accounts/oidc.ts'
import { verifyNewPasskey } from '../../accounts/passkeys.ts'
import { hashSecret } from '../../accounts/secrets.ts'
import { problemOf } from '../layout/form-page.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import { type SiteOrigin, siteOriginOf, parseCookies } from '../site.ts'
import {
  newPasswordFields,
  NOT_ACCEPTED,
  passkeyField,
  passkeyName,
  PASSWORDS_DIFFER,
  readNewPassword,
  whyNoPasskeys,
} from './fields.ts'
import { sendSignedOutPage } from '../layout/error-page.ts'
import { challengeOf } from './sealed-cookie.ts'
import { sendSignedIn, sessionStart, timeZoneField } from './session-cookie.ts'
import { problemNote } from './signin-form.ts'
import { formFields } from '../visit.ts'

/** The page that an invitation leads to. Opening it does not use the invitation up, because link previews also open it. */
export function registerInvitations(scope: FastifyInstance, { store, config, oidc }: DashboardOptions) {
  const path = `${INVITATION_PATH}:secret`

  /** Sends the forms, or says that the invitation was used, has expired or never existed. */
  const show = async (request: FastifyRequest, reply: FastifyReply, problem?: string) => {
    const secret = secretOf(request)
    const invited = await findInvitation(store, secret, request.context.now)
    if (invited === undefined) return sendSignedOutPage(request, reply.code(404), ended, TITLE)
    const entered = formFields(request).get('username') ?? ''
    const site = siteOriginOf(request.context, config)
    const browser = browserName(request.headers['user-agent'] ?? '')
    const { username = entered } = invited
    const choice = { secret, username, problem, site, browser, oidc }
    const forms = invited.id === undefined ? firstAccountForm(choice) : methodsToChoose(choice)
    return sendSignedOutPage(request, reply.code(problem === undefined ? 200 : 422), forms, TITLE)
  }

  /** Uses the invitation up with what was chosen, or shows what is wrong with it. */
  const accept = (method: 'password' | 'passkey') => async (request: FastifyRequest, reply: FastifyReply) => {
    const form = formFields(request)
    const chosen = await chosenIn({ store, config }, request, method)
    if (typeof chosen === 'string') return show(request, reply, chosen)
    const username = form.get('username') ?? ''
    try {
      return await useInvitation({ store, config }, request, reply, { secret: secretOf(request), chosen, username })
    } catch (error) {
      return show(request, reply, problemOf(error))
    }
  }

  scope.get(path, (request, reply) => show(request, reply))
  scope.post(path, accept('password'))
  scope.post(`${path}/passkey`, accept('passkey'))
}

/** Uses an invitation up, and signs in whoever has it. Throws Refusal. */
export async function useInvitation(
  { store, config }: Pick<DashboardOptions, 'store' | 'config'>,
  request: FastifyRequest,
  reply: FastifyReply,
  given: Pick<Parameters<typeof acceptInvitation>[1], 'secret' | 'chosen' | 'username'>,
) {
  const site = siteOriginOf(request.context, config)
  const start = await sessionStart({ store, config }, request, site)
  const session = await acceptInvitation(store, { ...start, ...given })
  if (session === undefined) return sendSignedOutPage(request, reply.code(404), ended, TITLE)
  return sendSignedIn(reply, { store, site }, session, '/')
}

const TITLE = 'Choose a sign-in method'

/** What was chosen, or what is wrong with it. */
async function chosenIn(
  { store, config }: Pick<DashboardOptions, 'store' | 'config'>,
  request: FastifyRequest,
  method: 'password' | 'passkey',
): Promise<ChosenMethod | string> {
  const form = formFields(request)
  if (method === 'password') {
    const password = readNewPassword(form)
    return password === undefined ? PASSWORDS_DIFFER : { method, password }
  }
  const { now } = request.context
  const site = siteOriginOf(request.context, config)
  const subject = hashSecret(secretOf(request))
  const cookies = parseCookies(request.headers.cookie)
  const challenge = await challengeOf(store, cookies, 'invitation', { site, subject, now })
  const passkey = await verifyNewPasskey(store, form.get('answer'), challenge, now)
  return passkey === undefined ? NOT_ACCEPTED : { method, passkey }
}

function secretOf({ params }: FastifyRequest): string {
  // The path has this parameter.
  return (params as { secret: string }).secret
}

interface Choice {
  readonly secret: string
  readonly username: string
  readonly problem: string | undefined
  readonly site: SiteOrigin
  readonly browser: string
  readonly oidc: Oidc | undefined
}

function firstAccountForm(choice: Choice): Html {
  return html`
    <div class="card stack">
      <h1>Create the first account</h1>
      <p>Nobody has an account here yet. This one is yours: sign in with it from now on.</p>
      ${problemNote(choice.problem)}
      ${passwordForm(choice, html`<label>Username<input name="username" autocomplete="username" value="${choice.username}" required autofocus></label>`)}
      <p class="muted small">You can add a passkey in Settings.</p>
    </div>
  `
}

/** A passkey first, where it works: nobody can guess or read it. */
function methodsToChoose(choice: Choice): Html {
  const { username, problem, oidc, secret, site } = choice
  const whyNot = whyNoPasskeys(site)
  const hasPasskeys = whyNot === undefined
  return html`
    <div class="card stack">
      <h1>${TITLE.replace('-', '\u2011')}</h1>
      <p>For the account <strong>${username}</strong>. Browsers that are signed in to it will be signed out. Its API keys and passkeys are kept: if you lost a device, remove its passkey in Settings afterwards.</p>
      ${problemNote(problem)}
      ${hasPasskeys ? passkeyForm(choice) : passwordForm(choice, undefined, true)}
    </div>
    ${
      hasPasskeys
        ? html`<div class="card stack"><h2>Or a password</h2>${passwordForm(choice, undefined, problem !== undefined)}</div>`
        : html`<div class="card stack"><h2>Or a passkey</h2><p class="muted">${whyNot}</p></div>`
    }
    ${oidc === undefined ? nothing : html`<div class="card stack"><h2>Or ${oidc.name}</h2><p>You sign in there, now and from then on.</p><form method="post" action="${INVITATION_PATH}${secret}/oidc"><button>Continue with ${oidc.name}</button></form></div>`}
  `
}

function passwordForm({ secret, username, problem }: Choice, name?: Html, focuses = false): Html {
  return html`
    <form class="stack" method="post" action="${INVITATION_PATH}${secret}">
      ${name ?? html`<input type="hidden" name="username" autocomplete="username" value="${username}">`}
      ${timeZoneField}
      ${newPasswordFields('Password', { problem, focuses })}
      <button class="primary">${name === undefined ? 'Set password and sign in' : 'Create the account'}</button>
    </form>
  `
}

function passkeyForm({ secret, browser }: Choice): Html {
  return html`
    <p class="no-script">Passkeys need JavaScript, which is off in this browser.</p>
    <form class="stack needs-script" method="post" action="${INVITATION_PATH}${secret}/passkey" data-invitation="${secret}">
      <p>A passkey signs you in with the screen lock of your device: a fingerprint, a face or a PIN. A password that the account has is kept.</p>
      ${timeZoneField}
      ${passkeyName(browser)}
      ${passkeyField('invitation')}
      <button class="primary">Add passkey and sign in</button>
    </form>
  `
}

const ended = html`
  <div class="card stack">
    <h1>This link no longer works</h1>
    <p>A link to choose a sign-in method works only once, within 24 hours. Ask whoever runs this service for another one: <code>lockstep account invite</code>. While there is no account, each start of the service prints a link to create the first, for an hour.</p>
    <p><a class="button" href="/signin">Sign in</a></p>
  </div>
`
