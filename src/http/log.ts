import type { Config } from '../config.ts'
import type { IncomingMessage } from 'node:http'
import { escapeControls } from '../contract/control-characters.ts'
import type { LimitName } from './limits.ts'
import type { RateWindow } from './rate-limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
}

/** What this service knows of a request besides what Fastify does, and notes for its line in the log and for the metrics. */
export class RequestContext {
  readonly request: IncomingMessage
  readonly requestId: string
  readonly method: string
  /** Milliseconds since 1970. */
  readonly now = Date.now()
  /** By the monotonic clock. */
  readonly startedAt = performance.now()
  /** The target as sent, without a host, below the path of the service. */
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
    const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')
    // As the router divides it.
    const mark = target.search(/[?#]/)
    this.target =
      mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
  }
}

/** What the log and the metrics need from a request, also from one that the parser refused. */
export type RequestSummary = Pick<RequestContext, 'requestId' | 'method' | 'now' | 'startedAt' | 'status' | 'bytes'> &
  Partial<Pick<RequestContext, 'route' | 'keyId' | 'limit' | 'code'>>

/** Whether the headers of a request say that a body follows. */
export function announcesBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

export type Log = ReturnType<typeof makeLog>

/**
 * JSON lines, one for each request and each failure of our own. Buffers lines and writes many at once. The line of a request never
 * contains an API key, a header, a query, a value from the path, a name or an address.
 */
export function makeLog(write: (text: string) => void, { accessLog }: Pick<Config, 'accessLog'>) {
  let buffered = ''
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const text = buffered
    buffered = ''
    if (text !== '') write(text)
  }
  const add = (line: string) => {
    if (buffered.length + line.length > MAX_ATOMIC_CHARACTERS) flush()
    buffered += line
    timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref()
  }

  return {
    request(summary: RequestSummary, aborted: boolean) {
      if (accessLog) add(requestLine(summary, aborted))
    },
    failure(error: unknown, requestId: string | undefined) {
      const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error))
      const reason = cause instanceof Error ? cause.message : undefined
      add(
        `${escapeControls(JSON.stringify({ time: new Date().toISOString(), level: 'error', requestId, name, message, reason, stack }))}\n`,
      )
    },
    flush,
  }
}

/** Writes whole lines to stderr. While its reader is slow they wait, and those beyond MAX_WAITING_BYTES are left out. */
export function writeToStderr(lines: string) {
  if (process.stderr.writableLength <= MAX_WAITING_BYTES) process.stderr.write(lines)
}

// A log that cannot be written must not stop the service.
process.stderr.on('error', () => {})

const MAX_WAITING_BYTES = 1024 * 1024

/** A pipe takes so much whole or not at all, so lines of several processes are not mixed. */
const MAX_ATOMIC_CHARACTERS = 4096
const FLUSH_INTERVAL_MS = 200

function requestLine(summary: RequestSummary, aborted: boolean): string {
  const { requestId, method, route, status, bytes, keyId, code, startedAt, now } = summary
  const duration = (performance.now() - startedAt).toFixed(2)
  let line = `{"time":"${timeOf(now)}","requestId":"${requestId}","method":"${method}"`
  line += `,"route":${route === undefined ? 'null' : `"${route}"`},"status":${status}`
  line += `,"ms":${duration},"bytes":${bytes}`
  if (keyId !== undefined) line += `,"token":${keyId}`
  if (code !== undefined) line += `,"code":"${code}"`
  return aborted ? `${line},"aborted":true}\n` : `${line}}\n`
}

/** Many requests share a millisecond, and formatting it is half the work of a line. */
function timeOf(instant: number): string {
  if (instant !== lastInstant) {
    lastInstant = instant
    lastTime = new Date(instant).toISOString()
  }
  return lastTime
}

let lastInstant = Number.NaN
let lastTime = ''
