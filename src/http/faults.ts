import type { ErrorCode } from '../contract/errors.ts'

/** What is wrong with a request that never became one; undefined when nobody is left to be told. */
export function faultOf(
  thrown: Error & { code?: string; rawPacket?: Buffer; bytesParsed?: number },
): ErrorCode | undefined {
  switch (thrown.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    case 'HPE_INVALID_URL':
      return 'malformed_url'
    default:
      return hasSpaceInTarget(thrown) ? 'malformed_url' : 'malformed_request'
  }
}

/** To the parser a space in the target looks like a protocol it does not know. */
function hasSpaceInTarget({ rawPacket, bytesParsed = 0 }: { rawPacket?: Buffer; bytesParsed?: number }): boolean {
  if (rawPacket === undefined) return false
  const start = rawPacket.subarray(0, bytesParsed).lastIndexOf(0x0a) + 1
  const end = rawPacket.indexOf(0x0a, start)
  const line = rawPacket.toString('latin1', start, end === -1 ? rawPacket.length : end).trimEnd()
  return /^[A-Z]+ \/.* .*HTTP\/1\.[01]$/.test(line)
}
