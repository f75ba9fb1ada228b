/** Why an address or a token cannot be used; the message completes "--from …" or the name of a setting. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/** The address of a source without `/api/v1`. Throws AddressError. */
export function parseAddress(text: string): string {
  const url = URL.parse(text)
  if (url === null) throw new AddressError('must be an address such as https://history.example')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw new AddressError(
      'must be an https address, because a token is sent to it (http is allowed on this machine only)',
    )
  }
  if (url.username !== '' || url.password !== '') throw new AddressError('must not contain a username or a password')
  if (url.search !== '' || url.hash !== '') throw new AddressError('must not have a query or a fragment')
  return url.origin + url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

/** A token that is valid in a header. Throws AddressError, whose message never contains it. */
export function parseToken(text: string): string {
  const token = text.trim()
  if (!/^[\x21-\x7e]+$/.test(token)) throw new AddressError('must be a token: one line of printable characters')
  return token
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
