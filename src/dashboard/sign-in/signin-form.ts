import { firstAccountCommands } from '../../accounts/first-steps.ts'
import { MAX_NAME_LENGTH } from '../../contract/names.ts'
import { MAX_PASSWORD_LENGTH } from '../../accounts/passwords.ts'
import type { Oidc } from '../../accounts/oidc.ts'
import type { SignInMethods } from '../../accounts/sign-in-methods.ts'
import { ownCommand } from '../../version.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import type { SiteOrigin } from '../site.ts'
import { timeZoneField } from './session-cookie.ts'
import { passkeyField, whyNoPasskeys } from './fields.ts'

export interface SignInState {
  readonly site: SiteOrigin
  readonly oidc: Oidc | undefined
  readonly next: string
  readonly username?: string
  readonly problem?: string | undefined
  /** Whether the account was just deleted. */
  readonly isDeleted?: boolean
  /** Of somebody who is signed in and has to sign in again. */
  readonly again?: SignedInBefore | undefined
}

interface SignedInBefore {
  /** Those that work here. */
  readonly methods: SignInMethods
  /** Empty where names are hidden. */
  readonly username: string
}

/** All sign-in methods. */
export function signInForms(shown: SignInState, sample: DashboardOptions['sample']): Html {
  const { next, problem, oidc, again, isDeleted = false } = shown
  if (again !== undefined) return signInAgainForms(shown, again)
  return html`
    <div class="card stack">
      <h1>Sign in</h1>
      ${isDeleted ? html`<p class="note" role="status">The account was deleted, with everything that belonged to it.</p>` : nothing}
      ${sample === undefined ? nothing : html`<p class="note">This is sample data. The form is filled in: just sign in.</p>`}
      ${problemNote(problem)}
      ${passwordForm(shown, sample)}
      ${passkeyForm(shown)}
      ${oidc === undefined ? nothing : issuerLink(oidc, { next })}
      ${sample === undefined ? html`<p class="muted small">No sign-in method yet, or forgot your password? Ask whoever runs this service for an invitation to choose one: <code>lockstep account invite</code>.</p>` : nothing}
    </div>
  `
}

/** The sign-in methods that the account has. */
function signInAgainForms(shown: SignInState, { methods, username }: SignedInBefore): Html {
  const { next, problem, site, oidc } = shown
  const { hasPassword, passkeys, isLinked } = methods
  const isStuck = !hasPassword && passkeys === 0 && !isLinked
  return html`
    <div class="card stack">
      <h1>Sign in again</h1>
      <p>You signed in more than ten minutes ago. ${hasPassword ? 'Enter your password to continue' : 'Confirm that it is you to continue'}.</p>
      ${problemNote(problem)}
      ${hasPassword ? passwordForm({ ...shown, username }) : nothing}
      ${passkeys > 0 ? passkeyForm(shown) : nothing}
      ${passkeys > 0 && !hasPassword ? html`<p class="no-script">Passkeys need JavaScript, which is off in this browser.</p>` : nothing}
      ${oidc !== undefined && isLinked ? issuerLink(oidc, { again: '1', next }) : nothing}
      ${isStuck ? html`<p>No sign-in method of this account works at this address. ${whyNoPasskeys(site) ?? html`Ask whoever runs this service for an invitation to choose one: <code>lockstep account invite</code>.`}</p>` : nothing}
      <p><a class="button" href="/">Cancel</a></p>
    </div>
  `
}

/** What is wrong with the form that was sent. */
export function problemNote(problem: string | undefined): Html {
  return problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`
}

function passwordForm({ next, username, problem, again }: SignInState, sample?: DashboardOptions['sample']): Html {
  const focused = sample !== undefined ? 'button' : username === undefined ? 'username' : 'password'
  const focus = (field: typeof focused) => (field === focused ? html` autofocus` : nothing)
  const described = problem === undefined ? nothing : html` aria-describedby="problem"`
  const usernameField =
    again === undefined
      ? html`<label>Username<input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="${MAX_NAME_LENGTH}" value="${username ?? sample?.username ?? ''}"${described}${focus('username')}></label>`
      : html`<input type="hidden" autocomplete="username" value="${username}">`
  return html`
    <form class="stack" method="post" action="/signin">
      ${hiddenFields(next, again)}
      ${usernameField}
      <label>Password
        <input name="password" type="password" autocomplete="current-password" required maxlength="${MAX_PASSWORD_LENGTH}" value="${sample?.password ?? ''}"${again === undefined ? nothing : described}${focus('password')}>
      </label>
      <button class="primary"${focus('button')}>${again === undefined ? 'Sign in' : 'Continue'}</button>
    </form>
  `
}

function issuerLink({ name }: Oidc, query: Record<string, string>): Html {
  return html`<a class="button" href="/signin/oidc?${new URLSearchParams(query).toString()}">Continue with ${name}</a>`
}

function passkeyForm({ site, next, again }: SignInState): Html {
  const why = whyNoPasskeys(site)
  if (why !== undefined) return html`<p class="muted small">${why}</p>`
  return html`
    <form class="stack needs-script" method="post" action="/signin/passkey">
      ${hiddenFields(next, again)}
      ${passkeyField('signin')}
      <button${again?.methods.hasPassword === false ? html` class="primary" autofocus` : nothing}>Use a passkey</button>
    </form>
  `
}

function hiddenFields(next: string, again: SignedInBefore | undefined): Html {
  const marked = again === undefined ? nothing : html`<input type="hidden" name="again" value="1">`
  return html`<input type="hidden" name="next" value="${next}">${marked}${timeZoneField}`
}

/** Shown instead of the sign-in form while there is no account. */
export const firstSteps = html`
  <div class="card stack">
    <h1>There are no accounts yet</h1>
    <p>Open the link that the service printed when it started: it creates the first account, for an hour after each start.</p>
    <p>Or run these commands, in this order, where this service is installed:</p>
    <ol class="stack">
      ${firstAccountCommands.map(({ command, what }) => html`<li><code>${command}</code><br><span class="muted">${what}</span></li>`)}
    </ol>
    <p class="muted small">If you do not know your number at the other server, begin with <code>pull</code>: it adds the account, and <code>${ownCommand} account list</code> shows the name. If your records are in an archive, <code>${ownCommand} import</code> adds its accounts. Without records, leave out <code>--id</code>.</p>
  </div>
`
