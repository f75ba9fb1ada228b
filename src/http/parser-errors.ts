import type { ErrorCode } from '../contract/errors.ts'

interface ParserError extends Error {
  readonly code?: string
  /** What was read last, and how far the parser came in it. */
  readonly rawPacket?: Buffer
  readonly bytesParsed?: number
}

/**
 * What is wrong with a request that never became one, told by what earlier packets had of it; undefined when nobody is
 * left to be told.
 */
export function codeForParserError(thrown: ParserError, begun: string): ErrorCode | undefined {
  switch (thrown.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    case 'HPE_HEADER_OVERFLOW':
      return REQUEST_LINE.test(lineOf(thrown, begun)) ? 'uri_too_long' : 'headers_too_large'
    case 'HPE_INVALID_URL':
      return 'malformed_url'
    case 'HPE_INVALID_CONSTANT':
      // What follows a space in the target looks like a protocol that the parser does not know.
      return SPACE_IN_TARGET.test(lineOf(thrown, begun)) ? 'malformed_url' : 'malformed_request'
    default:
      return 'malformed_request'
  }
}

/** The request line as far as a packet brings it, shortened; it ends with LF once the whole line has come. */
export function beginning(begun: string, packet: Buffer): string {
  if (begun.endsWith('\n')) return begun
  const text = (begun + packet.toString('latin1')).trimStart()
  const end = text.indexOf('\n')
  return text
    .slice(0, end === -1 ? text.length : end + 1)
    .replaceAll(LONG_WORD, '$1')
    .replaceAll(/ +/g, ' ')
}

/** Longer than any method or version. */
const LONG_WORD = /(\S{16})\S+/g

// A header has no space before its colon. Of a line that began before an answer was sent there is only the end.
const REQUEST_LINE = /^[A-Z-]+ |^\S* HTTP\/1\.[01]$/
const SPACE_IN_TARGET = /^[A-Z-]+ \S+ +\S.* HTTP\/1\.[01]$/

/** The line in which the parser gave up, as far as it is known; empty for a header that began in an earlier packet. */
function lineOf({ rawPacket, bytesParsed = 0 }: ParserError, begun: string): string {
  if (rawPacket === undefined) return ''
  const start = rawPacket.subarray(0, bytesParsed).lastIndexOf(0x0a) + 1
  if (start === 0 && begun.endsWith('\n')) return ''
  const end = rawPacket.indexOf(0x0a, start)
  const line = rawPacket.toString('latin1', start, end === -1 ? rawPacket.length : end)
  return (start === 0 ? begun + line : line).trimEnd()
}
