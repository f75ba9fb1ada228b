import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import { ApiError, type HttpError } from '../contract/errors.ts'
import type { Config } from '../config.ts'
import { ENVELOPE, JSON_TYPE, SECURITY_HEADERS } from '../contract/responses.ts'
import type { LongText } from '../resources/handler.ts'
import { announcesBody, type RequestContext, type RequestSummary } from './context.ts'
import type { RateLimits } from './rate-limits.ts'

/** Sends the JSON of the API, and every error that is JSON. */
export interface Answers {
  /** Rejects if a streamed body ends early; the connection is then gone. */
  ok(reply: FastifyReply, data: Data, etag: string, link: string | undefined): Promise<void> | void
  notModified(reply: FastifyReply, etag: string, link: string | undefined): void
  json(reply: FastifyReply, body: string): void
  error(reply: FastifyReply, error: HttpError): void
  /** Answers a request that the parser refused, and ends its connection. */
  errorTo(
    socket: Socket,
    summary: RequestSummary & { code?: string; status: number; bytes: number },
    error: HttpError,
  ): void
}

/** The JSON text of `data`: in parts, or one that is read while it is sent. */
type Data = readonly string[] | LongText

/** The headers of every response; with https at the public address also the one that lets browsers use nothing else for a year. */
export function securityHeadersOf({ publicUrl, hsts }: Pick<Config, 'publicUrl' | 'hsts'>) {
  const isSecure = hsts && publicUrl.startsWith('https:')
  return { ...SECURITY_HEADERS, ...(isSecure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}) }
}

/**
 * Answers are written to `reply.raw`, with their headers as one list: `reply.send` takes an eighth more CPU time for a record, and
 * would join the parts of a list.
 */
export function makeAnswers(limits: RateLimits, config: Pick<Config, 'corsOrigins' | 'publicUrl' | 'hsts'>): Answers {
  const hasCors = config.corsOrigins.length > 0
  const batch = new AnswerBatch()

  const headersOf = makeHeaders(limits, config)

  const start = (reply: FastifyReply, status: number, headers: string[]) => {
    // What @fastify/cors has set.
    if (hasCors) {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (name === 'vary' || name.startsWith('access-control-')) headers.push(name, String(value))
    }
    reply.hijack()
    reply.raw.writeHead(status, headers)
  }

  const send = (reply: FastifyReply, status: number, headers: string[], body: Body) => {
    // The client has been told that it took too long.
    if (reply.sent) return
    start(reply, status, headers)
    batch.add(reply.raw, body, reply.request.context.bytes)
  }

  return {
    ok(reply, data, etag, link) {
      const { context, method } = reply.request
      context.bytes = lengthOf(data)
      const headers = headersOf(context, 'ETag', etag, ...CONTENT, String(context.bytes), ...linkHeader(link))
      if (method === 'HEAD') return send(reply, 200, headers, undefined)
      if (!('bytes' in data)) return send(reply, 200, headers, bodyOf(data, context.bytes))
      if (reply.sent) return undefined
      start(reply, 200, headers)
      return stream(data.parts, reply.raw)
    },
    notModified(reply, etag, link) {
      send(reply, 304, headersOf(reply.request.context, 'ETag', etag, ...linkHeader(link)), undefined)
    },
    json(reply, body) {
      const { context } = reply.request
      context.bytes = Buffer.byteLength(body)
      send(reply, 200, headersOf(context, ...CONTENT, String(context.bytes)), body)
    },
    error(reply, error) {
      const { context, raw } = reply.request
      const { headers, body, bytes } = errorParts(headersOf, context, error)
      context.code = error.code
      context.bytes = bytes
      if (announcesBody(raw) && !raw.complete) headers.push('Connection', 'close')
      send(reply, error.status, headers, body)
    },
    errorTo(socket, summary, error) {
      const { headers, body, bytes } = errorParts(headersOf, summary, error)
      summary.code = error.code
      summary.bytes = bytes
      summary.status = error.status
      if (hasCors) headers.push('Vary', 'Origin')
      headers.push('Date', new Date(summary.now).toUTCString(), 'Connection', 'close')
      socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${linesOf(headers)}\r\n${body}`)
      // A connection that is closed before all of a request has arrived is reset, and its client may lose the answer.
      socket.resume()
      setTimeout(() => socket.destroy(), MAX_LINGER_MS).unref()
    },
  }
}

type HeadersOf = (summary: Partial<RequestContext>, ...own: string[]) => string[]

/** Adds the headers that every answer has. All headers here are names and values in turn. */
function makeHeaders(limits: RateLimits, config: Pick<Config, 'publicUrl' | 'hsts'>): HeadersOf {
  const always = Object.entries(securityHeadersOf(config)).flat()
  return ({ requestId, windows, startedAt }, ...own) => {
    const headers = ['X-Request-Id', requestId ?? '', ...always, ...own]
    if (windows !== undefined) headers.push(...limits.headers(windows, startedAt ?? 0))
    return headers
  }
}

function errorParts(headersOf: HeadersOf, summary: Partial<RequestContext>, error: HttpError) {
  const { code, status, message, fieldErrors } = error
  const body = JSON.stringify({ ok: false, error: message, code, status, requestId: summary.requestId, fieldErrors })
  const bytes = Buffer.byteLength(body)
  return {
    body,
    bytes,
    headers: headersOf(summary, ...CONTENT, String(bytes), ...headersOfError(error, summary.scope)),
  }
}

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
const MAX_LINGER_MS = 2000

/** Sends a body part by part, as fast as it is read. */
async function stream(parts: AsyncIterable<string>, response: ServerResponse) {
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
const CONTENT = ['Content-Type', JSON_TYPE, 'Content-Length']

function linkHeader(link: string | undefined): readonly string[] {
  return link === undefined ? [] : ['Link', link]
}

function linesOf(headers: readonly string[]): string {
  return headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
}

/** A known path, asked with another method. */
export class MethodError extends ApiError {
  readonly allowed: readonly string[]

  constructor(allowed: readonly string[]) {
    super('method_not_allowed')
    this.allowed = allowed
  }
}

/** Headers that belong to an error (RFC 6750, RFC 9110). */
function headersOfError(error: HttpError, scope = ''): readonly string[] {
  const { code, status, message, retryAfter } = error
  if (error instanceof MethodError) return ['Allow', error.allowed.join(', ')]
  if (code === 'missing_token') return ['WWW-Authenticate', 'Bearer realm="api"']
  if (status === 401) return challenge('invalid_token', `error_description="${message}"`)
  if (code === 'invalid_request') return challenge(code, `error_description="${message}"`)
  if (code === 'insufficient_scope') return challenge(code, `scope="${scope}"`)
  if (status === 429 || status === 503) return ['Retry-After', String(retryAfter ?? 1)]
  return []
}

function challenge(error: string, rest: string) {
  return ['WWW-Authenticate', `Bearer realm="api", error="${error}", ${rest}`]
}

/**
 * Ends answers together, after all requests that have arrived are handled. An answer that is sent alone wakes up its client, which on
 * the same machine costs more than making a small answer.
 */
class AnswerBatch {
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
