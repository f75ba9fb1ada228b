import { firstAccountCommands } from '../../accounts/first-steps.ts'
import { MAX_NAME_LENGTH } from '../../contract/names.ts'
import { MAX_PASSWORD_LENGTH } from '../../accounts/passwords.ts'
import type { Oidc } from '../../accounts/oidc.ts'
import { ownCommand } from '../../version.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import type { SiteOrigin } from '../site.ts'
import { timeZoneField } from './session-cookie.ts'
import { passkeyField, whyNoPasskeys } from './passkey-fields.ts'

export interface SignInState {
  readonly site: SiteOrigin
  readonly oidc: Oidc | undefined
  readonly next: string
  readonly username?: string
  readonly problem?: string | undefined
  /** Whether the account was just deleted. */
  readonly isDeleted?: boolean
}

/** All sign-in methods. */
export function signInForms(shown: SignInState, sample: DashboardOptions['sample']): Html {
  const { next, problem, oidc, isDeleted = false } = shown
  return html`
    <div class="card stack">
      <h1>Sign in</h1>
      ${isDeleted ? html`<p class="note" role="status">The account was deleted, with everything that belonged to it.</p>` : nothing}
      ${sample === undefined ? nothing : html`<p class="note">This is sample data. The form is filled in: just sign in.</p>`}
      ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
      ${passwordForm(shown, sample)}
      ${passkeyForm(shown)}
      ${oidc === undefined ? nothing : issuerLink(oidc, next)}
      ${sample === undefined ? html`<p class="muted small">No sign-in method yet, or forgot your password? Ask whoever runs this service for an invitation to choose one: <code>lockstep account invite</code>.</p>` : nothing}
    </div>
  `
}

function passwordForm({ next, username, problem }: SignInState, sample: DashboardOptions['sample']): Html {
  const focused = sample !== undefined ? 'button' : username === undefined ? 'username' : 'password'
  const focus = (field: typeof focused) => (field === focused ? html` autofocus` : nothing)
  return html`
    <form class="stack" method="post" action="/signin">
      ${hiddenFields(next)}
      <label>Username
        <input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="${MAX_NAME_LENGTH}" value="${username ?? sample?.username ?? ''}"${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }${focus('username')}>
      </label>
      <label>Password
        <input name="password" type="password" autocomplete="current-password" required maxlength="${MAX_PASSWORD_LENGTH}" value="${sample?.password ?? ''}"${focus('password')}>
      </label>
      <button class="primary"${focus('button')}>Sign in</button>
    </form>
  `
}

function issuerLink({ name }: Oidc, next: string): Html {
  const address = `/signin/oidc?${new URLSearchParams({ next }).toString()}`
  return html`<a class="button" href="${address}">Continue with ${name}</a>`
}

function passkeyForm({ site, next }: SignInState): Html {
  const why = whyNoPasskeys(site)
  if (why !== undefined) return html`<p class="muted small">${why}</p>`
  return html`
    <form class="stack needs-script" method="post" action="/signin/passkey">
      ${hiddenFields(next)}
      ${passkeyField('signin')}
      <button>Use a passkey</button>
    </form>
  `
}

function hiddenFields(next: string): Html {
  return html`<input type="hidden" name="next" value="${next}">${timeZoneField}`
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
