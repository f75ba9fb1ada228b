import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { makeGrantCache } from '../accounts/grant-cache.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { makeTokenUsage } from '../accounts/token-usage.ts'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import type { Store } from '../store/index.ts'
import { makeApi } from './api.ts'
import { type Connection, Connections } from './connection.ts'
import { makeHandler, type Pages } from './handler.ts'
import { makeLimits } from './limits.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { BodyPacker } from '../resources/packed-bodies.ts'
import {
  allowHalfOpen,
  detectInternals,
  makeExpand,
  type NodeInternals,
  Response,
  TextResponse,
} from './node-internals.ts'
import { watchLoop } from './overload.ts'
import { codeForParserError } from './parser-errors.ts'
import { RequestContext, type RequestSummary, summaryWithoutRequest } from './request-context.ts'
import { makeResponder } from './respond.ts'
import { Shutdown } from './shutdown.ts'

/** The running service. */
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
  readonly reads: ReadLog
  /** Handles all paths except the API and health, and is made for the first of them; without it, these paths do not exist. */
  readonly pages?: (() => Promise<Pages>) | undefined
  /** For tests: the undocumented parts of Node to use, instead of all that work. */
  readonly internals?: NodeInternals
}

/** Starts the service on an open store. Rejects if the address cannot be bound. */
export async function startServer(options: ServiceOptions): Promise<Service> {
  const { store, config, log, metrics, reads, pages, internals = await detectInternals() } = options
  const limits = makeLimits(config)
  const usage = makeTokenUsage(store, error => log.failure(error, undefined))
  const overload = watchLoop(config.overloadLag)
  const shutdown = new Shutdown(internals)
  const responder = makeResponder({
    limits,
    corsOrigins: config.corsOrigins,
    keepAlive: config.keepAlive,
    isLast: context => shutdown.isClosing && context.connection.isNewest(context),
  })
  const timedStore = metrics?.timed(store) ?? store
  const api = makeApi({
    store: timedStore,
    grants: makeGrantCache(timedStore, config.primaryGrace),
    responder,
    limits,
    usage,
    reads,
    publicUrl: config.publicUrl,
    trustedProxies: config.trustedProxies,
    isOverloaded: overload.isOverloaded,
    pageCacheBytes: config.pageCache * 1024 * 1024,
    packer: internals.sharedDecompressor ? new BodyPacker(makeExpand()) : undefined,
  })
  const handle = makeHandler({ store, config, log, api, pages, responder, shutdown })

  const finish = (summary: RequestSummary, aborted: boolean) => {
    if (summary.isActive && summary.rateWindow !== undefined) limits.release(summary.rateWindow)
    log.request(summary, aborted)
    metrics?.request(summary)
  }

  const server = createHttpServer(config, internals)
  const connections = new Connections(server, internals.lingering)
  onRequest(server, connections, shutdown, handle, finish)
  onParserError(server, connections, (socket, error) => {
    const summary = summaryWithoutRequest()
    responder.errorTo(socket, summary, error)
    finish(summary, false)
  })

  await listen(server, config)
  const { port } = server.address() as AddressInfo
  return {
    url: urlOf(config.host, port),
    port,
    async close() {
      await shutdown.run(server, connections, config.drainDelay)
      overload.close()
      await usage.close()
      await reads.close()
      log.flush()
    },
  }
}

/** The address of a listener, to print. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

type HttpServer = Server<typeof IncomingMessage, typeof Response>

function createHttpServer(config: Config, { textHeaders, halfOpen }: NodeInternals): HttpServer {
  const server = createServer<typeof IncomingMessage, typeof Response>({
    ServerResponse: textHeaders ? TextResponse : Response,
    // More than the limits of the contract, so that the response can say which limit was exceeded.
    maxHeaderSize: 32 * 1024,
    requireHostHeader: false,
    headersTimeout: config.headersTimeout,
    requestTimeout: Math.max(config.requestTimeout, config.headersTimeout),
    keepAliveTimeout: config.keepAlive,
    connectionsCheckingInterval: Math.min(1000, config.headersTimeout),
  })
  server.maxHeadersCount = 0
  // A client that does not read its responses is disconnected.
  server.timeout = config.requestTimeout
  if (halfOpen) allowHalfOpen(server)
  return server
}

/** Handles each request, and finishes it when its response has ended. */
function onRequest(
  server: HttpServer,
  connections: Connections,
  shutdown: Shutdown,
  handle: (context: RequestContext) => void,
  finish: (summary: RequestSummary, aborted: boolean) => void,
) {
  const onResponseClose = (connection: Connection, context: RequestContext) => {
    const { response } = context
    clearTimeout(context.deadline)
    if (!connection.remove(context)) return
    context.status = response.headersSent ? response.statusCode : 0
    if (context.method === 'HEAD') context.bytes = 0
    finish(context, !response.writableFinished)
    connection.settle()
    if (shutdown.isClosing && connection.isIdle && connection.socket.writable) connection.close()
  }

  const accept = (request: IncomingMessage, response: Response) => {
    const connection = connections.of(request.socket)
    if (connection.isClosing || !connection.socket.writable) return
    const context = new RequestContext(request, response, connection)
    connection.add(context)
    response.on('close', () => onResponseClose(connection, context))
    // While closing, only the last response has `Connection: close`, so all requests of a packet must be read first.
    if (shutdown.isClosing) setImmediate(handle, context)
    else handle(context)
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
function onParserError(
  server: HttpServer,
  connections: Connections,
  respond: (socket: Socket, error: ApiError) => void,
) {
  const onError = (thrown: Error, socket: Socket) => {
    const code = codeForParserError(thrown)
    if (code === undefined) {
      socket.destroy()
      return
    }
    const connection = connections.of(socket)
    connection.afterLast(() => {
      if (!socket.writable) return
      respond(socket, new ApiError(code))
      connection.close()
    })
  }
  server.on('clientError', onError)
  server.on('connect', (_request, socket: Socket) => onError(new Error('CONNECT'), socket))
}

/** How many connections may wait to be accepted, if the system allows as many. */
const BACKLOG = 4096

function listen(server: HttpServer, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
