import { type BlockList, isIP, isIPv4 } from 'node:net'

/** The part of an incoming HTTP message that identifies its sender. */
interface Sender {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: Readonly<Partial<Record<string, string | readonly string[]>>>
}

/**
 * The address of the client: the peer or, behind trusted proxies, the last address in X-Forwarded-For that is not one of
 * them. Without trusted proxies the header is ignored, because anybody can send it.
 */
export function clientAddress({ socket, headers }: Sender, trusted: BlockList): string {
  let address = withoutMapping(socket.remoteAddress ?? '')
  const forwarded = headers['x-forwarded-for']
  if (forwarded === undefined) return address
  const named = (typeof forwarded === 'string' ? forwarded : forwarded.join(',')).split(',')
  while (isTrusted(address, trusted)) {
    const next = withoutMapping(named.pop()?.trim() ?? '')
    if (isIP(next) === 0) return address
    address = next
  }
  return address
}

/** What counts as one client: an IPv4 address, or an IPv6 /64, which one host usually has to itself. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    // A dotted quad at the end stands for two groups.
    const width = rest.length + (tail.includes('.') ? 1 : 0)
    while (groups.length < 8 - width) groups.push('0')
    groups.push(...rest)
  }
  return `${groups
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address)
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** IPv4-mapped addresses count as IPv4. */
function withoutMapping(address: string): string {
  const inner = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return inner !== undefined && isIPv4(inner) ? inner : address
}
