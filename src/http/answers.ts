import { type IncomingMessage, STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import type { HttpError } from '../contract/errors.ts'
import type { Config } from '../config.ts'
import { ENVELOPE, JSON_TYPE, SECURITY_HEADERS } from '../contract/responses.ts'
import type { LongText } from '../resources/handler.ts'
import type { RequestContext, RequestSummary } from './log.ts'
import type { RateLimits } from './rate-limits.ts'

/** The headers of every response; with https at the public address also the one that lets browsers use nothing else for a year. */
export function securityHeadersOf({ publicUrl, hsts }: Pick<Config, 'publicUrl' | 'hsts'>) {
  const isSecure = hsts && publicUrl.startsWith('https:')
  return { ...SECURITY_HEADERS, ...(isSecure ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}) }
}

/**
 * Sends the JSON of the API, and every error that is JSON. Answers are written to `reply.raw`, with their headers as one list of names and
 * values: `reply.send` takes an eighth more CPU time for a record, and would join the parts of a list.
 */
export class Answers {
  readonly #limits: RateLimits
  readonly #always: readonly string[]
  readonly #hasCors: boolean

  constructor(limits: RateLimits, config: Pick<Config, 'corsOrigins' | 'publicUrl' | 'hsts'>) {
    this.#limits = limits
    this.#always = Object.entries(securityHeadersOf(config)).flat()
    this.#hasCors = config.corsOrigins.length > 0
  }

  /** Sends data: in parts, or one text that is read while it is sent. Rejects if that ends early; the connection is then gone. */
  ok(reply: FastifyReply, data: readonly string[] | LongText, etag: string, link: string | undefined) {
    const isLong = 'bytes' in data
    const { context, method } = reply.request
    context.bytes = ENVELOPE.before.length + ENVELOPE.after.length + (isLong ? data.bytes : bytesOf(data))
    const headers = this.#contentHeaders(context, 'ETag', etag, ...linkHeader(link))
    if (method === 'HEAD') this.#send(reply, 200, headers)
    else if (!isLong) this.#send(reply, 200, headers, ...bodyOf(data, context.bytes))
    else if (this.#begin(reply, 200, headers)) return stream(data.parts, reply.raw)
    return undefined
  }

  notModified(reply: FastifyReply, etag: string, link: string | undefined) {
    this.#send(reply, 304, this.#headers(reply.request.context, 'ETag', etag, ...linkHeader(link)))
  }

  error(reply: FastifyReply, error: HttpError) {
    const { headers, body } = this.#errorParts(reply.request.context, error)
    this.#send(reply, error.status, headers, body)
  }

  /** Answers a request that the parser refused, and ends its connection. */
  errorTo(socket: Socket, summary: AnsweredSummary, error: HttpError) {
    const { headers, body } = this.#errorParts(summary, error)
    if (this.#hasCors) headers.push('Vary', 'Origin')
    headers.push('Date', new Date(summary.now).toUTCString(), 'Connection', 'close')
    const lines = headers.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
    socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}\r\n${lines}\r\n${body}`)
    socket.resume()
    linger(socket)
  }

  json(reply: FastifyReply, body: string) {
    const { context } = reply.request
    context.bytes = Buffer.byteLength(body)
    this.#send(reply, 200, this.#contentHeaders(context), body)
  }

  #headers({ requestId, window, startedAt }: AnsweredSummary, ...own: string[]): string[] {
    const headers = ['X-Request-Id', requestId, ...this.#always, ...own]
    if (window !== undefined) headers.push(...this.#limits.headers(window, startedAt))
    return headers
  }

  #contentHeaders(summary: AnsweredSummary, ...own: string[]): string[] {
    return this.#headers(summary, ...own, 'Content-Type', JSON_TYPE, 'Content-Length', String(summary.bytes))
  }

  #errorParts(summary: AnsweredSummary, error: HttpError) {
    const { code, status, message, fieldErrors } = error
    const { requestId } = summary
    const body = JSON.stringify({ ok: false, error: message, code, status, requestId, fieldErrors })
    summary.code = code
    summary.bytes = Buffer.byteLength(body)
    return { body, headers: this.#contentHeaders(summary, ...headersOfError(error, summary.scope)) }
  }

  /** False if the client has been told that it took too long. */
  #begin(reply: FastifyReply, status: number, headers: string[]): boolean {
    if (reply.sent) return false
    // What @fastify/cors has set.
    if (this.#hasCors) {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (name === 'vary' || name.startsWith('access-control-')) headers.push(name, String(value))
    }
    reply.hijack()
    reply.raw.writeHead(status, headers)
    return true
  }

  #send(reply: FastifyReply, status: number, headers: string[], ...body: readonly string[]) {
    if (this.#begin(reply, status, headers)) endTogether(reply.raw, body)
  }
}

/** What an answer needs of a request, and what it notes for the log. */
type AnsweredSummary = RequestSummary & Partial<Pick<RequestContext, 'window' | 'scope'>>

/** Joins the parts of a short body. Copying those of a long one costs more than sending them. */
function bodyOf(parts: readonly string[], bytes: number): readonly string[] {
  const all = [ENVELOPE.before, ...parts, ENVELOPE.after]
  return bytes > MAX_JOINED_BYTES ? all : [all.join('')]
}

const MAX_JOINED_BYTES = 16 * 1024

/** Drops what still arrives of a request that has its answer. Its connection ends if that takes long. */
export function dropRest(request: IncomingMessage) {
  if (request.complete) return
  const timer = linger(request.socket)
  request.once('end', () => clearTimeout(timer)).resume()
}

/** A connection that is closed before all of a request has arrived is reset, and its client may lose the answer. */
function linger(socket: Socket) {
  return setTimeout(() => socket.destroy(), MAX_LINGER_MS).unref()
}

const MAX_LINGER_MS = 2000

/** Sends a body part by part, as fast as it is read. */
async function stream(parts: AsyncIterable<string>, response: ServerResponse) {
  const framed = async function* () {
    yield ENVELOPE.before
    yield* parts
    yield ENVELOPE.after
  }
  await pipeline(framed, response).catch((error: unknown) => {
    // The client closed the connection.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  })
}

function bytesOf(parts: readonly string[]): number {
  return parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0)
}

function linkHeader(link: string | undefined): readonly string[] {
  return link === undefined ? [] : ['Link', link]
}

/** Headers that belong to an error (RFC 6750, RFC 9110). */
function headersOfError({ code, status, message, retryAfter, allow }: HttpError, scope = ''): readonly string[] {
  if (allow !== undefined) return ['Allow', allow.join(', ')]
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

const waiting: (readonly [ServerResponse, readonly string[]])[] = []

/**
 * Ends answers together, after all requests that have arrived are handled. An answer that is sent alone wakes up its client, which on
 * the same machine costs more than making a small answer.
 */
function endTogether(response: ServerResponse, body: readonly string[]) {
  if (waiting.push([response, body]) === 1) setImmediate(endAll)
}

function endAll() {
  for (const [response, body] of waiting.splice(0)) {
    // Node collects them and writes to the socket once.
    for (const part of body.slice(0, -1)) response.write(part)
    response.end(body.at(-1))
  }
}
