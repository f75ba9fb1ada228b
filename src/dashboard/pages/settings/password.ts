import { setPassword } from '../../../accounts/passwords.ts'
import { readSignInMethods, removePassword, type SignInMethods } from '../../../accounts/sign-in-methods.ts'
import { askAgain, othersSignedOut, passwordProblem, signInAddress } from '../../sign-in/reauthentication.ts'
import { actPages, formPage, submitAct } from '../../layout/form-page.ts'
import { setting } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { newPasswordFields, PASSWORDS_DIFFER, readNewPassword } from '../../sign-in/new-password.ts'
import type { DashboardPage, PageResult, Visit } from '../../page.ts'

const PASSWORD = { section: 'settings', reads: null, path: '/settings/password' } as const

/** Setting, changing and removing the password of the account that signed in. */
export const passwordPages: readonly DashboardPage[] = [
  { ...PASSWORD, handler: visit => showForm(visit) },
  {
    ...PASSWORD,
    method: 'POST',
    async handler(visit) {
      const { form, viewer } = visit
      const { hasPassword } = await methodsOf(visit)
      const asked = hasPassword ? undefined : askAgain(visit, PASSWORD)
      if (asked !== undefined) return asked
      const password = readNewPassword(form)
      if (password === undefined) return showForm(visit, PASSWORDS_DIFFER)
      const problem = hasPassword ? await passwordProblem(visit, form.get('current') ?? '') : undefined
      if (problem !== undefined) return showForm(visit, problem)
      return submitAct(
        visit,
        setPassword,
        { password, keepSession: viewer.session.id },
        () => othersSignedOut(visit, 'password'),
        problem => showForm(visit, problem),
      )
    },
  },
  ...actPages({
    section: 'settings',
    path: '/settings/password/remove',
    act: removePassword,
    find: () => undefined,
    isDangerous: true,
    body: () =>
      html`<p>Remove the password of this account? Every other browser is signed out. You then sign in with the other methods that Settings lists. You can set a password again at any time.</p>`,
    enter: visit => ({ address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'password'),
  }),
]

function methodsOf(visit: Visit): Promise<SignInMethods> {
  return readSignInMethods(visit.store.reads, visit.viewer.session.accountId, signInAddress(visit))
}

export function passwordSetting({ hasPassword, passkeys, isLinked }: SignInMethods): Html {
  const isOnly = passkeys + Number(isLinked) === 1
  if (!hasPassword) {
    return setting(
      'Password',
      html`This account has no password.${isOnly ? ' It has only one sign-in method. Set a password or add a passkey, in case you lose that one.' : ''}`,
      html`<a class="button" href="/settings/password">Set a password</a>`,
    )
  }
  return setting(
    'Password',
    'A change signs out every other browser.',
    html`
      <a class="button" href="/settings/password">Change password</a>
      ${passkeys >= 2 || isLinked ? html`<a class="button" href="/settings/password/remove">Remove password</a>` : nothing}
    `,
  )
}

async function showForm(visit: Visit, problem?: string): Promise<PageResult> {
  const { discreet, session } = visit.viewer
  const { hasPassword } = await methodsOf(visit)
  // Whoever has a password enters it into the form.
  const asked = hasPassword ? undefined : askAgain(visit, PASSWORD)
  if (asked !== undefined) return asked
  return formPage(visit, {
    title: hasPassword ? 'Change password' : 'Set a password',
    problem,
    body: html`
      ${discreet ? nothing : html`<input type="hidden" name="username" autocomplete="username" value="${session.username}">`}
      ${hasPassword ? html`<label>Current password<input type="password" name="current" autocomplete="current-password" required></label>` : nothing}
      ${newPasswordFields('New password', { problem })}
      <p class="muted">Every other browser is signed out. API keys keep working.</p>
    `,
  })
}
