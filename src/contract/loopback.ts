import { BlockList, isIPv4 } from 'node:net'

/** Whether a host, as URLs write it, is this machine whatever name servers say. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** Whether an address is of this machine or of a private network. */
export function isPrivateAddress(address: string): boolean {
  return isLoopbackAddress(address) || PRIVATE.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** By RFC 1918, RFC 6598 and RFC 4193. */
const PRIVATE = new BlockList()
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  PRIVATE.addSubnet(network, bits)
PRIVATE.addSubnet('fc00::', 7, 'ipv6')

/** Whether an address of a connection is one of this machine. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
