import type { IncomingMessage } from 'node:http'
import { ApiError } from '../contract/errors.ts'
import { isHost } from './target.ts'

/** The headers that decide anything, read in one pass; `request.headers` drops some of the repeated ones. */
export interface RequestHeaders {
  readonly host: string | undefined
  readonly authorization: readonly string[]
  readonly accept: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly origin: string | undefined
  readonly expect: string | undefined
  readonly bodyAnnounced: boolean
  /** What the caller calls its request. */
  readonly requestId: string | undefined
}

const MAX_TARGET_BYTES = 8192
const MAX_HEADER_BYTES = 16 * 1024
const MAX_HEADERS = 100

/** Throws uri_too_long, headers_too_large, malformed_request (other versions) and host_invalid. */
export function readHeaders(request: IncomingMessage): RequestHeaders {
  const { rawHeaders, url = '' } = request
  if (url.length > MAX_TARGET_BYTES) throw new ApiError('uri_too_long')
  if (rawHeaders.length > MAX_HEADERS * 2) throw new ApiError('headers_too_large')
  let hosts = 0
  let size = 0
  let host: string | undefined
  const authorization: string[] = []
  let accept: string | undefined
  let ifNoneMatch: string | undefined
  let origin: string | undefined
  let expect: string | undefined
  let bodyAnnounced = false
  let requestId: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    const value = rawHeaders[index + 1] ?? ''
    size += name.length + value.length + SEPARATORS
    switch (name.toLowerCase()) {
      case 'host':
        hosts += 1
        host = value
        break
      case 'authorization':
        authorization.push(value)
        break
      case 'accept':
        accept = joined(accept, value)
        break
      case 'if-none-match':
        ifNoneMatch = joined(ifNoneMatch, value)
        break
      case 'origin':
        origin = value
        break
      case 'expect':
        expect = joined(expect, value)
        break
      case 'x-request-id':
        requestId = value
        break
      case 'transfer-encoding':
        bodyAnnounced = true
        break
      case 'content-length':
        if (value !== '0') bodyAnnounced = true
        break
      default:
    }
  }
  if (size > MAX_HEADER_BYTES) throw new ApiError('headers_too_large')
  const { httpVersion } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw new ApiError('malformed_request')
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || (host !== undefined && !isHost(host))) {
    throw new ApiError('host_invalid')
  }
  return { host, authorization, accept, ifNoneMatch, origin, expect, bodyAnnounced, requestId }
}

/** Of a header line: the colon, the space and the line's end. */
const SEPARATORS = 4

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}
