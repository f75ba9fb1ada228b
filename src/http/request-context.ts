import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LimitName } from './limits.ts'
import type { PageInWork } from './page-limits.ts'
import type { RequestWindows } from './rate-limits.ts'
import { RequestHeaders, type Target, wantsKeepAlive } from './request.ts'

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
  /** The page that it asks for, if it names a session. */
  page: PageInWork | undefined

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
  runPage(context: RequestContext, work: () => Promise<void>): Promise<void>
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

const NO_HEADERS = new RequestHeaders([])
const NO_TARGET: Target = { path: '', segments: undefined, decodedPath: undefined, query: '', host: undefined }

/** 16 random characters. */
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
