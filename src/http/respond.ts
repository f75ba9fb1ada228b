import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { ErrorCode, HttpError } from '../contract/errors.ts'
import { ALLOW, ENVELOPE, JSON_TYPE, READ_METHODS, SECURITY_HEADERS } from '../contract/responses.ts'
import type { Result } from '../resources/results.ts'
import type { Limits } from './limits.ts'
import type { RequestContext, RequestSummary } from './request-context.ts'
import { type Body, ResponseBatch } from './response-batch.ts'

/** Writes every response of the API, and every error as JSON. Sends at most one response to each request. */
export interface Responder {
  /** Rejects if a streamed body ends early; the connection is then gone. */
  ok(
    context: RequestContext,
    data: NonNullable<Result['data']>,
    etag: string,
    link: string | undefined,
  ): Promise<void> | void
  notModified(context: RequestContext, etag: string, link: string | undefined): void
  /** Responds to OPTIONS, also to the preflight requests of browsers. */
  options(context: RequestContext): void
  json(context: RequestContext, body: string): void
  error(context: RequestContext, error: HttpError): void
  /** Responds to a request that the parser refused. */
  errorTo(socket: Socket, summary: RequestSummary, error: HttpError): void
}

interface ResponderOptions {
  readonly limits: Limits
  readonly corsOrigins: readonly string[]
  /** How long an idle connection stays open, in milliseconds. */
  readonly keepAlive: number
  /** Whether the server closes the connection after this response. */
  readonly isLast: (context: RequestContext) => boolean
}

export function makeResponder({ limits, corsOrigins, keepAlive, isLast }: ResponderOptions): Responder {
  const commonLines = makeCommonLines(limits, corsOrigins)
  const kept = keepAliveLines(keepAlive)
  const batch = new ResponseBatch()

  /** Writes the headers; false if the request has timed out and got its response. */
  const start = (context: RequestContext, status: number, lines: string): boolean => {
    if (context.isAnswered) return false
    const ends = isUncertain(context, status) || isLast(context)
    if (ends) context.connection.isClosing = true
    context.response.writeLines(status, lines + dateLine(context.now) + (ends ? CLOSE : kept), ends)
    return true
  }

  const send = (context: RequestContext, status: number, lines: string, body: Body) => {
    if (!start(context, status, lines)) return
    context.isAnswered = true
    batch.add(context.response, body, context.bytes)
  }

  const errorParts = (summary: RequestSummary, error: HttpError) => {
    const { code, status, message, fieldErrors } = error
    const body = JSON.stringify({ ok: false, error: message, code, status, requestId: summary.requestId, fieldErrors })
    summary.code = code
    summary.bytes = Buffer.byteLength(body)
    const lines = `${commonLines(summary)}${CONTENT}${summary.bytes}\r\n${linesOf(headersOfError(error, summary.scope))}`
    return { lines, body }
  }

  return {
    ok(context, data, etag, link) {
      context.bytes = lengthOf(data)
      const lines = `${commonLines(context)}ETag: ${etag}\r\n${CONTENT}${context.bytes}\r\n${linkLine(link)}`
      if (context.method === 'HEAD') return send(context, 200, lines, undefined)
      if ('open' in data) return send(context, 200, lines, data.open())
      if (!('bytes' in data)) return send(context, 200, lines, bodyOf(data, context.bytes))
      return start(context, 200, lines) ? stream(data.parts, context) : undefined
    },
    notModified(context, etag, link) {
      send(context, 304, `${commonLines(context)}ETag: ${etag}\r\n${TYPE}${linkLine(link)}`, undefined)
    },
    options(context) {
      const { origin } = context.headers
      const preflight = origin !== undefined && corsOrigins.includes(origin) ? PREFLIGHT : {}
      send(context, 204, commonLines(context) + linesOf({ Allow: ALLOW, ...preflight }), undefined)
    },
    json(context, body) {
      context.bytes = Buffer.byteLength(body)
      send(context, 200, `${commonLines(context)}${CONTENT}${context.bytes}\r\n`, body)
    },
    error(context, error) {
      const { lines, body } = errorParts(context, error)
      send(context, error.status, lines, body)
    },
    errorTo(socket, summary, error) {
      const { lines, body } = errorParts(summary, error)
      summary.status = error.status
      socket.write(
        `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${lines}${dateLine(summary.now)}${CLOSE}\r\n${body}`,
      )
    },
  }
}

/** The headers that every response has. */
function makeCommonLines(limits: Limits, corsOrigins: readonly string[]) {
  const always = linesOf(corsOrigins.length === 0 ? SECURITY_HEADERS : { ...SECURITY_HEADERS, Vary: 'Origin' })
  return ({ requestId, rateWindow, headers: { origin }, startedAt }: RequestSummary): string => {
    let lines = `X-Request-Id: ${requestId}\r\n${always}`
    if (rateWindow !== undefined) lines += limits.lines(rateWindow, startedAt)
    if (origin !== undefined && corsOrigins.includes(origin)) {
      lines += linesOf({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED })
    }
    return lines
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

function lengthOf(data: NonNullable<Result['data']>): number {
  if ('open' in data) return data.length
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

const TYPE = linesOf({ 'Content-Type': JSON_TYPE })
const CONTENT = `${TYPE}Content-Length: `
const CLOSE = 'Connection: close\r\n'
const EXPOSED = 'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'
const PREFLIGHT = {
  'Access-Control-Allow-Methods': READ_METHODS.join(', '),
  'Access-Control-Allow-Headers': 'Authorization, If-None-Match',
  'Access-Control-Max-Age': '600',
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function linkLine(link: string | undefined): string {
  return link === undefined ? '' : `Link: ${link}\r\n`
}

function keepAliveLines(timeout: number): string {
  const lines = 'Connection: keep-alive\r\n'
  return timeout === 0 ? lines : `${lines}Keep-Alive: timeout=${Math.floor(timeout / 1000)}\r\n`
}

function dateLine(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastDate = `Date: ${new Date(now).toUTCString()}\r\n`
  }
  return lastDate
}

let lastSecond = 0
let lastDate = ''

/** Headers that belong to an error (RFC 6750, RFC 9110). */
function headersOfError(
  { code, status, message, retryAfter }: HttpError,
  scope = '',
): Readonly<Record<string, string>> {
  if (code === 'missing_token') return { 'WWW-Authenticate': 'Bearer realm="api"' }
  if (status === 401) return challenge('invalid_token', `error_description="${message}"`)
  if (code === 'invalid_request') return challenge(code, `error_description="${message}"`)
  if (code === 'insufficient_scope') return challenge(code, `scope="${scope}"`)
  if (code === 'method_not_allowed') return { Allow: ALLOW }
  if (status === 429 || status === 503) return { 'Retry-After': String(retryAfter ?? 1) }
  return {}
}

function challenge(error: string, rest: string) {
  return { 'WWW-Authenticate': `Bearer realm="api", error="${error}", ${rest}` }
}
