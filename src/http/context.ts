import type { IncomingMessage } from 'node:http'
import type { LimitName } from './limits.ts'
import type { RateWindow } from './rate-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
}

/** What this service knows of a request besides what Fastify does. */
export class RequestContext {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly method: string
  /** Milliseconds since 1970. */
  readonly now = Date.now()
  /** By the monotonic clock. */
  readonly startedAt = performance.now()
  /** The target as sent, below the path of the service. */
  readonly target: { readonly path: string; readonly query: string }
  /** The pattern of the path, without its values. */
  route: string | undefined
  /** The scope that the endpoint asks for first. */
  scope: string | undefined
  keyId: number | undefined
  /** The window of the API key, once the request is charged to it. */
  window: RateWindow | undefined
  /** Whether the request counts as active in it. */
  isActive = false
  /** The limit that was reached, for the metrics. */
  limit: LimitName | undefined
  /** The error code of the response. */
  code: string | undefined
  status = 0
  bytes = 0
  /** Says that the session exists that it names. */
  confirmSession: (() => void) | undefined

  constructor(request: IncomingMessage, requestId: string) {
    this.request = request
    this.requestId = requestId
    const { method = '', url = '' } = request
    this.method = method
    const mark = url.indexOf('?')
    this.target = mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) }
  }
}

/** What the log and the metrics need from a request, also from one that the parser refused. */
export type RequestSummary = Pick<RequestContext, 'requestId' | 'method' | 'now' | 'startedAt' | 'status' | 'bytes'> &
  Partial<Pick<RequestContext, 'route' | 'keyId' | 'limit' | 'code'>>

/** Whether the headers of a request say that a body follows. */
export function announcesBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}
