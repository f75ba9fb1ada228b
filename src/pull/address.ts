import { isLoopbackHost } from '../contract/loopback.ts'

/** Why an address or an API key cannot be used; the message completes "--from …" or the name of a setting. */
export class AddressError extends Error {
  override readonly name = 'AddressError'
}

/** The address of a source without `/api/v1`. Throws AddressError. */
export function parseAddress(text: string): string {
  const url = URL.parse(text)
  if (url === null) throw new AddressError('must be an address such as https://history.example')
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) {
    throw new AddressError(
      'must be an https address, because an API key is sent to it (http is allowed on this machine only)',
    )
  }
  if (url.username !== '' || url.password !== '') throw new AddressError('must not contain a username or a password')
  if (url.search !== '' || url.hash !== '') throw new AddressError('must not have a query or a fragment')
  return url.origin + url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

/** An API key that is valid in a header. Throws AddressError, whose message never contains it. */
export function parseKey(text: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]+$/.test(key)) throw new AddressError('must be an API key: one line of printable characters')
  return key
}
