import type { PasskeyPurpose } from '../../accounts/passkey-challenges.ts'
import { html, type Html } from '../html.ts'
import type { SiteOrigin } from '../origin.ts'

/** The parts of forms that make and use passkeys; assets/passkeys.js does the rest. */

/** The field for what the browser answers. Sending its form asks the browser first. */
export function passkeyField(purpose: PasskeyPurpose, name = 'answer'): Html {
  return html`<input type="hidden" name="${name}" autocomplete="off" data-passkey="${purpose}">`
}

/** Why passkeys cannot be used at this address, and the same path where they can; undefined if they can be used here. */
export function whyNoPasskeys({ rpId, baseUrl, trustworthy }: SiteOrigin, path = '/'): Html | undefined {
  if (rpId !== undefined) return undefined
  if (!trustworthy) {
    return html`Passkeys need an encrypted connection: whoever runs this service must set <code>LOCKSTEP_PUBLIC_URL</code> to an <code>https://</code> address.`
  }
  const { protocol, port } = new URL(baseUrl)
  if (protocol === 'https:') return html`Passkeys need a host name, and this address has none.`
  const elsewhere = `http://localhost${port === '' ? '' : `:${port}`}`
  return html`Passkeys need a host name: open <a href="${elsewhere}${path}">${elsewhere}</a> instead.`
}
