import { ServerResponse } from 'node:http'
import { makeRequestId } from './respond.ts'
import { RequestContext } from './request-context.ts'

// What Node makes a head with. It is not in its documentation: Node is pinned, and a test compares with its own heads.
declare module 'node:http' {
  interface ServerResponse<Request extends IncomingMessage = IncomingMessage> {
    _header: string
    _headerSent: boolean
    _last: boolean
    /** Milliseconds. */
    readonly _keepAliveTimeout: number
    _storeHeader(statusLine: string, headers: unknown): void
  }
}

/**
 * A response that knows its exchange, so that one function can finish all of them, and that can be given its head as
 * text: checking each of a dozen headers that are the same for every request is a tenth of a small answer.
 */
export class Response extends ServerResponse {
  readonly exchange = new RequestContext(makeRequestId(), this.req.method ?? '')
  deadline: NodeJS.Timeout | undefined
  /** Whether its answer is about to be sent. */
  isEnding = false
  #lines: string | undefined

  /**
   * Writes the head: whole lines, among them a Content-Length unless the status allows no body. Nothing in them is looked
   * at, so nothing in them may be a caller's.
   */
  writeLines(status: number, lines: string) {
    this.#lines = lines
    this.writeHead(status)
  }

  /** Called by `writeHead`, which has seen to the rest. */
  override _storeHeader(statusLine: string, headers: unknown) {
    if (this.#lines === undefined) {
      super._storeHeader(statusLine, headers)
      return
    }
    // Without a length, a caller of HTTP/1.0 learns by the end of the connection that there is no body.
    const hasLength = this.statusCode !== 204 && this.statusCode !== 304
    const keep = this.shouldKeepAlive && (hasLength || this.useChunkedEncodingByDefault)
    if (!keep) this._last = true
    const connection = keep ? keptLines(this._keepAliveTimeout) : 'Connection: close\r\n'
    this._header = `${statusLine}${this.#lines}${dateLine(this.exchange.now)}${connection}\r\n`
    this._headerSent = false
  }
}

function keptLines(timeout: number): string {
  const seconds = Math.floor(timeout / 1000)
  return timeout > 0 ? `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n` : 'Connection: keep-alive\r\n'
}

function dateLine(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== dated) {
    dated = second
    date = `Date: ${new Date(now).toUTCString()}\r\n`
  }
  return date
}

let dated = 0
let date = ''
