import type { ErrorCode } from '../contract/errors.ts'

interface Fault extends Error {
  readonly code?: string
  /** What was read last, and how far the parser came in it. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/** What is wrong with a request that never became one; undefined when nobody is left to be told. */
export function faultOf(thrown: Fault): ErrorCode | undefined {
  switch (thrown.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    case 'HPE_HEADER_OVERFLOW':
      return REQUEST_LINE.test(lineOf(thrown)) ? 'uri_too_long' : 'headers_too_large'
    case 'HPE_INVALID_URL':
      return 'malformed_url'
    case 'HPE_INVALID_CONSTANT':
      // What follows a space in the target looks like a protocol that the parser does not know.
      return SPACE_IN_TARGET.test(lineOf(thrown)) ? 'malformed_url' : 'malformed_request'
    default:
      return 'malformed_request'
  }
}

// A header has no space before its colon. Of a line that began in an earlier packet there is only the end.
const REQUEST_LINE = /^[A-Z-]+ | HTTP\/1\.[01]$/
const SPACE_IN_TARGET = /^[A-Z-]+ \S+ +\S.* HTTP\/1\.[01]$/

/** The line in which the parser gave up, as far as it is known. */
function lineOf({ rawPacket, bytesParsed = 0 }: Fault): string {
  if (rawPacket === undefined) return ''
  const start = rawPacket.subarray(0, bytesParsed).lastIndexOf(0x0a) + 1
  const end = rawPacket.indexOf(0x0a, start)
  return rawPacket.toString('latin1', start, end === -1 ? rawPacket.length : end).trimEnd()
}
