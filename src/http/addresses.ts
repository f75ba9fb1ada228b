import { type BlockList, isIP, isIPv4 } from 'node:net'
import { isLoopbackHost } from '../contract/address.ts'

/** The part of an incoming HTTP message that identifies its sender. */
interface Message {
  readonly socket: { readonly remoteAddress?: string | undefined }
  readonly headers: Readonly<Partial<Record<string, string | readonly string[]>>>
}

/**
 * The address of the client: the peer or, behind trusted proxies, the last address in X-Forwarded-For that is not one of
 * them. Without trusted proxies the header is ignored, because anybody can send it.
 */
export function clientAddress({ socket, headers }: Message, trusted: BlockList): string {
  const forwardedFor = headers['x-forwarded-for']?.toString()
  let address = withoutMapping(socket.remoteAddress ?? '')
  if (forwardedFor === undefined) return address
  const named = forwardedFor.split(',')
  while (isTrusted(address, trusted)) {
    const next = withoutMapping(withoutPort(named.pop()?.trim() ?? ''))
    if (isIP(next) === 0) return address
    address = next
  }
  return address
}

/** What counts as one client: an IPv4 address, or an IPv6 /64, which one host usually has to itself. */
export function networkOf(address: string): string {
  return isIP(address) === 6 ? ipv6Network(address, 4) : address
}

/** The part of an address that is stored: an IPv4 /24 or an IPv6 /48, which many share. Empty for what is no address. */
export function networkPart(address: string): string {
  if (isIPv4(address)) return `${address.split('.').slice(0, 3).join('.')}.0/24`
  return isIP(address) === 6 ? ipv6Network(address, 3) : ''
}

function ipv6Network(address: string, count: number): string {
  // As URLs write it: without a zone, leading zeros and a dotted quad.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`)
  const halves = hostname.slice(1, -1).split('::')
  const [head = [], tail = []] = halves.map(half => (half === '' ? [] : half.split(':')))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${[...head, ...zeros, ...tail].slice(0, count).join(':')}::/${count * 16}`
}

/** Whether a host, as URLs write it, is a name of this machine that no other machine can have. */
export function isLoopbackName(hostname: string): boolean {
  return isLoopbackHost(hostname) || hostname.endsWith('.localhost')
}

export function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address)
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6')
}

/** Some proxies write `192.0.2.1:4711`, `[2001:db8::1]` or `[2001:db8::1]:4711`, with a port that differs for each connection. */
function withoutPort(text: string): string {
  const [, v6, v4] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::\d{1,5})?$/i.exec(text) ?? []
  return v6 ?? v4 ?? text
}

/** IPv4-mapped addresses count as IPv4. */
export function withoutMapping(address: string): string {
  const inner = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  return inner !== undefined && isIPv4(inner) ? inner : address
}
