import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../accounts/passwords.ts'
import { GUESSABLE } from '../../accounts/password-rules.ts'
import { html, type Html, nothing } from '../html.ts'

/** A new password in a form: entered twice, so that a typing error locks nobody out. */

/** Its two fields. The first is described by the problem of the form, if there is one, and may have the focus. */
export function newPasswordFields(
  label: string,
  { problem, focuses = false }: { readonly problem?: string | undefined; readonly focuses?: boolean } = {},
): Html {
  const rules = html`type="password" autocomplete="new-password" minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH}" required`
  return html`
    <label>${label}
      <input name="next" ${rules}${focuses ? html` autofocus` : nothing} aria-describedby="password-rules${problem === undefined ? '' : ' problem'}">
    </label>
    <p class="muted small" id="password-rules">${MIN_PASSWORD_LENGTH} characters or more, and not ${GUESSABLE}.</p>
    <label>${label} again<input name="again" ${rules}></label>
  `
}

/** What was entered; undefined if the two differ. */
export function readNewPassword(form: URLSearchParams): string | undefined {
  const password = form.get('next') ?? ''
  return password === form.get('again') ? password : undefined
}

export const PASSWORDS_DIFFER = 'The two passwords differ.'
