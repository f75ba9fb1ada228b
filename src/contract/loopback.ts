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
