import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { makeGrantCache } from '../accounts/grants.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { networkPart, senderAddress } from './addresses.ts'
import type { EventCounter } from '../accounts/event-counter.ts'
import { makeKeyUsage, type KeyUsage } from '../accounts/key-usage.ts'
import { type Config, publicPath } from '../config.ts'
import { ApiError, type ErrorCode } from '../contract/errors.ts'
import type { Store } from '../store/index.ts'
import { makeApi } from './api.ts'
import { type Connection, Connections } from './connection.ts'
import { onArrival, watchLoop } from '../turns.ts'
import { isHealthPath, makeHandler, type PageHandler } from './handler.ts'
import { LimitError, limitOf, type LimitName, limits } from './limits.ts'
import { listen } from './listeners.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { allowHalfOpen, detectInternals, type NodeInternals } from './node-internals.ts'
import { makeRateLimits } from './rate-limits.ts'
import { RequestContext, type RequestSummary, summaryWithoutRequest } from './request.ts'
import { makeResponder } from './respond.ts'
import { Shutdown } from './shutdown.ts'

export interface Service {
  /** The address of the service, to print. */
  readonly url: string
  readonly port: number
  /**
   * Drains: /readyz responds 503 while the service continues for the drain delay; then it stops listening, responds to
   * every request that has arrived, and ends its connections. The store stays open.
   */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly readLog: ReadLog
  readonly events: EventCounter
  /** Handles all paths except the API and health, and is made for the first of them; without it, these paths do not exist. */
  readonly pages?: (() => Promise<PageHandler>) | undefined
  /** For tests: the undocumented parts of Node to use, instead of all that work. */
  readonly internals?: NodeInternals
}

/** Logs which undocumented parts of Node do not work, so that the service does without them. */
function logMissing(log: Log, internals: NodeInternals) {
  const missing = Object.entries(internals).flatMap(([name, works]) => (works ? [] : [name]))
  if (missing.length === 0) return
  const names = missing.join(', ')
  log.failure(new Error(`Parts of Node that the service makes use of do not work in this version: ${names}`), undefined)
}

function usageOf({ store, config, log, events }: ServiceOptions): KeyUsage {
  return makeKeyUsage(store, {
    networkOf: sender => networkPart(senderAddress(sender, config.trustedProxies)),
    events,
    onFailure: error => log.failure(error, undefined),
  })
}

/** Starts the service on an open store. Rejects if the address cannot be bound. */
export async function startServer(options: ServiceOptions): Promise<Service> {
  const { store, config, log, metrics, readLog, events, pages, internals = await detectInternals() } = options
  logMissing(log, internals)
  const rateLimits = makeRateLimits(config)
  const usage = usageOf(options)
  const inWork = new Set<RequestContext>()
  const overload = watchLoop(config.overloadLag, () => inWork.size)
  const shutdown = new Shutdown(internals)
  const responder = makeResponder({
    limits: rateLimits,
    config,
    isLast: context => shutdown.isClosing && context.connection.isNewest(context),
  })
  const timedStore = metrics?.timed(store) ?? store
  const api = makeApi({
    store: timedStore,
    grants: makeGrantCache(timedStore),
    responder,
    limits: rateLimits,
    usage,
    readLog,
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    isOverloaded: overload.isOverloaded,
  })
  const { isOverloaded } = overload
  const handle = makeHandler({ store, config, log, api, pages, responder, shutdown, isOverloaded })

  const finish = (summary: RequestSummary, aborted: boolean) => {
    if (summary.isActive && summary.windows !== undefined) rateLimits.release(summary.windows)
    log.request(summary, aborted)
    metrics?.request(summary)
  }

  const server = createHttpServer(config, internals)
  const connections = new Connections(server, internals)
  countClosed(server, connections, name => metrics?.limitReached(name))
  const prefix = publicPath(config.publicUrl)
  onRequest(server, connections, { shutdown, handle, finish, prefix, inWork })
  onParserError(server, connections, (socket, error) => {
    const summary = summaryWithoutRequest()
    summary.limit = limitOf(error)
    responder.errorTo(socket, summary, error)
    finish(summary, false)
  })

  const listeners = await listen(server, config)
  const { port } = server.address() as AddressInfo
  return {
    url: urlOf(config.host, port),
    port,
    async close() {
      await shutdown.run(listeners, connections, config.drainDelay)
      overload.close()
      await usage.close()
      await events.close()
      await readLog.close()
      log.flush()
    },
  }
}

/** The address of a listener, to print. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function createHttpServer(config: Config, { halfOpen }: NodeInternals): Server {
  const server = createServer({
    // More than the limits of the contract, so that the response can say which limit was exceeded.
    maxHeaderSize: limits.parsedBytes.max,
    requireHostHeader: false,
    headersTimeout: config.headersTimeout,
    // Those who read a body have a timeout for it; this one is for a body that nobody reads.
    requestTimeout: config.headersTimeout + config.requestTimeout,
    keepAliveTimeout: config.keepAlive,
    connectionsCheckingInterval: Math.min(1000, config.headersTimeout),
  })
  server.maxHeadersCount = 0
  // A client that does not read its responses is disconnected.
  server.timeout = config.requestTimeout
  if (halfOpen) allowHalfOpen(server)
  return server
}

/** Counts the connections that end, or do not begin, because of a limit. */
function countClosed(server: Server, connections: Connections, limitReached: (name: LimitName) => void) {
  server.on('drop', () => limitReached('connections'))
  // Also when an idle connection is due to be closed.
  server.on('timeout', (socket: Socket) => {
    const connection = connections.of(socket)
    if (!connection.isIdle) {
      // Whoever reads the body responds.
      if (connection.awaitsBody) return
      // The client waits for the service. The time begins again with the response.
      if (socket.writableLength === 0) return
      limitReached('unreadTimeout')
    }
    socket.destroy()
  })
}

interface RequestOptions {
  readonly shutdown: Shutdown
  readonly handle: (context: RequestContext) => void
  readonly finish: (summary: RequestSummary, aborted: boolean) => void
  /** The path below which the service is served. */
  readonly prefix: string
  /** Gets each request while it has no complete response. */
  readonly inWork: Set<RequestContext>
}

/** Handles each request, and finishes it when its response has ended. */
function onRequest(server: Server, connections: Connections, options: RequestOptions) {
  const { shutdown, handle, finish, prefix, inWork } = options
  const onResponseClose = (connection: Connection, context: RequestContext) => {
    const { response } = context
    clearTimeout(context.deadline)
    if (!connection.remove(context)) return
    inWork.delete(context)
    context.status = response.headersSent ? response.statusCode : 0
    if (context.method === 'HEAD') context.bytes = 0
    finish(context, !response.writableFinished)
    connection.settle()
    if (shutdown.isClosing && connection.isIdle && connection.socket.writable) connection.close()
  }

  const accept = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.of(request.socket)
    connections.noteRead(connection)
    if (connection.isClosing || !connection.socket.writable) return connection.ignore(request)
    if (connection.isFull) return connection.abort('pipelined')
    const context = new RequestContext(request, response, connection)
    connection.add(context)
    inWork.add(context)
    response.on('close', () => onResponseClose(connection, context))
    // While closing, only the last response has `Connection: close`, so all requests of a packet must be read first.
    if (shutdown.isClosing) setImmediate(handle, context)
    else if (isHealthPath(request.url, prefix) && connection.pending.length === 1) handle(context)
    else onArrival(request.socket.remoteAddress, context.startedAt, () => handle(context))
  }

  server.on('request', accept)
  // The server never reads a body for these, so it never asks for one.
  server.on('checkContinue', accept)
  server.on('checkExpectation', accept)
  server.on('connect', (_request, socket: Socket) => {
    const connection = connections.of(socket)
    // The server stops watching this socket: an error without a listener is fatal, and pending requests would stay.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      for (const context of connection.pending.slice()) onResponseClose(connection, context)
    })
  })
}

/** Responds, after all earlier requests, to a request that the parser refused or that did not arrive in time. */
function onParserError(server: Server, connections: Connections, respond: (socket: Socket, error: ApiError) => void) {
  const onError = (thrown: Error, socket: Socket) => {
    const code = codeForParserError(thrown)
    if (code === undefined) {
      socket.destroy()
      return
    }
    const connection = connections.of(socket)
    if (code === 'request_timeout' && connection.hasLongBody) return
    // What is wrong in a body is said in the response to its request.
    const isInBody = connection.awaitsBody
    const error = parserError(code, isInBody)
    if (isInBody) connection.failBody(error)
    connection.afterLast(() => {
      if (!socket.writable) return
      if (!isInBody) respond(socket, error)
      connection.close()
    })
  }
  server.on('clientError', onError)
  server.on('connect', (_request, socket: Socket) => onError(new Error('CONNECT'), socket))
}

function parserError(code: ErrorCode, isInBody: boolean): ApiError {
  if (code === 'request_timeout') return new LimitError(isInBody ? 'bodyTimeout' : 'headersTimeout', code)
  return code === 'headers_too_large' ? new LimitError('parsedBytes', code) : new ApiError(code)
}

/** How to respond to what the HTTP parser refused; undefined if the client is gone. */
function codeForParserError({ code = '' }: NodeJS.ErrnoException): ErrorCode | undefined {
  return Object.hasOwn(codesOfParser, code) ? codesOfParser[code] : 'malformed_request'
}

const codesOfParser: Readonly<Record<string, ErrorCode | undefined>> = {
  ECONNRESET: undefined,
  EPIPE: undefined,
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_INVALID_URL: 'malformed_url',
}
