import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitName } from './limits.ts'
import type { PageInWork } from './page-limits.ts'
import type { RequestWindows } from './rate-limits.ts'

/** What the log and the metrics need from a request, also from one that the parser refused. */
export interface RequestSummary {
  readonly requestId: string
  readonly method: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** By the monotonic clock. */
  readonly startedAt: number
  /** The pattern of the path, without its values. */
  readonly route?: string | undefined
  readonly keyId?: number | undefined
  /** The limit that was reached, for the metrics. */
  readonly limit?: LimitName | undefined
  /** The error code of the response. */
  readonly code?: string | undefined
  readonly status: number
  readonly bytes: number
}

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
}

/** What this service knows of a request besides what Fastify does. */
export class RequestContext implements RequestSummary {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly method: string
  readonly now = Date.now()
  readonly startedAt = performance.now()
  readonly target: Target
  route: string | undefined
  /** The scope that the endpoint asks for first. */
  scope: string | undefined
  keyId: number | undefined
  /** The windows of the API key and its account, once the request is charged to them. */
  windows: RequestWindows | undefined
  /** Whether the request counts as active in them. */
  isActive = false
  limit: LimitName | undefined
  code: string | undefined
  status = 0
  bytes = 0
  /** The place of its page among those of the session that it names. */
  pagePlace: PageInWork | undefined

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string) {
    this.request = request
    this.response = response
    this.requestId = requestId
    this.method = request.method ?? ''
    this.target = targetOf(request)
  }
}

/** The target of a request as sent, below the path of the service. */
export interface Target {
  readonly path: string
  readonly query: string
  /** That of the Host header; undefined without one, which only HTTP/1.0 should leave out. */
  readonly host: Host | undefined
}

/** A host that was parsed, once, where the request is read. */
export interface Host {
  /** In lower case and without the port; an IPv6 address is in brackets. */
  readonly hostname: string
  /** With the port, as a browser writes it: `http://history.example:8080`. */
  readonly origin: string
}

function targetOf({ url = '', headers: { host } }: IncomingMessage): Target {
  const mark = url.indexOf('?')
  return {
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? '' : url.slice(mark + 1),
    host: host === undefined ? undefined : parseHost(host),
  }
}

/** Undefined for what is no host. */
function parseHost(text: string): Host | undefined {
  // Nearly all requests have the same one.
  if (text === lastText && lastHost !== undefined) return lastHost
  const url = HOST.test(text) ? URL.parse(`http://${text}`) : null
  if (url === null) return undefined
  lastText = text
  lastHost = { hostname: url.hostname, origin: url.origin }
  return lastHost
}

const HOST = /^[^\s/?#@\\]+$/
let lastText: string | undefined
let lastHost: Host | undefined

/** Whether the headers of a request say that a body follows. */
export function announcesBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

export function makeRequestId(): string {
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
