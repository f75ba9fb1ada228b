import type { ErrorCode } from '../contract/errors.ts'

/** How to respond to what the HTTP parser refused; undefined if the client is gone. */
export function codeForParserError({ code = '' }: NodeJS.ErrnoException): ErrorCode | undefined {
  return Object.hasOwn(codes, code) ? codes[code] : 'malformed_request'
}

const codes: Readonly<Record<string, ErrorCode | undefined>> = {
  ECONNRESET: undefined,
  EPIPE: undefined,
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_URL: 'malformed_url',
}
