import { once } from 'node:events'
import { createServer, IncomingMessage, ServerResponse, type Server } from 'node:http'
import { Server as NetServer, Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { constants, createZstdDecompress, type ZstdDecompress, zstdCompressSync } from 'node:zlib'
import type { Expand } from '../resources/packed-bodies.ts'

/**
 * All uses of undocumented parts of Node. Each says what it gains, as measured with Node 26. `detectInternals` checks at the
 * start which of them work; the server uses the documented way instead of the others.
 */
export interface NodeInternals {
  /**
   * Writes headers as one text, because most are the same for every response. Otherwise `writeHead` checks them one by
   * one, which takes 7 to 13 % more CPU time per request (shapes S1 to S5 of the benchmark).
   */
  readonly textHeaders: boolean
  /**
   * Answers clients that end their side after a request. Otherwise their connections end at once: with a store that takes
   * 3 ms, 0 of 100 such clients get a response instead of 100.
   */
  readonly halfOpen: boolean
  /**
   * Reads on for a while after the last response, before the connection is closed. Otherwise 45 of 100 clients that are
   * still sending see their connection reset instead of 0, and a reset can cost them the response (RFC 9112, 9.6).
   */
  readonly lingering: boolean
  /**
   * Stops accepting connections, as a server without HTTP does. Otherwise `close` also destroys connections that look
   * idle: when a busy server stops, 66 of 200 connections lose a request that has just arrived, instead of 0.
   */
  readonly gentleClose: boolean
  /**
   * Expands kept pages with one decompressor, into buffers that are used again. The documented functions make a new decompressor and
   * a new buffer for each page, which costs more than reading it. Otherwise kept pages are not compressed, fewer of them fit, and
   * a page of 20 training sessions (S5) takes 102 µs instead of 61.
   */
  readonly sharedDecompressor: boolean
}

/** The uses that work in this version of Node. */
export async function detectInternals(): Promise<NodeInternals> {
  return {
    textHeaders: canWriteText(),
    ...(await checkConnection()),
    gentleClose: await checkClose(),
    sharedDecompressor: canExpand(),
  }
}

export const NO_INTERNALS: NodeInternals = {
  textHeaders: false,
  halfOpen: false,
  lingering: false,
  gentleClose: false,
  sharedDecompressor: false,
}

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

  /** `writeHead` calls it last. */
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

export function allowHalfOpen(server: Server) {
  Object.assign(server, { httpAllowHalfOpen: true })
}

/** Makes the server close a connection with this function. It calls `destroySoon` for that, which is documented. */
export function closeWith(socket: Duplex, close: () => void) {
  Object.assign(socket, { destroySoon: close })
}

/** Stops accepting connections, and leaves open ones alone. */
export function closeGently(server: Server) {
  NetServer.prototype.close.call(server)
}

/** A function that expands what Zstandard compressed, with the same decompressor each time. */
export function makeExpand(): Expand {
  let stream = newDecompressor()
  return (compressed, target) => {
    const { _handle, _writeState } = stream
    _handle.writeSync(constants.ZSTD_e_end, compressed, 0, compressed.length, target, 0, target.length)
    const [unusedBytes, unreadBytes] = _writeState
    if (unusedBytes === 0 && unreadBytes === 0 && !stream.destroyed) return
    // It may wait for the rest.
    stream.destroy()
    stream = newDecompressor()
    throw new Error('compressed bytes cannot be expanded')
  }
}

function newDecompressor(): ZstdDecompress {
  // An error is thrown where it is noticed.
  return createZstdDecompress().on('error', () => {})
}

declare module 'node:zlib' {
  interface ZstdDecompress {
    readonly _handle: {
      writeSync(
        flush: number,
        source: Buffer,
        sourceStart: number,
        sourceLength: number,
        target: Buffer,
        targetStart: number,
        targetLength: number,
      ): void
    }
    /** After a write: how many bytes of the target were not used, and how many of the source not read. */
    readonly _writeState: Uint32Array
  }
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

/** The fields of header lines: names and values in turn. */
function fieldsOf(lines: string): string[] {
  const fields: string[] = []
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon !== -1) fields.push(line.slice(0, colon), line.slice(colon + 2))
  }
  return fields
}

/** Whether both classes of responses write the same. */
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

/** Whether one decompressor expands one text after the other, and notices what is not one. */
function canExpand(): boolean {
  try {
    const expand = makeExpand()
    const expandText = (text: string, length = text.length) => {
      const target = Buffer.alloc(length)
      expand(zstdCompressSync(text), target)
      return target.toString('latin1')
    }
    const isRefused = (text: string, length: number) => {
      try {
        expandText(text, length)
        return false
      } catch {
        return true
      }
    }
    const texts = ['a'.repeat(100_000), 'b', 'c'.repeat(200_000)]
    const works = () => texts.every(text => expandText(text) === text)
    return works() && texts.every(text => isRefused(text, text.length + 1) && isRefused(text, 0)) && works()
  } catch {
    return false
  }
}

/** Whether a half-closed client gets its response, and its connection is closed by our function. */
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
    allowHalfOpen(server)
    closeWith(client, () => finish(true))
    client.on('finish', () => finish(false))
    server.emit('connection', client)
    client.push('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    client.push(null)
  })
}

/** Whether closing gently stops listening, but leaves a connection open whose last response has been sent. */
async function checkClose(): Promise<boolean> {
  const server = createServer((_, response) => response.end())
  const responded = Promise.withResolvers<void>()
  const client = new Duplex({
    read: () => {},
    write(_chunk, _encoding, done) {
      responded.resolve()
      done()
    },
  })
  try {
    // The supervisor of a worker must not take it for the address of the service.
    await once(server.listen({ port: 0, host: '127.0.0.1', exclusive: true }), 'listening')
    server.emit('connection', client)
    client.push('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await responded.promise
    closeGently(server)
    return !server.listening && !client.destroyed
  } catch {
    return false
  } finally {
    client.destroy()
    server.close()
  }
}
