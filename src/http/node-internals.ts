import { createServer, IncomingMessage, ServerResponse, type Server } from 'node:http'
import { Server as NetServer, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'

/**
 * Everything of Node that its documentation does not have. Each use says what it gains, `detectInternals` checks at the
 * start that it works, and where it does not, the server does the documented thing instead.
 */
export interface NodeInternals {
  /**
   * Headers are written as one text instead of being checked one by one: most are the same for every response. Otherwise
   * they go through `writeHead`. GAIN_HEADERS
   */
  readonly textHeaders: boolean
  /**
   * A client that ends its side after a request still gets its response. Otherwise the connection ends with the client's
   * side. GAIN_HALF
   */
  readonly halfOpen: boolean
  /**
   * After its last response a connection is read for a while before it is closed, so that a client that is still sending
   * gets that response instead of a reset. Otherwise Node closes it at once. GAIN_LINGER
   */
  readonly lingering: boolean
}

/** What of it works in this version of Node. Takes about a millisecond. */
export async function detectInternals(): Promise<NodeInternals> {
  return { textHeaders: canWriteText(), ...(await checkConnection()) }
}

export const NO_INTERNALS: NodeInternals = { textHeaders: false, halfOpen: false, lingering: false }

/** A response whose headers are lines of text. */
export class Response extends ServerResponse {
  /**
   * Writes the status and whole header lines, among them `Connection`, and a `Content-Length` unless the status allows no
   * body. Nothing in them is checked, so nothing in them may come from a client. `isLast` if they close the connection.
   */
  writeLines(status: number, lines: string, _isLast: boolean) {
    this.writeHead(status, fieldsOf(lines))
  }
}

export class TextResponse extends Response {
  #lines: string | undefined
  #isLast = false

  override writeLines(status: number, lines: string, isLast: boolean) {
    this.#lines = lines
    this.#isLast = isLast
    this.writeHead(status)
  }

  /** Called by `writeHead`, which has done the rest. */
  override _storeHeader(statusLine: string, headers: unknown) {
    if (this.#lines === undefined) {
      super._storeHeader(statusLine, headers)
      return
    }
    if (this.#isLast) this._last = true
    this._header = `${statusLine}${this.#lines}\r\n`
    this._headerSent = false
  }
}

export function allowHalfOpen(server: Server<typeof IncomingMessage, typeof Response>) {
  Object.assign(server, { httpAllowHalfOpen: true })
}

/** Makes the server end a connection by this function. It calls `destroySoon`, which is documented, for that. */
export function closeWith(socket: Duplex, close: () => void) {
  Object.assign(socket, { destroySoon: close })
}

/**
 * Stops accepting connections, as a server without HTTP does. `close` of an HTTP server also destroys connections that
 * look idle, among them those whose next request has just arrived. GAIN_CLOSE
 */
export function stopListening(server: Server<typeof IncomingMessage, typeof Response>) {
  NetServer.prototype.close.call(server)
}

declare module 'node:http' {
  interface ServerResponse<Request extends IncomingMessage = IncomingMessage> {
    _header: string
    _headerSent: boolean
    /** Whether the connection ends with this response. */
    _last: boolean
    _storeHeader(statusLine: string, headers: unknown): void
  }
}

/** The fields of header lines, names and values in turns. */
function fieldsOf(lines: string): string[] {
  const fields: string[] = []
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon !== -1) fields.push(line.slice(0, colon), line.slice(colon + 2))
  }
  return fields
}

/** Whether both kinds of response write the same. */
function canWriteText(): boolean {
  const lines = 'Date: now\r\nContent-Length: 0\r\nConnection: close\r\n'
  try {
    const [documented, text] = [Response, TextResponse].map(Kind => {
      const response = new Kind(new IncomingMessage(new Socket()))
      response.writeLines(200, lines, true)
      return [response.headersSent, response._header, response._headerSent, response._last]
    })
    return isDeepStrictEqual(documented, text)
  } catch {
    return false
  }
}

/** Whether a request from a client that ends its side at once is answered, and its connection ended by our function. */
function checkConnection(): Promise<Pick<NodeInternals, 'halfOpen' | 'lingering'>> {
  return new Promise(resolve => {
    let halfOpen = false
    const server = createServer((_, response) => setImmediate(() => response.end()))
    const client = new Duplex({
      read: () => {},
      write(_chunk, _encoding, done) {
        halfOpen = true
        done()
      },
    })
    const finish = (lingering: boolean) => {
      resolve({ halfOpen, lingering })
      client.destroy()
    }
    Object.assign(server, { httpAllowHalfOpen: true })
    closeWith(client, () => finish(true))
    client.on('finish', () => finish(false))
    server.emit('connection', client)
    client.push('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    client.push(null)
  })
}
