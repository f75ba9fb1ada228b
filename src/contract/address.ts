import { Refusal } from './refusal.ts'

/** Addresses of servers: those that an API key may be sent to, and those of this machine and its networks. */

/** The address of a source without `/api/v1`. Without TLS it is on this machine, or one of the listed origins. Throws Refusal. */
export function parseAddress(text: string, listed: readonly string[] = []): string {
  const url = URL.parse(text)
  if (url === null) throw new Refusal('usage', 'must be an address such as https://history.example')
  const { protocol, hostname, origin } = url
  if (protocol !== 'https:' && !(protocol === 'http:' && (isLoopbackHost(hostname) || listed.includes(origin)))) {
    throw new Refusal(
      'usage',
      `must be an https address, because an API key is sent to it. http is for this machine, and for a private network if the operator lists the address${protocol === 'http:' ? `: LOCKSTEP_SOURCE_ORIGINS=${origin}` : ' in LOCKSTEP_SOURCE_ORIGINS'}`,
    )
  }
  if (url.username !== '' || url.password !== '')
    throw new Refusal('usage', 'must not contain a username or a password')
  if (!isHost(url.hostname)) {
    throw new Refusal('usage', 'must name one server, without wildcard, such as https://history.example')
  }
  if (isBlockedPort(url.port)) {
    throw new Refusal('usage', 'must not have a port that is blocked for HTTP, such as 0 or 22: use another one')
  }
  if (url.search !== '' || url.hash !== '') throw new Refusal('usage', 'must not have a query or a fragment')
  return url.origin + url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

/** An API key that is valid in a header. Throws Refusal, whose message never contains it. */
export function parseKey(text: string): string {
  const key = text.trim()
  if (!/^[\x21-\x7e]+$/.test(key) || /["']/.test(key)) {
    throw new Refusal('usage', 'must be an API key: one line of printable characters, without quotes')
  }
  return key
}

/** Whether a host, as URLs write it, is an address or a name that name servers may know: URLs also allow `*.example` and `a..b`. */
export function isHost(hostname: string): boolean {
  return hostname.startsWith('[') || (hostname.length <= 254 && /^([a-z0-9_-]{1,63}(\.|$))+$/.test(hostname))
}

/** Whether `fetch` and browsers refuse a port, as URLs write it. */
export function isBlockedPort(port: string): boolean {
  return port !== '' && BLOCKED_PORTS.has(Number(port))
}

/** They are those of other protocols; and 0, which Node.js takes for the usual port. */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])

/** Whether a host, as URLs write it, is this machine whatever name servers say. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** Whether an address is of this machine, or of a private network by RFC 1918, RFC 6598 or RFC 4193. */
export function isPrivateAddress(address: string): boolean {
  return isLoopbackAddress(address) || PRIVATE.test(address)
}

const PRIVATE =
  /^(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|f[cd][0-9a-f]{2}:)/i

/** Whether an address of a connection is one of this machine. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
