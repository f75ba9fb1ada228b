import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { ErrorCode, HttpError } from '../contract/errors.ts'
import type { Config } from '../config.ts'
import { ALLOW, ENVELOPE, JSON_TYPE, READ_METHODS, SECURITY_HEADERS } from '../contract/responses.ts'
import type { LongText } from '../resources/handler.ts'
import type { RateLimits } from './rate-limits.ts'
import type { RequestContext, RequestSummary } from './request.ts'

/** Writes every response of the API, and every error as JSON. Sends at most one response to each request. */
export interface Responder {
  /** Rejects if a streamed body ends early; the connection is then gone. */
  ok(context: RequestContext, data: Data, etag: string, link: string | undefined): Promise<void> | void
  notModified(context: RequestContext, etag: string, link: string | undefined): void
  /** Responds to OPTIONS, also to the preflight requests of browsers. */
  options(context: RequestContext): void
  json(context: RequestContext, body: string): void
  error(context: RequestContext, error: HttpError): void
  /** Responds to a request that the parser refused. */
  errorTo(socket: Socket, summary: RequestSummary, error: HttpError): void
}

/** The JSON text of `data`: in parts, or one that is read while it is sent. */
type Data = readonly string[] | LongText

/** The headers of every response; with https at the public address also the one that lets browsers use nothing else for a year. */
export function securityHeadersOf({ publicUrl, hsts }: Pick<Config, 'publicUrl' | 'hsts'>) {
  const isSecure = hsts && publicUrl.startsWith('https:')
  return { ...SECURITY_HEADERS, ...(isSecure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}) }
}

interface ResponderOptions {
  readonly limits: RateLimits
  readonly config: Pick<Config, 'corsOrigins' | 'publicUrl' | 'hsts'>
  /** Whether the server closes the connection after this response. */
  readonly isLast: (context: RequestContext) => boolean
}

export function makeResponder({ limits, config, isLast }: ResponderOptions): Responder {
  const headersOf = makeHeaders(limits, config)
  const batch = new ResponseBatch()

  /** Writes the headers; false if the request has timed out and got its response. */
  const start = (context: RequestContext, status: number, headers: string[]): boolean => {
    if (context.isAnswered) return false
    if (isUncertain(context, status) || isLast(context)) {
      context.connection.isClosing = true
      headers.push(...CLOSE)
    }
    context.response.writeHead(status, headers)
    return true
  }

  const send = (context: RequestContext, status: number, headers: string[], body: Body) => {
    if (!start(context, status, headers)) return
    context.isAnswered = true
    batch.add(context.response, body, context.bytes)
  }

  const errorParts = (summary: RequestSummary, error: HttpError) => {
    const { code, status, message, fieldErrors } = error
    const body = JSON.stringify({ ok: false, error: message, code, status, requestId: summary.requestId, fieldErrors })
    summary.code = code
    summary.bytes = Buffer.byteLength(body)
    const own = headersOfError(error, summary.scope)
    return { headers: headersOf(summary, ...CONTENT, String(summary.bytes), ...own), body }
  }

  return {
    ok(context, data, etag, link) {
      context.bytes = lengthOf(data)
      const headers = headersOf(context, 'ETag', etag, ...CONTENT, String(context.bytes), ...linkHeader(link))
      if (context.method === 'HEAD') return send(context, 200, headers, undefined)
      if (!('bytes' in data)) return send(context, 200, headers, bodyOf(data, context.bytes))
      return start(context, 200, headers) ? stream(data.parts, context) : undefined
    },
    notModified(context, etag, link) {
      send(context, 304, headersOf(context, 'ETag', etag, ...TYPE, ...linkHeader(link)), undefined)
    },
    options(context) {
      const { origin } = context.headers
      const preflight = origin !== undefined && config.corsOrigins.includes(origin) ? PREFLIGHT : []
      send(context, 204, headersOf(context, 'Allow', ALLOW, ...preflight), undefined)
    },
    json(context, body) {
      context.bytes = Buffer.byteLength(body)
      send(context, 200, headersOf(context, ...CONTENT, String(context.bytes)), body)
    },
    error(context, error) {
      const { headers, body } = errorParts(context, error)
      send(context, error.status, headers, body)
    },
    errorTo(socket, summary, error) {
      const { headers, body } = errorParts(summary, error)
      headers.push('Date', new Date(summary.now).toUTCString(), ...CLOSE)
      summary.status = error.status
      socket.write(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${linesOf(headers)}\r\n${body}`)
    },
  }
}

/** Adds the headers that every response has. All headers here are names and values in turn. */
function makeHeaders(limits: RateLimits, config: ResponderOptions['config']) {
  const { corsOrigins } = config
  const always = Object.entries(securityHeadersOf(config)).flat()
  if (corsOrigins.length > 0) always.push('Vary', 'Origin')
  return ({ requestId, windows, headers: { origin }, startedAt }: RequestSummary, ...own: string[]): string[] => {
    const headers = ['X-Request-Id', requestId, ...always, ...own]
    if (windows !== undefined) headers.push(...limits.headers(windows, startedAt))
    if (origin !== undefined && corsOrigins.includes(origin)) {
      headers.push('Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED)
    }
    return headers
  }
}

/** Whether it is uncertain where the next request begins, or, for the client, where this response ends. */
function isUncertain({ code, headers, keepAlive, request }: RequestContext, status: number): boolean {
  if (!keepAlive || headers.bodyAnnounced || (code !== undefined && CLOSING.has(code))) return true
  return request.httpVersion === '1.0' && (status === 204 || status === 304)
}

/** Errors after which the connection closes. */
const CLOSING: ReadonlySet<string> = new Set<ErrorCode>([
  'malformed_request',
  'host_invalid',
  'body_not_allowed',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
])

function lengthOf(data: Data): number {
  return FRAME_BYTES + ('bytes' in data ? data.bytes : bytesOf(data))
}

function bytesOf(parts: readonly string[]): number {
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part)
  return bytes
}

/** Joins the parts of a short body. Copying those of a long one costs more than sending them. */
function bodyOf(parts: readonly string[], bytes: number): Body {
  if (bytes > MAX_JOINED_BYTES) return [ENVELOPE.before, ...parts, ENVELOPE.after]
  let body: string = ENVELOPE.before
  for (const part of parts) body += part
  return body + ENVELOPE.after
}

const MAX_JOINED_BYTES = 16 * 1024

/** Sends a body part by part, as fast as it is read. */
async function stream(parts: AsyncIterable<string>, { response }: RequestContext) {
  try {
    await pipeline(framed(parts), response)
  } catch (error) {
    // The client closed the connection.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  }
}

async function* framed(parts: AsyncIterable<string>) {
  yield ENVELOPE.before
  yield* parts
  yield ENVELOPE.after
}

const FRAME_BYTES = ENVELOPE.before.length + ENVELOPE.after.length

const TYPE = ['Content-Type', JSON_TYPE]
const CONTENT = [...TYPE, 'Content-Length']
const CLOSE = ['Connection', 'close']
const EXPOSED = 'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'
const PREFLIGHT = Object.entries({
  'Access-Control-Allow-Methods': READ_METHODS.join(', '),
  'Access-Control-Allow-Headers': 'Authorization, If-None-Match',
  'Access-Control-Max-Age': '600',
}).flat()

function linkHeader(link: string | undefined): readonly string[] {
  return link === undefined ? [] : ['Link', link]
}

function linesOf(headers: readonly string[]): string {
  return headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
}

/** Headers that belong to an error (RFC 6750, RFC 9110). */
function headersOfError({ code, status, message, retryAfter }: HttpError, scope = ''): readonly string[] {
  if (code === 'missing_token') return ['WWW-Authenticate', 'Bearer realm="api"']
  if (status === 401) return challenge('invalid_token', `error_description="${message}"`)
  if (code === 'invalid_request') return challenge(code, `error_description="${message}"`)
  if (code === 'insufficient_scope') return challenge(code, `scope="${scope}"`)
  if (code === 'method_not_allowed') return ['Allow', ALLOW]
  if (status === 429 || status === 503) return ['Retry-After', String(retryAfter ?? 1)]
  return []
}

function challenge(error: string, rest: string) {
  return ['WWW-Authenticate', `Bearer realm="api", error="${error}", ${rest}`]
}

/**
 * Ends responses together, after all requests that have arrived are handled. A response that is sent alone wakes up its client, which on
 * the same machine costs more than making a small response.
 */
class ResponseBatch {
  #waiting: { readonly response: ServerResponse; readonly body: Body }[] = []
  #bytes = 0

  add(response: ServerResponse, body: Body, bytes: number) {
    this.#waiting.push({ response, body })
    this.#bytes += bytes
    if (this.#bytes > MAX_BATCH_BYTES) this.#send()
    else if (this.#waiting.length === 1) setImmediate(() => this.#send())
  }

  #send() {
    const batch = this.#waiting
    this.#waiting = []
    this.#bytes = 0
    for (const { response, body } of batch) {
      if (typeof body !== 'object') response.end(body)
      else {
        // Node collects them and writes to the socket once.
        for (const part of body) response.write(part)
        response.end()
      }
    }
  }
}

/** A text, in parts if joining them is not worth a copy. */
type Body = string | readonly string[] | undefined

const MAX_BATCH_BYTES = 1024 * 1024
