import { setPassword } from '../../accounts/passwords.ts'
import { readWays, removePassword, type Ways } from '../../accounts/ways.ts'
import { isFresh } from '../confirmation.ts'
import { formPage, submit } from '../form-page.ts'
import { html, type Html, nothing } from '../html.ts'
import { newPasswordFields, PASSWORDS_DIFFER, readNewPassword } from '../new-password.ts'
import { type Page, redirect, type Visit } from '../page.ts'
import { othersSignedOut } from '../others-signed-out.ts'
import { waysHere } from '../ways-here.ts'

/** Setting the password of an account that has none, and removing it. Settings itself has the form that changes it. */
export const passwordPages: readonly Page[] = [
  {
    path: '/settings/password/new',
    confirms: { section: 'settings', action: 'Set a password' },
    handler: visit => showNew(visit),
  },
  {
    method: 'POST',
    path: '/settings/password/new',
    async handler(visit) {
      const { form, store, viewer } = visit
      const { accountId, id } = viewer.session
      // The page that asks for a proof would contain the new password.
      if (!isFresh(visit)) return redirect('/settings/password/new')
      if ((await readWays(store, accountId, waysHere(visit))).hasPassword) return redirect('/settings')
      const next = readNewPassword(form)
      if (next === undefined) return showNew(visit, PASSWORDS_DIFFER)
      return submit(
        async () => {
          await setPassword(store, accountId, next, id)
          return othersSignedOut(visit, 'password')
        },
        problem => showNew(visit, problem),
      )
    },
  },
  { path: '/settings/password/remove', handler: () => showRemoving() },
  {
    method: 'POST',
    path: '/settings/password/remove',
    confirms: { section: 'settings', action: 'Remove password' },
    handler: visit =>
      submit(async () => {
        const { accountId, id } = visit.viewer.session
        await removePassword(visit.store, { accountId, here: waysHere(visit), keep: id })
        return othersSignedOut(visit, 'password')
      }, showRemoving),
  },
]

/** The card about the password in Settings. */
export function passwordCard({ viewer }: Visit, { hasPassword, passkeys, isLinked }: Ways): Html {
  if (!hasPassword) {
    return html`
      <p>This account has no password.</p>
      ${
        passkeys + Number(isLinked) === 1
          ? html`<p>It has only one way to sign in. Set a password or add a passkey, in case you lose that one.</p>`
          : nothing
      }
      <p><a class="button" href="/settings/password/new" data-dialog>Set a password</a></p>
    `
  }
  return html`
    ${changeForm(viewer.session.username, viewer.discreet)}
    ${
      passkeys >= 2 || isLinked
        ? html`<p><a class="button" href="/settings/password/remove" data-dialog>Remove password</a></p>`
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

function showNew({ viewer }: Visit, problem?: string) {
  return formPage({
    section: 'settings',
    title: 'Set a password',
    action: '/settings/password/new',
    problem,
    button: 'Set password',
    body: html`
      ${viewer.discreet ? nothing : html`<input type="hidden" name="username" autocomplete="username" value="${viewer.session.username}">`}
      ${newPasswordFields('New password', { problem })}
    `,
  })
}

function showRemoving(problem?: string) {
  return formPage({
    section: 'settings',
    title: 'Remove password',
    action: '/settings/password/remove',
    problem,
    button: 'Remove password',
    isDangerous: true,
    focusesButton: true,
    body: html`<p>Remove the password of this account? Every other browser is signed out. You then sign in with the other ways that Settings lists. You can set a password again at any time.</p>`,
  })
}
