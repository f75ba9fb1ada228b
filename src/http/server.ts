import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, Server as Listener, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { makeGrantCache } from '../accounts/grant-cache.ts'
import type { SampleAccount } from '../dashboard/routes.ts'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import { clientAddress } from './addresses.ts'
import { makeResponder, makeRequestId } from './respond.ts'
import { makeApi } from './api.ts'
import { type Call, RequestContext } from './request-context.ts'
import { readHeaders } from './request-headers.ts'
import { RateLimitedError, makeLimits } from './limits.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { watchLoop } from './overload.ts'
import { beginning, codeForParserError } from './parser-errors.ts'
import { Response } from './response.ts'
import { parseTarget } from './target.ts'
import { makeTokenUsage } from '../accounts/token-usage.ts'

/** The service, listening. */
export interface Service {
  /** Where it listens, for people. */
  readonly url: string
  readonly port: number
  /**
   * Drains: says at /readyz that it is going, serves on for the drain delay, then stops listening, answers every request
   * that has arrived, and ends its connections. The store stays open.
   */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly metrics?: Metrics | undefined
  /** Whom the sign-in page fills in, where all data is a sample. */
  readonly sample?: SampleAccount | undefined
}

/** Starts the service on an open store. Rejects when the address cannot be had. */
export async function startServer({ store, config, log, metrics, sample }: ServiceOptions): Promise<Service> {
  let draining = false
  let closing = false
  const limits = makeLimits(config)
  const uses = makeTokenUsage(store, error => log.failure(error, undefined))
  const overload = watchLoop(config.overloadLag)
  const send = makeResponder({
    limits,
    corsOrigins: config.corsOrigins,
    isLast,
  })
  const watched = metrics?.timed(store) ?? store
  const grants = makeGrantCache(watched, config.primaryGrace)
  const api = makeApi({
    store: watched,
    grants,
    send,
    limits,
    uses,
    publicUrl: config.publicUrl,
    addressOf: ({ request }) => clientAddress(request, config.trustedProxies),
    isOverloaded: overload.isOverloaded,
  })
  const pages = import('../dashboard/app.ts').then(({ makePages }) =>
    makePages({ store, config, log, sample, isDraining: () => draining, fail }),
  )
  // Looked at when a page is asked for.
  pages.catch(() => {})

  /** Whether this answer is to be the last of its connection: while closing, that to the newest request. */
  function isLast(response: Response): boolean {
    return closing && lineOf(response.req.socket).waiting.at(-1) === response
  }

  /** Answers with what a caller may see of a failure. */
  function fail(response: Response, exchange: RequestContext, thrown: unknown) {
    // Answered already, because it took too long.
    if (response.isEnding || response.writableEnded) return
    const error = toApiError(thrown)
    if (error.status >= 500 && error !== thrown) log.failure(thrown, exchange.requestId)
    if (error instanceof RateLimitedError) {
      exchange.limit = error.limit
      exchange.allowance ??= error.allowance
    }
    if (response.headersSent) response.destroy()
    else send.error(response, exchange, error)
  }

  const finish = (exchange: RequestContext, aborted: boolean) => {
    if (exchange.admitted && exchange.allowance !== undefined) limits.release(exchange.allowance)
    log.request(exchange, aborted)
    metrics?.request(exchange)
  }

  function onClose(this: Response) {
    clearTimeout(this.deadline)
    const { socket } = this.req
    const line = lineOf(socket)
    const place = line.waiting.indexOf(this)
    if (place === -1) return
    line.waiting.splice(place, 1)
    const { exchange } = this
    exchange.status = this.headersSent ? this.statusCode : 0
    if (exchange.method === 'HEAD') exchange.bytes = 0
    finish(exchange, !this.writableFinished)
    if (line.waiting.length > 0) return
    if (line.afterwards !== undefined) line.afterwards()
    else if (closing && socket.writable) closeGently.call(socket)
  }

  const handle = (request: IncomingMessage, response: Response) => {
    const { socket } = request
    const line = lineOf(socket)
    const { waiting } = line
    line.before = line.begun = ''
    // What follows the last answer of a connection is not answered, only read, so that this answer arrives.
    if (!socket.writable || waiting.at(-1)?.shouldKeepAlive === false) return
    response.on('close', onClose)
    waiting.push(response)
    // While closing, the last answer says that it is: what came in the same packet must be known before.
    if (closing) setImmediate(handleRequest, request, response)
    else handleRequest(request, response)
  }

  const handleRequest = (request: IncomingMessage, response: Response) => {
    const { exchange } = response
    try {
      const head = readHeaders(request)
      exchange.head = head
      const isStar = request.url === '*' && exchange.method === 'OPTIONS'
      const target = parseTarget(isStar ? '/' : (request.url ?? ''), head.host)
      exchange.target = target
      if (!isAllowed(target.host, config.allowedHosts)) throw new ApiError('misdirected_request')
      if (isStar) {
        send.options(response, exchange)
        return
      }
      if (head.bodyAnnounced && (exchange.method === 'GET' || exchange.method === 'HEAD')) {
        throw new ApiError('body_not_allowed')
      }
      if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue') {
        throw new ApiError('expectation_failed')
      }
      const call: Call = { request, response, exchange, head, target }
      const forApi = isApi(target.segments?.[1] ?? target.path)
      if (!forApi && isLast(response)) response.shouldKeepAlive = false
      // Reads of an embedded store end by themselves, and before anything else could be done.
      if (store.engine !== 'sqlite') {
        response.deadline = setTimeout(() => {
          // A long answer that is under way takes the time that its reader takes.
          if (response.headersSent) return
          const late = new StoreUnavailableError('too late')
          if (forApi) fail(response, exchange, late)
          else pages.then(({ giveUp }) => giveUp(call, late)).catch(() => {})
        }, RESPONSE_TIMEOUT_MS)
      }
      const answered = forApi ? api(call) : pages.then(({ answer }) => answer(call))
      answered.catch((error: unknown) => fail(response, exchange, error))
    } catch (error) {
      fail(response, exchange, error)
    }
  }

  const server = createServer<typeof IncomingMessage, typeof Response>({
    ServerResponse: Response,
    // A target and headers of the greatest size are judged here, with an answer that says which was too large.
    maxHeaderSize: 32 * 1024,
    requireHostHeader: false,
    headersTimeout: config.headersTimeout,
    requestTimeout: Math.max(config.requestTimeout, config.headersTimeout),
    keepAliveTimeout: config.keepAlive,
    connectionsCheckingInterval: Math.min(1000, config.headersTimeout),
  })
  server.maxHeadersCount = 0
  // Who ends its side after a request still gets the answer. Not in the documentation, so a test holds it.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Somebody who does not read an answer must not hold on to it for ever.
  server.timeout = config.requestTimeout
  server.on('request', handle)
  // No body is ever read, so none is invited.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)

  /** What the parser refused, or what did not arrive in time, gets the same kind of answer as all else, in its turn. */
  const onParserError = (thrown: Error, socket: Socket) => {
    const line = lineOf(socket)
    const code = codeForParserError(thrown, line.before)
    if (code === undefined) {
      socket.destroy()
      return
    }
    if (line.afterwards !== undefined) return
    line.afterwards = () => {
      if (!socket.writable) return
      const exchange = new RequestContext(makeRequestId(), '')
      socket.write(send.rawError(exchange, new ApiError(code)))
      closeGently.call(socket)
      finish(exchange, false)
    }
    if (line.waiting.length === 0) line.afterwards()
  }
  server.on('clientError', onParserError)
  server.on('connect', (_request, socket: Socket) => {
    // The server lets go of this connection: an error that nobody hears is fatal, and what is in line would stay there.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      for (const response of lineOf(socket).waiting.slice()) onClose.call(response)
    })
    onParserError(new Error('CONNECT'), socket)
  })

  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.destroySoon = closeGently
    // Not in the documentation, so a test holds it.
    Object.assign(socket, { _unrefTimer: notePacket })
    socket.on('close', () => sockets.delete(socket))
  })

  await listen(server, config)
  const { port } = server.address() as AddressInfo
  return {
    url: urlOf(config.host, port),
    port,
    async close() {
      draining = true
      await sleep(config.drainDelay)
      closing = true
      const closed = once(server, 'close')
      // Stops listening, no more: an HTTP server would also cut connections whose next request has just arrived.
      Listener.prototype.close.call(server)
      // What has arrived but was not read yet is read in the next turns of the loop.
      await sleep(LAST_READ_MS)
      const endIdle = (isDue: (socket: Socket) => boolean) => {
        for (const socket of sockets) {
          if (lineOf(socket).waiting.length === 0 && isDue(socket)) closeGently.call(socket)
        }
      }
      // Who has just connected did so to ask something.
      endIdle(socket => socket.bytesRead > 0)
      const firstRequestTimer = setTimeout(endIdle, FIRST_REQUEST_MS, () => true)
      const deadline = setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, MAX_CLOSE_MS)
      await closed
      clearTimeout(firstRequestTimer)
      clearTimeout(deadline)
      // Ends the timer that looks for slow requests.
      server.close()
      overload.close()
      await uses.close()
      log.flush()
    },
  }
}

/** The address of a listener, for people. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** The state of a connection: requests that wait for their answer, in order, and what comes after the last of them. */
interface ConnectionState {
  readonly waiting: Response[]
  afterwards: (() => void) | undefined
  /** What packets brought of the line of a request whose head is not complete, and what they had before the last one. */
  begun: string
  before: string
}

/** Milliseconds from the head of a request to its answer, at the most. */
const RESPONSE_TIMEOUT_MS = 5000

const LINE = Symbol('line')

function lineOf(socket: Socket & { [LINE]?: ConnectionState }): ConnectionState {
  return (socket[LINE] ??= { waiting: [], afterwards: undefined, begun: '', before: '' })
}

/** What the server calls after each packet, before it tells what is wrong with it: it puts off the timeout. */
interface Parsed extends Socket {
  readonly parser?: { getCurrentBuffer(): Buffer } | null
}

const { _unrefTimer: putOff } = Socket.prototype as Socket & { _unrefTimer(this: Socket): void }

function notePacket(this: Parsed) {
  putOff.call(this)
  const line = lineOf(this)
  // Nearly always a packet is a whole request, and costs no more than this.
  if (line.waiting.length > 0) return
  line.before = line.begun
  line.begun = beginning(line.begun, this.parser?.getCurrentBuffer() ?? EMPTY)
}

const EMPTY = Buffer.alloc(0)

/** Ends a connection, and reads on for a while: closed at once, it would be reset, and its last answer lost. */
function closeGently(this: Socket) {
  this.end()
  const timer = setTimeout(destroy, LINGER_MS, this).unref()
  this.once('close', () => clearTimeout(timer))
}

function destroy(socket: Socket) {
  socket.destroy()
}

/** How long a connection that was ended may stay open for its last answer to be read. */
const LINGER_MS = 1000
const LAST_READ_MS = 20

/** How long a connection on which nothing was asked yet is left open, in milliseconds. */
const FIRST_REQUEST_MS = 1000
const MAX_CLOSE_MS = 8000

/** Connections that may wait to be accepted; the system may allow fewer. What comes beyond is lost. */
const BACKLOG = 4096

function listen(server: Server<typeof IncomingMessage, typeof Response>, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function isApi(path: string): boolean {
  return path === 'api' || path === '/api' || path.startsWith('/api/')
}

function isAllowed(host: string | undefined, allowed: readonly string[]): boolean {
  if (allowed.length === 0 || host === undefined) return true
  return allowed.includes(host.replace(/:\d*$/, '').toLowerCase())
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(error instanceof StoreUnavailableError ? 'unavailable' : 'internal_error')
}
