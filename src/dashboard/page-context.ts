import type { IncomingMessage, ServerResponse } from 'node:http'

/** What the pages need of a request, and say of it. What the listener knows of a request has all of it. */
export interface PageContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly method: string
  /** Milliseconds since 1970. */
  readonly now: number
  /** By the clock that is never set back. */
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
  /** Why the request was refused. */
  code: string | undefined
  bytes: number
}

/** A request while Fastify has it. */
export interface PageRequest extends IncomingMessage {
  readonly page: {
    readonly context: PageContext
    /** Leaves the request to the listener, which answers errors as JSON. */
    readonly reject: (error: unknown) => void
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    readonly context: PageContext
  }
}
