import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { makeOidc } from '../accounts/oidc.ts'
import { readOidcSettings } from '../accounts/oidc-settings.ts'
import { ApiError } from '../contract/errors.ts'
import { ALLOW, RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import { type Config, ConfigError, publicPath, settings } from '../config.ts'
import { clientAddress } from '../http/addresses.ts'
import { isAssetPath, type PageHandler, pathsBeforePages } from '../http/handler.ts'
import { LimitError } from '../http/limits.ts'
import { PageLimits } from '../http/page-limits.ts'
import type { RequestContext } from '../http/request.ts'
import { securityHeadersOf } from '../http/respond.ts'
import { Asset, sendAsset, memoizeAsync } from './assets.ts'
import type { DashboardOptions } from './options.ts'
import { sendLimitPage, toShownError, wantsPage } from './layout/error-page.ts'
import { siteOriginOf } from './origin.ts'
import { addressOfPath, servePagesBelow } from './prefix.ts'
import { registerReference } from './reference/reference.ts'
import { registerDashboard } from './routes.ts'
import { claimedSession } from './sign-in/session-cookie.ts'

/** A request as it is passed to Fastify. */
interface PageRequest extends IncomingMessage {
  readonly exchange: {
    readonly context: RequestContext
    /** Passes an error to the listener, which sends it as JSON. */
    readonly reject: (error: unknown) => void
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    readonly context: RequestContext
  }
  interface FastifyContextConfig {
    /** Whether the handler reads the body, which may take long. */
    readonly receivesFiles?: boolean
    /** Whether the response may take longer than others. */
    readonly takesLong?: boolean
  }
}

/** All paths except the API and health: the OpenAPI document, the reference, the client and the dashboard. */
export async function makePageHandler(options: Omit<DashboardOptions, 'sendAsJson' | 'oidc'>): Promise<PageHandler> {
  const { store, config } = options
  const issuer = readOidcSettings(config)
  const oidc = issuer === undefined ? undefined : makeOidc(issuer)
  const securityHeaders = securityHeadersOf(config)
  servePagesBelow(config.publicUrl)
  const app = fastify()
  const paths: string[] = []
  // Reads of SQLite are synchronous, so a timer could not interrupt them.
  if (store.engine === 'postgres') limitTimes(app, config.requestTimeout)
  app.addHook('onRoute', ({ url }) => void paths.push(url))
  app.decorateRequest('context', {
    getter(this: FastifyRequest) {
      return exchangeOf(this).context
    },
  })
  app.setErrorHandler((error, request, reply) => {
    const shown = toShownError(error)
    // The listener logs the cause of an internal error.
    return sendAsJson(request, reply, shown.code === 'internal_error' ? error : shown)
  })
  app.addHook('onRequest', async (request, reply) => {
    const { context } = request
    reply.headers({ ...securityHeaders, 'X-Request-Id': context.requestId })
    // The router accepts empty parameters: `/locks/` would match `/locks/:id`.
    if (!request.is404 && !Object.values(request.params as Record<string, string>).includes('')) {
      context.route = request.routeOptions.url
      return
    }
    // Responds before the body is read.
    if (dashboard?.sendUnknown(request, reply) === true) return reply
    if (!isKnown(context, known)) throw new ApiError('no_route')
    if (request.method !== 'OPTIONS') throw new ApiError('method_not_allowed')
    if (context.headers.bodyAnnounced) reply.header('Connection', 'close')
    return reply.code(204).header('Allow', ALLOW).send()
  })
  completeResponses(app)

  registerReference(app, config)
  registerClient(app)
  const dashboard = config.dashboard ? registerDashboard(app, { ...options, oidc, sendAsJson }) : undefined
  await app.ready()
  refuseRouteAsPrefix(config, paths)
  const known = patternOf(paths)

  const methods = new Set(app.supportedMethods)
  const pageLimits = new PageLimits(config)
  return {
    async handle(context) {
      const { request, method } = context
      // The router has no routes for other methods.
      if (!methods.has(method)) throw new ApiError(isKnown(context, known) ? 'method_not_allowed' : 'no_route')
      try {
        await admit(pageLimits, config, context)
      } catch (error) {
        if (error instanceof LimitError) return refuse(context, error, securityHeaders)
        throw error
      }
      // The client has gone while the page waited.
      if (request.socket.destroyed) return context.pagePlace?.end()
      await run(app, context)
    },
    refuse: (context, error) => refuse(context, error, securityHeaders),
  }
}

/** A request for `/docs/x` could be meant for the path `/docs/x` or, below `/docs`, for `/x`. Throws ConfigError. */
function refuseRouteAsPrefix({ publicUrl }: Config, paths: readonly string[]) {
  const start = (path: string) => path.split('/')[1] ?? ''
  const first = start(publicPath(publicUrl))
  if (first === '' || ![...pathsBeforePages, ...paths].some(path => start(path) === first)) return
  throw new ConfigError(
    `${settings.publicUrl.env} must not have a path that begins with /${first}, which the service has itself`,
  )
}

function completeResponses(app: FastifyInstance) {
  // How long it takes to send a page is up to its reader.
  app.addHook('onSend', async ({ context }, reply) => {
    context.pagePlace?.end()
    const location = reply.getHeader('Location')
    if (typeof location === 'string') reply.header('Location', addressOfPath(location))
  })
  app.addHook('onResponse', async (request, reply) => {
    const length = reply.getHeader('Content-Length')
    if (length !== undefined) request.context.bytes = Number(length)
  })
}

function run(app: FastifyInstance, context: RequestContext): Promise<void> {
  const { request, response, target } = context
  return new Promise((resolve, reject) => {
    response.once('close', resolve)
    const exchange: PageRequest['exchange'] = { context, reject }
    app.routing(Object.assign(request, { url: target.path, exchange }), response)
  })
}

/** Limits the time that a response takes. That of a form counts from when it has arrived, which has a limit of its own. */
function limitTimes(app: FastifyInstance, requestTimeout: number) {
  app.addHook('onRoute', route => {
    route.handlerTimeout ??= RESPONSE_TIMEOUT_MS + (route.method === 'POST' ? requestTimeout : 0)
  })
  app.addHook('preValidation', async (request, reply) => {
    if (request.method !== 'POST' || request.routeOptions.config.takesLong === true) return
    const timer = setTimeout(() => {
      if (!reply.raw.headersSent) reply.send(new LimitError('responseTimeout', 'unavailable'))
    }, RESPONSE_TIMEOUT_MS)
    reply.raw.once('close', () => clearTimeout(timer))
  })
}

/** Counts a page, and waits for its place among those of its session. */
async function admit(pageLimits: PageLimits, config: Config, context: RequestContext) {
  const { request, target, startedAt } = context
  // They are in memory, and every page needs several.
  if (isAssetPath(target)) return
  const session = claimedSession(request.headers.cookie, siteOriginOf(context, config))
  pageLimits.count(session, clientAddress(request, config.trustedProxies), startedAt)
  if (session === undefined) return
  const place = await pageLimits.begin(session)
  context.pagePlace = place
  context.response.once('close', place.end)
}

/** Throws the error for programs, which get it as JSON. */
function refuse(context: RequestContext, error: LimitError, headers: Readonly<Record<string, string>>) {
  if (!wantsPage(context.request)) throw error
  sendLimitPage(context, error, headers)
}

/** The typed client, for projects that copy it. */
function registerClient(app: FastifyInstance) {
  for (const [name, type] of Object.entries(CLIENT_FILES)) {
    const file = memoizeAsync(async () => new Asset(type, readFileSync(new URL(`../openapi/${name}`, import.meta.url))))
    app.get(`/${name}`, async (_, reply) => sendAsset(reply, await file()))
  }
}

const CLIENT_FILES = {
  'client.js': 'text/javascript; charset=utf-8',
  'client.d.ts': 'text/plain; charset=utf-8',
}

/** Passes the error to the listener, which sends it as JSON. */
function sendAsJson(request: FastifyRequest, reply: FastifyReply, error: unknown) {
  reply.hijack()
  exchangeOf(request).reject(error)
}

function exchangeOf({ raw }: FastifyRequest): PageRequest['exchange'] {
  // `run` sets it for every request.
  return (raw as PageRequest).exchange
}

function isKnown({ target: { decodedPath } }: RequestContext, known: RegExp): boolean {
  return decodedPath !== undefined && known.test(decodedPath)
}

/** Matches every path that has a route, whatever its method. */
function patternOf(paths: readonly string[]): RegExp {
  const patterns = new Set(paths.map(path => path.split('/').map(patternOfSegment).join('/')))
  return new RegExp(`^(?:${[...patterns].join('|')})$`)
}

function patternOfSegment(segment: string): string {
  return segment.startsWith(':') ? '[^/]+' : RegExp.escape(segment)
}
