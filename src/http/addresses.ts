import type { IncomingMessage } from 'node:http'
import { type BlockList, isIP, isIPv4 } from 'node:net'

/**
 * Who asks: the peer, or, as long as it is a trusted proxy, whom it names last in X-Forwarded-For. Without trusted
 * proxies that header means nothing, since anybody can send it.
 */
export function clientAddress(request: IncomingMessage, trusted: BlockList): string {
  let address = plain(request.socket.remoteAddress ?? '')
  const forwarded = request.headers['x-forwarded-for']
  if (forwarded === undefined) return address
  const named = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded).split(',')
  while (isTrusted(address, trusted)) {
    const next = plain(named.pop()?.trim() ?? '')
    if (isIP(next) === 0) return address
    address = next
  }
  return address
}

/** What counts as one caller: an IPv4 address, or the /64 that one IPv6 host usually has to itself. */
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

/** IPv4 in IPv6 clothes is IPv4. */
function plain(address: string): string {
  const inner = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return inner !== undefined && isIPv4(inner) ? inner : address
}
