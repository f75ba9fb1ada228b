import type { IncomingMessage } from 'node:http'
import type { ErrorCode } from '../contract/errors.ts'
import type { RequestHeaders } from './request-headers.ts'
import type { Allowance, RateLimitedError } from './limits.ts'
import type { Response } from './response.ts'
import type { Target } from './target.ts'

/** One request on its way to its answer. What becomes known on the way stays, for the answer and for the log. */
export class RequestContext {
  readonly requestId: string
  readonly method: string
  /** Milliseconds since 1970. */
  readonly now = Date.now()
  /** By the clock that only goes forward. */
  readonly startedAt = performance.now()
  head: RequestHeaders | undefined
  target: Target | undefined
  /** The pattern of the path, without its values. */
  route: string | undefined
  scope: string | undefined
  tokenId: number | undefined
  allowance: Allowance | undefined
  /** Whether it counts against its allowance until it is answered. */
  admitted = false
  limit: RateLimitedError['limit'] | undefined
  code: ErrorCode | undefined
  status = 0
  bytes = 0

  constructor(requestId: string, method: string) {
    this.requestId = requestId
    this.method = method
  }
}

/** A request that has been parsed, and the response to it. */
export interface Call {
  readonly request: IncomingMessage
  readonly response: Response
  readonly exchange: RequestContext
  readonly head: RequestHeaders
  readonly target: Target
}
