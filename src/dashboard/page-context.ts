import type { IncomingMessage, ServerResponse } from 'node:http'

/** The properties of the listener's request context that pages read and set. */
export interface PageContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly method: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** By the monotonic clock, `performance.now()`. */
  readonly startedAt: number
  readonly headers: { readonly bodyAnnounced: boolean }
  readonly target: {
    readonly path: string
    readonly decodedPath: string | undefined
    readonly query: string
    readonly host: string | undefined
  }
  /** The pattern of the path, without its values. */
  route: string | undefined
  /** The error code, if the request was refused. */
  code: string | undefined
  bytes: number
}

/** A request as it is passed to Fastify. */
export interface PageRequest extends IncomingMessage {
  readonly page: {
    readonly context: PageContext
    /** Passes an error to the listener, which sends it as JSON. */
    readonly reject: (error: unknown) => void
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    readonly context: PageContext
  }
}
