import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIPv4 } from 'node:net'
import { ApiError } from '../contract/errors.ts'
import { LimitError, type LimitName, limits } from './limits.ts'
import type { PageInWork } from './page-limits.ts'
import type { RequestWindows } from './rate-limits.ts'

/** What the responder, the log and the metrics need from a request, also from one that the parser refused. */
export class RequestSummary {
  readonly requestId = makeRequestId()
  readonly method: string
  readonly headers: RequestHeaders
  /** Milliseconds since 1970. */
  readonly now = Date.now()
  /** By the monotonic clock. */
  readonly startedAt = performance.now()
  /** The pattern of the path, without its values. */
  route: string | undefined
  scope: string | undefined
  keyId: number | undefined
  /** The windows of the API key and its account, once the request is charged to them. */
  windows: RequestWindows | undefined
  /** Whether the request counts as active in them. */
  isActive = false
  /** The limit that was reached, for the metrics. */
  limit: LimitName | undefined
  /** The error code of the response. */
  code: string | undefined
  status = 0
  bytes = 0

  constructor(method: string, headers: RequestHeaders) {
    this.method = method
    this.headers = headers
  }
}

/** A request and its state, created once and passed on until the response is sent. */
export class RequestContext extends RequestSummary {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly connection: ConnectionState
  /** Whether the client expects the connection to stay open. */
  readonly keepAlive: boolean
  /** Empty until it is parsed. */
  target: Target = NO_TARGET
  /** Whether the whole response is about to be sent. */
  isAnswered = false
  deadline: NodeJS.Timeout | undefined
  /** The place of its page among those of the session that it names. */
  pagePlace: PageInWork | undefined

  constructor(request: IncomingMessage, response: ServerResponse, connection: ConnectionState) {
    super(request.method ?? '', new RequestHeaders(request.rawHeaders))
    this.request = request
    this.response = response
    this.connection = connection
    this.keepAlive = wantsKeepAlive(request, this.headers)
  }
}

/** The state of a connection that responses read and change. */
export interface ConnectionState {
  /** Whether a response had `Connection: close`. */
  isClosing: boolean
  isNewest(context: RequestContext): boolean
  /** Runs the work of a page after that of all earlier pages of the connection. Does not run it if the connection has ended. */
  runInOrder(context: RequestContext, work: () => Promise<void>): Promise<void>
  /** Calls back if the body that is read cannot arrive any more. */
  onBodyError(callback: (error: Error) => void): void
  /** The same for a body that may take longer than others: whoever reads it bounds the time. */
  awaitLongBody(callback: (error: Error) => void): void
}

/** Sends the response to a request, or rejects with the error to send instead. */
export type Handle = (context: RequestContext) => Promise<void>

/** The summary of a request that the parser refused. */
export function summaryWithoutRequest(): RequestSummary {
  return new RequestSummary('', NO_HEADERS)
}

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
  readonly transferEncoding: string | undefined
  readonly forwardedFor: string | undefined
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
        case 'x-forwarded-for':
          this.forwardedFor = append(this.forwardedFor, value)
          break
        case 'x-request-id':
          this.requestId = value
          break
        case 'transfer-encoding':
          this.bodyAnnounced = true
          this.transferEncoding = append(this.transferEncoding, value)
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
  readonly host: Host | undefined
}

/** A host that was parsed, once, where the request is read. */
export interface Host {
  /** In lower case and without the port; an IPv6 address is in brackets. */
  readonly hostname: string
  /** With the port, as a browser writes it: `http://history.example:8080`. */
  readonly origin: string
}

/**
 * Throws uri_too_long, headers_too_large, and malformed_request for other versions of HTTP and for a body whose end is in doubt: chunks
 * are the only encoding, and only of HTTP/1.1 (RFC 9112, 6.1).
 */
export function checkHeaders({ url = '', httpVersion }: IncomingMessage, headers: RequestHeaders) {
  const { bytes, count, transferEncoding } = headers
  if (url.length > limits.targetBytes.max) throw new LimitError('targetBytes', 'uri_too_long')
  if (count > limits.headers.max) throw new LimitError('headers', 'headers_too_large')
  if (bytes > limits.headerBytes.max) throw new LimitError('headerBytes', 'headers_too_large')
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw new ApiError('malformed_request')
  if (transferEncoding !== undefined && (transferEncoding !== 'chunked' || httpVersion === '1.0')) {
    throw new ApiError('malformed_request')
  }
}

/** The host of the Host header, which only HTTP/1.0 may leave out. Throws host_invalid. */
export function readHost({ httpVersion }: IncomingMessage, { host, hostCount }: RequestHeaders): Host | undefined {
  if (hostCount > 1 || (hostCount === 0 && httpVersion === '1.1')) throw new ApiError('host_invalid')
  return host === undefined ? undefined : parseHost(host)
}

/** Throws body_not_allowed and expectation_failed. */
export function checkBody(method: string, { bodyAnnounced, expect }: RequestHeaders) {
  if (bodyAnnounced && (method === 'GET' || method === 'HEAD')) throw new ApiError('body_not_allowed')
  if (expect !== undefined && expect !== CONTINUE) throw new ApiError('expectation_failed')
}

/** Throws misdirected_request. */
export function checkHost({ host }: Target, allowed: readonly string[]) {
  if (allowed.length === 0 || host === undefined) return
  if (!allowed.includes(host.hostname)) throw new ApiError('misdirected_request')
}

/** Whether the client expects the connection to stay open after the response. */
function wantsKeepAlive({ httpVersion }: IncomingMessage, { connection, expect }: RequestHeaders): boolean {
  // A client that waits for "100 Continue" may send a body or not, so where the next request begins is not known.
  // Node closes then, even if the header says more.
  if (expect !== undefined && /(?:^|\W)100-continue(?:$|\W)/.test(expect)) return false
  if (connection === undefined) return httpVersion === '1.1'
  if (connection === 'keep-alive') return true
  const options = connection.split(',').map(option => option.trim())
  return !options.includes('close') && (httpVersion === '1.1' || options.includes('keep-alive'))
}

/**
 * Reads a request target in origin or absolute form. A proxy may or may not have removed the `prefix` below which the service is
 * served. Throws malformed_url for bytes that a target cannot have, and for invalid percent-encoding; host_invalid for an absolute form
 * that names another host than the Host header.
 */
export function parseTarget(target: string, sentHost: Host | undefined, prefix = ''): Target {
  if (INVALID_BYTES.test(target)) throw new ApiError('malformed_url')
  const { rest, host } = target.startsWith('/') ? { rest: target, host: sentHost } : fromAbsolute(target, sentHost)
  const mark = rest.indexOf('?')
  const path = withoutPrefix(mark === -1 ? rest : rest.slice(0, mark), prefix)
  const query = mark === -1 ? '' : rest.slice(mark + 1)
  if (!rest.includes('%')) return { path, segments: undefined, decodedPath: path, query, host }
  decode(query)
  if (!path.includes('%')) return { path, segments: undefined, decodedPath: path, query, host }
  const segments = path.split('/').map(decode)
  const decodedPath = segments.some(segment => segment.includes('/')) ? undefined : segments.join('/')
  return { path, segments, decodedPath, query, host }
}

function withoutPrefix(path: string, prefix: string): string {
  if (prefix === '' || !path.startsWith(prefix)) return path
  const rest = path.slice(prefix.length)
  if (rest === '') return '/'
  return rest.startsWith('/') ? rest : path
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
/** The colon, the space and the line end of a header line. */
const SEPARATOR_BYTES = 4
const CONTINUE = '100-continue'

// Everything but printable ASCII, and of that what a target must encode.
const INVALID_BYTES = /[^\x21-\x7e]|[#\\<>"]/
const ABSOLUTE_FORM = /^https?:\/\/([^/?]+)/i
const HOST = /^(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

function append(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}

/**
 * Parses a host with an optional port. Throws host_invalid for what is no host, and for an IPv4 address that is not written as four
 * decimal numbers: programs read the other notations differently.
 */
function parseHost(text: string): Host {
  // Nearly all requests have the same one.
  if (text === lastText && lastHost !== undefined) return lastHost
  const url = HOST.test(text) ? URL.parse(`http://${text}`) : null
  if (url === null || (isIPv4(url.hostname) && !text.startsWith(url.hostname))) throw new ApiError('host_invalid')
  lastText = text
  lastHost = { hostname: url.hostname, origin: url.origin }
  return lastHost
}

let lastText: string | undefined
let lastHost: Host | undefined

function fromAbsolute(target: string, sentHost: Host | undefined) {
  const [whole, authority = ''] = ABSOLUTE_FORM.exec(target) ?? []
  if (whole === undefined) throw new ApiError('malformed_url')
  const host = parseHost(authority)
  if (sentHost !== undefined && host.origin !== sentHost.origin) throw new ApiError('host_invalid')
  const rest = target.slice(whole.length)
  return { rest: rest.startsWith('/') ? rest : `/${rest}`, host }
}

/** Whether an Accept header allows application/json. A header that is absent, empty or cannot be parsed does. */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept === '*/*' || accept === 'application/json') return true
  let best = { specificity: -1, weight: 0 }
  let parsed = 0
  for (const part of partsOf(accept)) {
    if (part.trim() === '') continue
    const range = MEDIA_RANGE.exec(part)
    if (range === null) return true
    parsed += 1
    const [, type = '', subtype = '', parameters = ''] = range
    // Text within quotes is no weight.
    const weightAt = parameters.replaceAll(QUOTED, quoted => '"'.repeat(quoted.length)).search(WEIGHT)
    const own = weightAt === -1 ? parameters : parameters.slice(0, weightAt)
    const weight = weightAt === -1 ? 1 : weightOf(parameters.slice(weightAt))
    if (weight === undefined) return true
    const specificity = specificityOf(type.toLowerCase(), subtype.toLowerCase(), own)
    if (specificity > best.specificity) best = { specificity, weight }
    else if (specificity === best.specificity && specificity >= 0) {
      best = { specificity, weight: Math.max(best.weight, weight) }
    }
  }
  return parsed === 0 || best.weight > 0
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
// Each space can match in one place only. Otherwise a long header would make the expression backtrack without end.
const PARAMETER = `[ \\t]*;(?:[ \\t]*${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*"))?`
const MEDIA_RANGE = new RegExp(`^[ \\t]*(${TOKEN})/(${TOKEN})((?:${PARAMETER})*)[ \\t]*$`)
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const PART = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g
const WEIGHT = /;[ \t]*q=([^;]*)/i

/** Splits at commas, except those within quotes. */
function partsOf(list: string): readonly string[] {
  return list.includes('"') ? (list.match(PART) ?? []) : list.split(',')
}

/** `own` are the parameters of the type itself: those before the weight. */
function specificityOf(type: string, subtype: string, own: string): number {
  if (type === '*' && subtype === '*') return 0
  if (type !== 'application') return -1
  if (subtype === '*') return 1
  if (subtype !== 'json') return -1
  // The only parameter that application/json has here is its charset.
  if (own.trim() === '' || own.trim() === ';') return 2
  return /^[ \t]*;[ \t]*charset="?utf-8"?[ \t]*$/i.test(own) ? 3 : -1
}

/** 1 if there is none; undefined if it cannot be parsed. */
function weightOf(parameters: string): number | undefined {
  const weight = WEIGHT.exec(parameters)?.[1]?.trim()
  if (weight === undefined) return 1
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : undefined
}

const NO_HEADERS = new RequestHeaders([])
const NO_TARGET: Target = { path: '', segments: undefined, decodedPath: undefined, query: '', host: undefined }

function makeRequestId(): string {
  if (used === pool.length) {
    pool = randomBytes(pool.length)
    used = 0
  }
  used += REQUEST_ID_BYTES
  return pool.toString('base64url', used - REQUEST_ID_BYTES, used)
}

const REQUEST_ID_BYTES = 12
let pool = randomBytes(REQUEST_ID_BYTES * 256)
let used = 0
