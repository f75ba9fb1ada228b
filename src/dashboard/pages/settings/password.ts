import { setPassword } from '../../../accounts/passwords.ts'
import { readSignInMethods, removePassword, type SignInMethods } from '../../../accounts/sign-in-methods.ts'
import { othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { actPages, formPage, submitAct } from '../../layout/form-page.ts'
import { html, type Html, nothing } from '../../html.ts'
import { newPasswordFields, PASSWORDS_DIFFER, readNewPassword } from '../../sign-in/new-password.ts'
import { type DashboardPage, redirect, type Visit } from '../../page.ts'

const OF_SETTINGS = { section: 'settings', reads: null } as const

/** Setting the password of an account that has none, and removing it. Settings itself has the form that changes it. */
export const passwordPages: readonly DashboardPage[] = [
  {
    ...OF_SETTINGS,
    path: '/settings/password/new',
    act: setPassword,
    handler: visit => showNew(visit),
  },
  {
    ...OF_SETTINGS,
    method: 'POST',
    path: '/settings/password/new',
    act: setPassword,
    async handler(visit) {
      const { form, store, viewer } = visit
      const { accountId, id: keepSession } = viewer.session
      if ((await readSignInMethods(store.reads, accountId, signInAddress(visit))).hasPassword)
        return redirect('/settings')
      const password = readNewPassword(form)
      if (password === undefined) return showNew(visit, PASSWORDS_DIFFER)
      return submitAct(
        visit,
        setPassword,
        { password, keepSession },
        () => othersSignedOut(visit, 'password'),
        problem => showNew(visit, problem),
      )
    },
  },
  ...actPages({
    section: 'settings',
    path: '/settings/password/remove',
    act: removePassword,
    find: () => undefined,
    show: (visit, _, problem) => showRemoving(visit, problem),
    enter: visit => ({ address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'password'),
  }),
]

/** The card about the password in Settings. */
export function passwordCard({ viewer }: Visit, { hasPassword, passkeys, isLinked }: SignInMethods): Html {
  if (!hasPassword) {
    return html`
      <p>This account has no password.</p>
      ${
        passkeys + Number(isLinked) === 1
          ? html`<p>It has only one sign-in method. Set a password or add a passkey, in case you lose that one.</p>`
          : nothing
      }
      <p><a class="button" href="/settings/password/new">Set a password</a></p>
    `
  }
  return html`
    ${changeForm(viewer.session.username, viewer.discreet)}
    ${
      passkeys >= 2 || isLinked
        ? html`<p><a class="button" href="/settings/password/remove">Remove password</a></p>`
        : nothing
    }
  `
}

function changeForm(username: string, discreet: boolean): Html {
  return html`
    <form class="stack" method="post" action="/settings/password">
      ${discreet ? nothing : html`<input type="hidden" name="username" autocomplete="username" value="${username}">`}
      <label>Current password<input type="password" name="current" autocomplete="current-password" required></label>
      ${newPasswordFields('New password')}
      <div><button>Change password</button></div>
      <p class="muted">This signs out every other browser. API keys are not changed.</p>
    </form>
  `
}

function showNew(visit: Visit, problem?: string) {
  const { viewer } = visit
  return formPage(visit, {
    title: 'Set a password',
    problem,
    button: 'Set password',
    body: html`
      ${viewer.discreet ? nothing : html`<input type="hidden" name="username" autocomplete="username" value="${viewer.session.username}">`}
      ${newPasswordFields('New password', { problem })}
    `,
  })
}

function showRemoving(visit: Visit, problem?: string) {
  return formPage(visit, {
    title: 'Remove password',
    problem,
    isDangerous: true,
    body: html`<p>Remove the password of this account? Every other browser is signed out. You then sign in with the other methods that Settings lists. You can set a password again at any time.</p>`,
  })
}
