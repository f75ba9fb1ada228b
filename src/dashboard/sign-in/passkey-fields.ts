import type { PasskeyPurpose } from '../../accounts/passkey-challenges.ts'
import { html, type Html } from '../html.ts'
import type { SiteOrigin } from '../site.ts'

/** The parts of forms that make and use passkeys; assets/passkeys.js does the rest. */

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

/** The message for a passkey that proves nothing. It does not reveal whether such a passkey exists. */
export const NOT_ACCEPTED = 'The passkey was not accepted. Try again, or use another sign-in method.'
