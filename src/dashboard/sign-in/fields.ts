import type { PasskeyPurpose } from '../../accounts/passkey-challenges.ts'
import { MAX_NAME_LENGTH } from '../../contract/names.ts'
import { fieldText, html, type Html, nothing } from '../html.ts'
import type { SiteOrigin } from '../site.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../accounts/passwords.ts'
import { GUESSABLE } from '../../accounts/password-rules.ts'

/** The fields of forms for sign-in methods; assets/passkeys.js does the rest of passkeys. */

/** The field for what the browser answers. Sending its form asks the browser first. */
export function passkeyField(purpose: PasskeyPurpose): Html {
  return html`<input type="hidden" name="answer" autocomplete="off" data-passkey="${purpose}">`
}

/** Why passkeys cannot be used at this address; undefined if they can. */
export function whyNoPasskeys({ rpId, trustworthy }: SiteOrigin): Html | undefined {
  if (rpId !== undefined) return undefined
  return trustworthy
    ? html`Passkeys need a host name in the address, such as <code>localhost</code> on this machine.`
    : html`Passkeys need an encrypted connection: whoever runs this service must set <code>LOCKSTEP_PUBLIC_URL</code> to an <code>https://</code> address.`
}

/** The field for the name of a new passkey. */
export function passkeyName(name: string): Html {
  return html`
    <label>Name <span class="muted">where it is kept</span>
      <input name="name" required maxlength="${MAX_NAME_LENGTH}" autocomplete="off" value="${fieldText(name)}">
    </label>
  `
}

/** The message for a passkey that proves nothing. It does not reveal whether such a passkey exists. */
export const NOT_ACCEPTED = 'The passkey was not accepted. Try again, or use another sign-in method.'

/** The two fields of a new password: entered twice, so that a typing error locks nobody out. The first is described by the problem of the form, if there is one, and may have the focus. */
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

/** The new password that was entered; undefined if the two differ. */
export function readNewPassword(form: URLSearchParams): string | undefined {
  const password = form.get('next') ?? ''
  return password === form.get('again') ? password : undefined
}

export const PASSWORDS_DIFFER = 'The two passwords differ.'
