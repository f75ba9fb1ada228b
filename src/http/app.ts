import cors, { type FastifyCorsOptions } from '@fastify/cors'
import fastify, {
  type FastifyError,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Config, publicPath } from '../config.ts'
import { ApiError, type HttpError } from '../contract/errors.ts'
import { READ_METHODS } from '../contract/responses.ts'
import { toHttpError } from '../resources/handler.ts'
import { type Answers, MethodError, securityHeadersOf } from './answers.ts'
import type { Connections } from './connections.ts'
import { announcesBody, makeRequestId, RequestContext, type RequestSummary } from './context.ts'
import { BodyTooLargeError, LimitError, limitOf, limits } from './limits.ts'
import type { Load } from './load.ts'
import type { Log } from './log.ts'
import { RateLimitedError } from './rate-limits.ts'
import type { StopState } from './stop.ts'

export interface AppOptions {
  readonly config: Config
  readonly log: Log
  readonly answers: Answers
  readonly load: Load
  readonly state: Pick<StopState, 'isClosing'>
  readonly connections: () => Connections
  /** Is called when a request has ended. */
  readonly finish: (context: RequestSummary & Pick<RequestContext, 'isActive' | 'windows'>, aborted: boolean) => void
  /** Shows a page for an unknown path; false if the client wants none. */
  readonly sendUnknown: (request: FastifyRequest, reply: FastifyReply) => boolean
}

/** The application without its routes: options, the hook of every request, and errors. */
export async function makeApp(options: AppOptions): Promise<FastifyInstance> {
  const { config, answers, sendUnknown } = options
  const securityHeaders = securityHeadersOf(config)
  const begin = (request: FastifyRequest, reply: FastifyReply) => beginRequest(request, reply, options)
  const app: FastifyInstance = fastify({
    ...serverOptions(config),
    frameworkErrors(error, request, reply) {
      begin(request, reply)
      onError(error, request, reply)
    },
    clientErrorHandler: (error, socket) => onClientError(error, socket, options),
  } satisfies FastifyHttpOptions<Server>)

  const onError = (thrown: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) => {
    const { context } = request
    const error = refusalOf(thrown)
    if (error.status >= 500 && error !== thrown && !(error instanceof LimitError))
      options.log.failure(thrown, context.requestId)
    context.limit = limitOf(error) ?? context.limit
    if (error instanceof RateLimitedError) context.windows ??= error.windows
    if (reply.raw.headersSent) reply.raw.destroy()
    else answers.error(reply, error)
  }

  /** The error for a request that has no route. */
  const unknown = ({ context: { target } }: FastifyRequest): ApiError => {
    const has = (method: 'GET' | 'POST') => {
      const found = app.findRoute({ method, url: target.path })
      return found !== null && !Object.values(found.params).some(isNoParameter)
    }
    const allowed = [...(has('GET') ? READ_METHODS : []), ...(has('POST') ? ['POST'] : [])]
    return allowed.length === 0 ? new ApiError('no_route') : new MethodError(allowed)
  }

  app.server.on('checkContinue', (request, response) => {
    // Behind another response, Node could write it between the headers and the body of this one.
    if (response.socket !== null) response.writeContinue()
    app.routing(request, response)
  })
  app.setErrorHandler(onError)
  app.decorateRequest('context')
  app.addHook('onRequest', (request, reply, next) => {
    begin(request, reply)
    if (request.method === 'OPTIONS') reply.headers({ ...securityHeaders, 'X-Request-Id': request.id })
    next()
  })
  if (config.corsOrigins.length > 0) {
    await app.register(cors, corsOptions(config))
  }
  app.addHook('onRequest', (request, _reply, next) => {
    const { host } = request.context.target
    if (host === undefined && request.headers.host !== undefined) return next(new ApiError('malformed_request'))
    if (config.allowedHosts.length > 0 && host !== undefined && !config.allowedHosts.includes(host.hostname))
      return next(new ApiError('misdirected_request'))
    // A handler of unknown paths would read the body first. @fastify/cors has a route for all OPTIONS.
    const hasRoute = !request.is404 && request.method !== 'OPTIONS'
    next(hasRoute || READ_METHODS.includes(request.method) ? undefined : unknown(request))
  })
  app.setNotFoundHandler((request, reply) => {
    if (!sendUnknown(request, reply)) throw unknown(request)
  })
  return app
}

/** Begins the log line of a request, which ends with its response or its connection. */
function beginRequest(request: FastifyRequest, reply: FastifyReply, options: AppOptions) {
  const { load, state, connections, finish } = options
  const { raw } = request
  const context = new RequestContext(raw, reply.raw, request.id)
  request.context = context
  const end = () => {
    if (!connections().noteEnd(raw.socket, end)) return
    load.inWork -= 1
    context.status = reply.raw.headersSent ? reply.raw.statusCode : 0
    context.bytes ||= Number(reply.getHeader('Content-Length') ?? 0)
    if (context.method === 'HEAD') context.bytes = 0
    finish(context, !reply.raw.writableFinished)
  }
  if (connections().noteRequest(raw.socket, reply.raw, end)) load.inWork += 1
  reply.raw.once('close', end)
  if (state.isClosing) reply.raw.setHeader('Connection', 'close')
  // Nobody reads it, and where the next request begins is not known.
  if (announcesBody(raw) && (request.method !== 'POST' || request.is404)) reply.raw.setHeader('Connection', 'close')
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
    genReqId: makeRequestId,
    routerOptions: { maxParamLength: limits.headerBytes.max, querystringParser: (text: string) => ({ text }) },
    ...(prefix === ''
      ? {}
      : { rewriteUrl: ({ url = '' }: { url?: string | undefined }) => withoutPrefix(url, prefix) }),
  }
}

function corsOptions({ corsOrigins }: Pick<Config, 'corsOrigins'>): FastifyCorsOptions {
  return {
    origin: (origin, decide) => decide(null, origin !== undefined && corsOrigins.includes(origin)),
    methods: [...READ_METHODS],
    allowedHeaders: ['Authorization', 'If-None-Match'],
    exposedHeaders: ['ETag', 'Link', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'X-Request-Id'],
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
  if (!code.startsWith('FST_')) return toHttpError(error)
  if (code === 'FST_ERR_HANDLER_TIMEOUT') return new LimitError('responseTimeout', 'unavailable')
  if (code === 'FST_ERR_BAD_URL') return new ApiError('malformed_url')
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new BodyTooLargeError('formBytes')
  return new ApiError(statusCode < 500 ? 'malformed_request' : 'internal_error')
}

/** Answers what the parser refused, or what did not arrive in time; once, although all that follows is refused too. */
function onClientError({ code = '' }: NodeJS.ErrnoException, socket: Socket, options: AppOptions) {
  if (refused.has(socket)) return
  refused.add(socket)
  const newest = options.connections().newest(socket)
  const isPending = newest !== undefined && !newest.writableFinished
  if (code === 'ECONNRESET' || !socket.writable) socket.destroy()
  // What follows a whole request is answered after it.
  else if (isPending && newest.req.complete) newest.once('finish', () => answerClientError(code, socket, options))
  // What was refused is the body of a request that has its answer.
  else if (isPending && newest.headersSent) newest.once('finish', () => socket.destroySoon())
  else answerClientError(code, socket, options)
}

const refused = new WeakSet<Socket>()

function answerClientError(code: string, socket: Socket, { answers, finish }: AppOptions) {
  if (!socket.writable) return
  const summary = {
    requestId: makeRequestId(),
    method: '',
    now: Date.now(),
    startedAt: performance.now(),
    status: 0,
    bytes: 0,
  }
  const error = clientError(code)
  answers.errorTo(socket, summary, error)
  finish({ ...summary, limit: limitOf(error), isActive: false, windows: undefined }, false)
}

function clientError(code: string): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new LimitError('headersTimeout', 'request_timeout')
  if (code === 'HPE_HEADER_OVERFLOW') return new LimitError('headerBytes', 'headers_too_large')
  return new ApiError('malformed_request')
}
