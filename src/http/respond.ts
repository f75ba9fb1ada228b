import { randomBytes } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { ApiError, ErrorCode } from '../contract/errors.ts'
import type { Result } from '../resources/results.ts'
import type { RequestContext } from './request-context.ts'
import type { Limits } from './limits.ts'
import { type Body, ResponseBatch } from './response-batch.ts'
import type { Response } from './response.ts'

/** How answers look on the wire: those of the API, and refusals wherever they are raised. */
export interface Responder {
  /** Rejects when a long text ends early; the connection is then gone. */
  ok(
    response: Response,
    exchange: RequestContext,
    data: Result['data'],
    etag: string,
    link: string | undefined,
  ): Promise<void> | void
  notModified(response: Response, exchange: RequestContext, etag: string, link: string | undefined): void
  /** Says which methods there are, also to a browser that asks on behalf of a page. */
  options(response: Response, exchange: RequestContext): void
  error(response: Response, exchange: RequestContext, error: ApiError): void
  /** A refusal as bytes, for a request that the parser gave up on. */
  rawError(exchange: RequestContext, error: ApiError): string
}

interface ResponderOptions {
  readonly limits: Limits
  readonly corsOrigins: readonly string[]
  /** Whether this connection is to end with this answer. */
  readonly isLast: (response: Response) => boolean
}

export const JSON_TYPE = 'application/json; charset=utf-8'

export function makeResponder({ limits, corsOrigins, isLast }: ResponderOptions): Responder {
  const constant = linesOf(corsOrigins.length === 0 ? CONSTANT_HEADERS : { ...CONSTANT_HEADERS, Vary: 'Origin' })

  const outbox = new ResponseBatch()

  const linesFor = ({ requestId, allowance, head, now }: RequestContext): string => {
    let lines = `X-Request-Id: ${requestId}\r\n${constant}`
    if (allowance !== undefined) lines += limits.lines(allowance, now)
    const origin = head?.origin
    if (origin !== undefined && corsOrigins.includes(origin)) {
      lines += linesOf({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': EXPOSED })
    }
    return lines
  }

  /** Writes the head; false where the request is answered already, because it took too long. */
  const start = (response: Response, exchange: RequestContext, status: number, lines: string) => {
    if (response.isEnding) return false
    const { code, head } = exchange
    // Where a body was announced its bytes may still be under way, and nobody is going to read them.
    if (head?.bodyAnnounced === true || (code !== undefined && CLOSING.has(code)) || isLast(response)) {
      response.shouldKeepAlive = false
    }
    response.writeLines(status, lines)
    return true
  }

  const send = (response: Response, exchange: RequestContext, status: number, lines: string, body: Body) => {
    if (start(response, exchange, status, lines)) outbox.add(response, body, exchange.bytes)
  }

  const refusal = (exchange: RequestContext, error: ApiError) => {
    exchange.code = error.code
    const { code, status, message, fieldErrors } = error
    const body = JSON.stringify({ ok: false, error: message, code, status, requestId: exchange.requestId, fieldErrors })
    exchange.bytes = Buffer.byteLength(body)
    const lines = `${linesFor(exchange)}${CONTENT}${exchange.bytes}\r\n${linesOf(headersOfError(error, exchange.scope))}`
    return { lines, body }
  }

  return {
    ok(response, exchange, data, etag, link) {
      exchange.bytes = FRAME + ('bytes' in data ? data.bytes : bytesOf(data))
      const lines = `${linesFor(exchange)}ETag: ${etag}\r\n${CONTENT}${exchange.bytes}\r\n${linkLine(link)}`
      if (exchange.method === 'HEAD') return send(response, exchange, 200, lines, undefined)
      if ('bytes' in data) return start(response, exchange, 200, lines) ? stream(data.parts, response) : undefined
      send(response, exchange, 200, lines, bodyOf(data, exchange.bytes))
    },
    notModified(response, exchange, etag, link) {
      const lines = `${linesFor(exchange)}ETag: ${etag}\r\n${TYPE}${linkLine(link)}`
      send(response, exchange, 304, lines, undefined)
    },
    options(response, exchange) {
      const origin = exchange.head?.origin
      const preflight = origin !== undefined && corsOrigins.includes(origin) ? PREFLIGHT : {}
      send(response, exchange, 204, linesFor(exchange) + linesOf({ Allow: ALLOW, ...preflight }), undefined)
    },
    error(response, exchange, error) {
      const { lines, body } = refusal(exchange, error)
      send(response, exchange, error.status, lines, body)
    },
    rawError(exchange, error) {
      const { lines, body } = refusal(exchange, error)
      exchange.status = error.status
      const statusLine = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n`
      return `${statusLine}${lines}Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n${body}`
    },
  }
}

function bytesOf(parts: readonly string[]): number {
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part)
  return bytes
}

/** A short text is best sent as one; the copies that this takes of a long one cost more than sending its parts. */
function bodyOf(parts: readonly string[], bytes: number): Body {
  if (bytes > LONG) return [BEFORE_DATA, ...parts, AFTER_DATA]
  let body = BEFORE_DATA
  for (const part of parts) body += part
  return body + AFTER_DATA
}

const LONG = 16 * 1024

/** Sends a text part by part, as fast as it is taken. */
async function stream(parts: AsyncIterable<string>, response: Response) {
  try {
    await pipeline(framed(parts), response)
  } catch (error) {
    // Who asked is gone, which is nobody's failure.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  }
}

async function* framed(parts: AsyncIterable<string>) {
  yield BEFORE_DATA
  yield* parts
  yield AFTER_DATA
}

const BEFORE_DATA = '{"ok":true,"data":'
const AFTER_DATA = '}'
const FRAME = BEFORE_DATA.length + AFTER_DATA.length

/** 16 characters that nobody can guess and no two requests share. */
export function makeRequestId(): string {
  if (used === pool.length) {
    pool = randomBytes(pool.length)
    used = 0
  }
  used += REQUEST_ID_BYTES
  return pool.toString('base64url', used - REQUEST_ID_BYTES, used)
}

const CONSTANT_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

const TYPE = linesOf({ 'Content-Type': JSON_TYPE })
const CONTENT = `${TYPE}Content-Length: `

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function linkLine(link: string | undefined): string {
  return link === undefined ? '' : `Link: ${link}\r\n`
}

const ALLOW = 'GET, HEAD, OPTIONS'
const EXPOSED = 'ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'
const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, HEAD',
  'Access-Control-Allow-Headers': 'Authorization, If-None-Match',
  'Access-Control-Max-Age': '600',
}

/** After these the state of the connection is in doubt. */
const CLOSING: ReadonlySet<ErrorCode> = new Set([
  'malformed_request',
  'host_invalid',
  'body_not_allowed',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
])

const REQUEST_ID_BYTES = 12
let pool = randomBytes(REQUEST_ID_BYTES * 256)
let used = 0

/** Headers that belong to a refusal (RFC 6750, RFC 9110). */
function headersOfError({ code, status, message, retryAfter }: ApiError, scope = ''): Readonly<Record<string, string>> {
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
