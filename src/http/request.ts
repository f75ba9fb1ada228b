import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { ApiError } from '../contract/errors.ts'

/** The headers that this server uses, read in one pass; `request.headers` drops some of the repeated ones. */
export class RequestHeaders {
  readonly host: string | undefined
  readonly hostCount: number = 0
  readonly authorization: readonly string[] = NONE
  readonly accept: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly origin: string | undefined
  /** In lower case, like `connection`. */
  readonly expect: string | undefined
  readonly connection: string | undefined
  readonly bodyAnnounced: boolean = false
  /** The identifier that the client gave to the request. */
  readonly requestId: string | undefined
  /** The size of all headers together. */
  readonly bytes: number
  readonly count: number

  constructor(rawHeaders: readonly string[]) {
    let bytes = 0
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] ?? ''
      const value = rawHeaders[index + 1] ?? ''
      bytes += name.length + value.length + SEPARATOR_BYTES
      switch (name.toLowerCase()) {
        case 'host':
          this.hostCount += 1
          this.host = value
          break
        case 'authorization':
          this.authorization = [...this.authorization, value]
          break
        case 'accept':
          this.accept = append(this.accept, value)
          break
        case 'if-none-match':
          this.ifNoneMatch = append(this.ifNoneMatch, value)
          break
        case 'origin':
          this.origin = value
          break
        case 'expect':
          this.expect = append(this.expect, value.toLowerCase())
          break
        case 'connection':
          this.connection = append(this.connection, value.toLowerCase())
          break
        case 'x-request-id':
          this.requestId = value
          break
        case 'transfer-encoding':
          this.bodyAnnounced = true
          break
        case 'content-length':
          if (value !== '0') this.bodyAnnounced = true
          break
        default:
      }
    }
    this.bytes = bytes
    this.count = rawHeaders.length / 2
  }
}

/** The target of a request: its path, split and decoded, and its query as sent. */
export interface Target {
  /** The path as sent; without percent-encoding it is also the decoded one. */
  readonly path: string
  /** The decoded segments, only if the path has percent-encoding. */
  readonly segments: readonly string[] | undefined
  /** Undefined if a slash in it was encoded, because joining would make two segments of one. */
  readonly decodedPath: string | undefined
  readonly query: string
  /** The host that is addressed: that of the Host header, or of an absolute form if HTTP/1.0 sends none. */
  readonly host: string | undefined
}

/** Throws uri_too_long, headers_too_large, malformed_request (other versions of HTTP) and host_invalid. */
export function checkHeaders({ url = '', httpVersion }: IncomingMessage, headers: RequestHeaders) {
  const { bytes, count, host, hostCount } = headers
  if (url.length > MAX_TARGET_BYTES) throw new ApiError('uri_too_long')
  if (count > MAX_HEADERS || bytes > MAX_HEADER_BYTES) throw new ApiError('headers_too_large')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw new ApiError('malformed_request')
  if (hostCount > 1 || (hostCount === 0 && httpVersion === '1.1') || (host !== undefined && !isHost(host))) {
    throw new ApiError('host_invalid')
  }
}

/** Throws body_not_allowed and expectation_failed. */
export function checkBody(method: string, { bodyAnnounced, expect }: RequestHeaders) {
  if (bodyAnnounced && (method === 'GET' || method === 'HEAD')) throw new ApiError('body_not_allowed')
  if (expect !== undefined && expect !== CONTINUE) throw new ApiError('expectation_failed')
}

/** Throws misdirected_request. */
export function checkHost({ host }: Target, allowed: readonly string[]) {
  if (allowed.length === 0 || host === undefined) return
  if (!allowed.includes(host.replace(/:\d*$/, '').toLowerCase())) throw new ApiError('misdirected_request')
}

/** Whether the client expects the connection to stay open after the response. */
export function wantsKeepAlive({ httpVersion }: IncomingMessage, { connection, expect }: RequestHeaders): boolean {
  // A client that waits for "100 Continue" may send a body or not, so where the next request begins is not known.
  if (expect === CONTINUE) return false
  if (connection === undefined) return httpVersion === '1.1'
  if (connection === 'keep-alive') return true
  const options = connection.split(',').map(option => option.trim())
  return !options.includes('close') && (httpVersion === '1.1' || options.includes('keep-alive'))
}

/**
 * Reads a request target in origin or absolute form. Throws malformed_url for bytes that a target cannot have and for
 * percent-encoding that is cut, not UTF-8 or NUL; host_invalid for an absolute form at odds with the Host header.
 */
export function parseTarget(target: string, sentHost: string | undefined): Target {
  if (INVALID_BYTES.test(target)) throw new ApiError('malformed_url')
  const { rest, host } = target.startsWith('/') ? { rest: target, host: sentHost } : fromAbsolute(target, sentHost)
  const mark = rest.indexOf('?')
  const path = mark === -1 ? rest : rest.slice(0, mark)
  const query = mark === -1 ? '' : rest.slice(mark + 1)
  if (!rest.includes('%')) return { path, segments: undefined, decodedPath: path, query, host }
  decode(query)
  if (!path.includes('%')) return { path, segments: undefined, decodedPath: path, query, host }
  const segments = path.split('/').map(decode)
  const decodedPath = segments.some(segment => segment.includes('/')) ? undefined : segments.join('/')
  return { path, segments, decodedPath, query, host }
}

/** Percent-decodes once. Throws malformed_url. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  let decoded: string
  try {
    decoded = decodeURIComponent(text)
  } catch {
    throw new ApiError('malformed_url')
  }
  if (decoded.includes('\0')) throw new ApiError('malformed_url')
  return decoded
}

const NONE: readonly string[] = []
const MAX_TARGET_BYTES = 8192
const MAX_HEADER_BYTES = 16 * 1024
const MAX_HEADERS = 100
/** The colon, the space and the line end of a header line. */
const SEPARATOR_BYTES = 4
const CONTINUE = '100-continue'

// Everything but printable ASCII, and of that what a target must encode.
const INVALID_BYTES = /[^\x21-\x7e]|[#\\<>"]/
const ABSOLUTE_FORM = /^https?:\/\/([^/?]+)/i
const HOST = /^(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+|\[([0-9A-Fa-f:.]+)\])(?::(\d{0,5}))?$/

function append(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}

/** Whether the text is a host with an optional port. */
function isHost(text: string): boolean {
  // Nearly all requests have the same one.
  if (text === lastHost) return true
  const [whole, address, port = ''] = HOST.exec(text) ?? []
  if (whole === undefined || (address !== undefined && !isIPv6(address)) || Number(port) > 65_535) return false
  lastHost = text
  return true
}

let lastHost: string | undefined

function fromAbsolute(target: string, sentHost: string | undefined) {
  const [whole, authority = ''] = ABSOLUTE_FORM.exec(target) ?? []
  if (whole === undefined) throw new ApiError('malformed_url')
  if (!isHost(authority) || (sentHost !== undefined && authority.toLowerCase() !== sentHost.toLowerCase())) {
    throw new ApiError('host_invalid')
  }
  const rest = target.slice(whole.length)
  return { rest: rest.startsWith('/') ? rest : `/${rest}`, host: sentHost ?? authority }
}
