/** Whether a host, as URLs write it, is this machine whatever name servers say. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}

/** The same for an address of a connection. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}
