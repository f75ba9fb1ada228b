import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import cors, { type FastifyCorsOptions } from '@fastify/cors'
import fastify, {
  type FastifyError,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { type Config, publicPath } from '../config.ts'
import { ApiError, type HttpError } from '../contract/errors.ts'
import { READ_METHODS } from '../contract/responses.ts'
import { arrive, type Load } from '../fairness.ts'
import { toHttpError } from '../resources/handler.ts'
import { clientAddress, networkOf } from './addresses.ts'
import { type Answers, dropRest, securityHeadersOf } from './answers.ts'
import { Connections } from './connections.ts'
import { LimitError, limitOf, limits } from './limits.ts'
import { type Log, announcesBody, RequestContext, type RequestSummary } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { RateLimits } from './rate-limits.ts'

export interface AppOptions {
  readonly config: Config
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly answers: Answers
  readonly rateLimits: RateLimits
  readonly load: Load
  /** Shows a page for an unknown path; false if the client wants none. */
  readonly sendUnknown: (request: FastifyRequest, reply: FastifyReply) => boolean
}

/** The application without its routes: options, the hook of every request, and errors. */
export async function makeApp(options: AppOptions) {
  const { config, log, metrics, answers, sendUnknown } = options
  const { allowedHosts } = config
  const securityHeaders = securityHeadersOf(config)
  const onError = (thrown: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) => {
    const { context } = request
    const error = refusalOf(thrown)
    if (error.status >= 500 && error !== thrown && !(error instanceof LimitError))
      log.failure(thrown, context.requestId)
    context.limit = limitOf(error) ?? context.limit
    if (reply.raw.headersSent) return reply.raw.destroy()
    if (error.status === 408) reply.raw.setHeader('Connection', 'close')
    answers.error(reply, error)
  }
  const app: FastifyInstance = fastify({
    ...serverOptions(config),
    frameworkErrors(error, request, reply) {
      beginRequest(request, reply, connections, options)
      // No hook is called.
      if (config.corsOrigins.length > 0) reply.headers(corsHeaders(config, request.headers.origin))
      onError(error, request, reply)
    },
    clientErrorHandler: (error, socket) => onClientError(error, socket, connections, options),
  } satisfies FastifyHttpOptions<Server>)
  const connections = new Connections(app.server, {
    config,
    limitReached: limit => metrics?.limitReached(limit),
    log,
  })

  app.server.on('checkExpectation', (_request, response) => {
    // Node would wait for the body, for as long as that of an upload may take.
    response.writeHead(417, { Connection: 'close' }).end()
  })
  app.server.on('checkContinue', (request, response) => {
    // Behind another response, Node could write it between the headers and the body of this one.
    if (!isAnswering(connections, request.socket)) response.writeContinue()
    app.server.emit('request', request, response)
  })
  app.setErrorHandler(onError)
  app.decorateRequest('context')
  app.addHook('onRequest', (request, reply, next) => {
    beginRequest(request, reply, connections, options)
    if (request.method === 'OPTIONS') reply.headers({ ...securityHeaders, 'X-Request-Id': request.id })
    arrive(() => networkOf(clientAddress(request.raw, config.trustedProxies)), next)
  })
  if (config.corsOrigins.length > 0) await app.register(cors, corsOptions(config))
  app.addHook('onRequest', (request, _reply, next) => {
    // HTTP/1.0 need not name one.
    const { host } = request.headers
    if (allowedHosts.length > 0 && host !== undefined && !allowedHosts.includes(nameIn(host)))
      return next(new ApiError('misdirected_request'))
    // A handler of unknown paths would read the body first. @fastify/cors has a route for all OPTIONS.
    const hasRoute = !request.is404 && request.method !== 'OPTIONS'
    next(hasRoute || READ_METHODS.includes(request.method) ? undefined : unknownError(app, request))
  })
  app.setNotFoundHandler((request, reply) => {
    if (!sendUnknown(request, reply)) throw unknownError(app, request)
  })
  return { app, connections }
}

/** The error for a request that has no route: of a known path, if it has one for another method. */
function unknownError(app: FastifyInstance, { context: { target } }: FastifyRequest): ApiError {
  const has = (method: 'GET' | 'POST') => {
    const found = app.findRoute({ method, url: target.path })
    return found !== null && !Object.values(found.params).some(isNoParameter)
  }
  const allow = [...(has('GET') ? READ_METHODS : []), ...(has('POST') ? ['POST'] : [])]
  return allow.length === 0 ? new ApiError('no_route') : new ApiError('method_not_allowed', undefined, { allow })
}

/** Begins the log line of a request, which ends with its response or its connection. */
function beginRequest(request: FastifyRequest, reply: FastifyReply, connections: Connections, options: AppOptions) {
  const { load, rateLimits } = options
  const { raw } = request
  const { socket } = raw
  // Behind another response on its connection, Node does not say when that ends.
  const isWaiting = isAnswering(connections, socket)
  const context = new RequestContext(raw, request.id)
  request.context = context
  let hasEnded = false
  const end = () => {
    if (hasEnded) return
    hasEnded = true
    if (isWaiting) socket.off('close', end)
    load.inWork -= 1
    context.status = reply.raw.headersSent ? reply.raw.statusCode : 0
    context.bytes ||= Number(reply.getHeader('Content-Length') ?? 0)
    if (context.method === 'HEAD') context.bytes = 0
    if (context.isActive && context.window !== undefined) rateLimits.release(context.window)
    report(context, !reply.raw.writableFinished, options)
  }
  load.inWork += 1
  reply.raw.once('close', end)
  if (isWaiting) socket.once('close', end)
  connections.newest.set(socket, reply.raw)
  if (connections.isClosing) reply.raw.setHeader('Connection', 'close')
  if (!announcesBody(raw)) return
  // Nobody reads it, and where the next request begins is not known.
  if (request.method !== 'POST' || request.is404) reply.raw.setHeader('Connection', 'close')
  else reply.raw.once('finish', () => dropRest(raw))
}

/** Whether the newest request of a connection has no response yet, or not all of it. */
function isAnswering({ newest }: Connections, socket: Socket): boolean {
  return newest.get(socket)?.writableFinished === false
}

function report(summary: RequestSummary, aborted: boolean, { log, metrics }: AppOptions) {
  log.request(summary, aborted)
  metrics?.request(summary)
}

function serverOptions(config: Config) {
  const prefix = publicPath(config.publicUrl)
  return {
    http: {
      maxHeaderSize: limits.headerBytes.max,
      requireHostHeader: false,
      headersTimeout: config.headersTimeout,
      connectionsCheckingInterval: Math.min(1000, config.headersTimeout),
    },
    keepAliveTimeout: config.keepAlive,
    // For a body that nobody reads. Forms and uploads have limits of their own.
    requestTimeout: limits.uploadTime.max + config.headersTimeout,
    bodyLimit: limits.formBytes.max,
    return503OnClosing: false,
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: limits.headerBytes.max, querystringParser: (text: string) => ({ text }) },
    ...(prefix === ''
      ? {}
      : { rewriteUrl: ({ url = '' }: { url?: string | undefined }) => withoutPrefix(url, prefix) }),
  }
}

/** The name in a `Host` header, in lower case; empty where something other than a port follows it. */
function nameIn(host: string): string {
  return /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(host)?.[1]?.toLowerCase() ?? ''
}

const EXPOSED = ['ETag', 'Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Request-Id']

/** What @fastify/cors sets for the origin of a request that is no preflight. */
function corsHeaders({ corsOrigins }: Pick<Config, 'corsOrigins'>, origin: string | undefined) {
  if (origin === undefined || !corsOrigins.includes(origin)) return { Vary: 'Origin' }
  return {
    Vary: 'Origin',
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': EXPOSED.join(', '),
  }
}

function corsOptions({ corsOrigins }: Pick<Config, 'corsOrigins'>): FastifyCorsOptions {
  return {
    origin: (origin, decide) => decide(null, origin !== undefined && corsOrigins.includes(origin)),
    methods: [...READ_METHODS],
    allowedHeaders: ['Authorization', 'If-None-Match'],
    exposedHeaders: EXPOSED,
    maxAge: 600,
    strictPreflight: false,
  }
}

/** The router finds an empty segment, and dots, in the place of a parameter: `/locks/` would match `/locks/:id`. */
export function isNoParameter(value: unknown): boolean {
  return value === '' || value === '.' || value === '..'
}

/** A proxy may or may not have removed the path below which the service is served. */
function withoutPrefix(url: string, prefix: string): string {
  if (!url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** The error that a client gets for what was thrown, by this service or by Fastify. */
export function refusalOf(error: Error): HttpError {
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>
  // The client closed the connection before its form had arrived.
  if (code === 'ECONNRESET') return new ApiError('malformed_request')
  if (!code.startsWith('FST_')) return toHttpError(error)
  if (code === 'FST_ERR_HANDLER_TIMEOUT') return new LimitError('responseTimeout', 'unavailable')
  if (code === 'FST_ERR_BAD_URL') return new ApiError('malformed_url')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new LimitError('formBytes', 'body_too_large')
  return new ApiError(statusCode < 500 ? 'malformed_request' : 'internal_error')
}

/** Answers what the parser refused, or what did not arrive in time; once, although all that follows is refused too. */
function onClientError(
  { code = '' }: NodeJS.ErrnoException,
  socket: Socket,
  connections: Connections,
  options: AppOptions,
) {
  if (refused.has(socket)) return
  refused.add(socket)
  const newest = connections.newest.get(socket)
  const hasAnswer = newest?.headersSent === true && !newest.req.complete
  const isPending = newest?.writableFinished === false
  if (code === 'ECONNRESET' || !socket.writable) socket.destroy()
  // What follows a whole request is answered after it.
  else if (isPending && newest.req.complete) newest.once('finish', () => answerClientError(code, socket, options))
  // What was refused is the body of a request that has its answer.
  else if (hasAnswer && isPending) newest.once('finish', () => socket.destroySoon())
  else if (hasAnswer) socket.destroySoon()
  else answerClientError(code, socket, options)
}

const refused = new WeakSet<Socket>()

function answerClientError(code: string, socket: Socket, options: AppOptions) {
  if (!socket.writable) return
  const times = { now: Date.now(), startedAt: performance.now() }
  const error = clientError(code)
  const limit = limitOf(error)
  const summary = { requestId: randomUUID(), method: '', status: error.status, bytes: 0, limit, ...times }
  options.answers.errorTo(socket, summary, error)
  report(summary, false, options)
}

function clientError(code: string): HttpError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new LimitError('headersTimeout', 'request_timeout')
  if (code === 'HPE_HEADER_OVERFLOW') return new LimitError('headerBytes', 'headers_too_large')
  return new ApiError('malformed_request')
}
