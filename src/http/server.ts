import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { type Store, StoreUnavailable } from '../store/index.ts'
import { clientAddress } from './addresses.ts'
import { makeAnswers, makeRequestId } from './answers.ts'
import { makeApi } from './api.ts'
import { type Call, Exchange } from './exchange.ts'
import { readHead } from './head.ts'
import { Limited, makeLimits } from './limits.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { watchLoop } from './overload.ts'
import { faultOf } from './faults.ts'
import { isHost, parseTarget } from './target.ts'
import { makeUses } from './uses.ts'

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
}

/** Starts the service on an open store. Rejects when the address cannot be had. */
export async function startServer({ store, config, log, metrics }: ServiceOptions): Promise<Service> {
  let draining = false
  let closing = false
  const limits = makeLimits(config)
  const uses = makeUses(store, error => log.failure(error, undefined))
  const overload = watchLoop(config.overloadLag)
  const send = makeAnswers({
    limits,
    corsOrigins: config.corsOrigins,
    isLast: response => closing && lineOf(response.socket).pending <= 1,
  })
  const api = makeApi({
    store: metrics?.timed(store) ?? store,
    send,
    limits,
    uses,
    publicUrl: config.publicUrl,
    addressOf: ({ request }) => clientAddress(request, config.trustedProxies),
    isOverloaded: overload.isOverloaded,
  })
  const pages = import('./pages.ts').then(({ makePages }) => makePages({ store, isDraining: () => draining, fail }))
  // Looked at when a page is asked for.
  pages.catch(() => {})

  /** Answers with what a caller may see of a failure. */
  function fail(response: ServerResponse, exchange: Exchange, thrown: unknown) {
    const error = seen(thrown)
    if (error.status >= 500 && error !== thrown) log.failure(thrown, exchange.requestId)
    if (error instanceof Limited) {
      exchange.limit = error.limit
      exchange.allowance ??= error.allowance
    }
    if (response.headersSent) response.destroy()
    else send.error(response, exchange, error)
  }

  const finish = (exchange: Exchange, aborted: boolean) => {
    if (exchange.admitted && exchange.allowance !== undefined) limits.release(exchange.allowance)
    log.request(exchange, aborted)
    metrics?.request(exchange)
  }

  function onClose(this: Response) {
    const { exchange } = this
    if (exchange === undefined) return
    exchange.status = this.statusCode
    finish(exchange, !this.writableFinished)
    const line = lineOf(this.req.socket)
    line.pending -= 1
    if (line.pending === 0) line.afterwards?.()
  }

  const handle = (request: IncomingMessage, response: Response) => {
    const exchange = new Exchange(makeRequestId(), request.method ?? '')
    response.exchange = exchange
    response.on('close', onClose)
    lineOf(request.socket).pending += 1
    try {
      const head = readHead(request)
      exchange.head = head
      if (request.url === '*' && exchange.method === 'OPTIONS') {
        send.options(response, exchange)
        return
      }
      const target = parseTarget(request.url ?? '', head.host)
      exchange.target = target
      if (!isAllowed(target.host, config.allowedHosts)) throw new ApiError('misdirected_request')
      if (head.bodyAnnounced && (exchange.method === 'GET' || exchange.method === 'HEAD')) {
        throw new ApiError('body_not_allowed')
      }
      if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue') {
        throw new ApiError('expectation_failed')
      }
      const call: Call = { request, response, exchange, head, target }
      const answered = isApi(target.segments?.[1] ?? target.path) ? api(call) : pages.then(open => open(call))
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
  // Somebody who does not read an answer must not hold on to it for ever.
  server.timeout = config.requestTimeout
  server.on('request', handle)
  // No body is ever read, so none is invited.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)

  /** What the parser refused, or what did not arrive in time, gets the same kind of answer as all else, in its turn. */
  const refuse = (thrown: Error, socket: Socket) => {
    const line = lineOf(socket)
    const code = faultOf(thrown)
    if (code === undefined || !socket.writable) {
      socket.destroy()
      return
    }
    if (line.afterwards !== undefined) return
    line.afterwards = () => {
      const exchange = new Exchange(makeRequestId(), '')
      socket.end(send.rawError(exchange, new ApiError(code)))
      finish(exchange, false)
      setTimeout(() => socket.destroy(), LINGER).unref()
    }
    if (line.pending === 0) line.afterwards()
  }
  server.on('clientError', refuse)
  server.on('connect', (_request, socket) => refuse(new Error('CONNECT'), socket as Socket))

  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })

  await listen(server, config)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    port,
    async close() {
      draining = true
      await sleep(config.drainDelay)
      closing = true
      const closed = new Promise(resolve => server.close(resolve))
      // What has arrived but was not read yet is read in the next turns of the loop.
      await sleep(LAST_LOOK)
      for (const socket of sockets) if (lineOf(socket).pending === 0) socket.end()
      const deadline = setTimeout(() => server.closeAllConnections(), LONGEST_CLOSE)
      await closed
      clearTimeout(deadline)
      overload.close()
      await uses.close()
      log.flush()
    },
  }
}

/** A response that knows its exchange, so that one function can finish all of them. */
class Response extends ServerResponse {
  exchange: Exchange | undefined
}

/** The state of a connection: requests that wait for their answer, and what comes after the last of them. */
interface Line {
  pending: number
  afterwards: (() => void) | undefined
}

const LINE = Symbol('line')

function lineOf(socket: (Socket & { [LINE]?: Line }) | null): Line {
  if (socket === null) return { pending: 0, afterwards: undefined }
  socket[LINE] ??= { pending: 0, afterwards: undefined }
  return socket[LINE]
}

/** How long a refused connection may stay open for its answer to be read. */
const LINGER = 1000
const LAST_LOOK = 20
const LONGEST_CLOSE = 8000

function listen(server: Server<typeof IncomingMessage, typeof Response>, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
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

function seen(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(error instanceof StoreUnavailable ? 'unavailable' : 'internal_error')
}
