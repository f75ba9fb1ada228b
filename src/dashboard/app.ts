import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { makeOidc, readOidcSettings } from '../accounts/oidc.ts'
import { type Config, publicPath, settings } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import type { Load } from '../fairness.ts'
import { clientAddress } from '../http/addresses.ts'
import { securityHeadersOf } from '../http/answers.ts'
import { isNoParameter } from '../http/app.ts'
import { LimitError } from '../http/limits.ts'
import { PageLimits } from '../http/rate-limits.ts'
import type { Pages } from '../http/server.ts'
import { asset, isAsset, sendAsset } from './sending.ts'
import type { DashboardOptions } from './options.ts'
import { PAGE_HEADERS, checkSameOrigin, siteOriginOf, addressOfPath, servePagesBelow } from './site.ts'
import { registerReference } from './reference/reference.ts'
import { registerDashboard, sendUnknown, showErrors } from './routes.ts'
import { claimedSession } from './visit.ts'
import { Refusal } from '../contract/refusal.ts'
import { announcesBody } from '../http/log.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the handler reads the body, which may take long. */
    readonly receivesFiles?: boolean
    /** Whether the response may take longer than others. */
    readonly takesLong?: boolean
  }
}

interface PageOptions extends Omit<DashboardOptions, 'oidc'> {
  readonly load: Load
}

/** All paths except the API and health: the OpenAPI document, the reference, the client and the dashboard. */
export function makePages({ load, ...pageOptions }: PageOptions): Pages {
  const { store, config } = pageOptions
  const issuer = readOidcSettings(config)
  const options = { ...pageOptions, oidc: issuer === undefined ? undefined : makeOidc(issuer) }
  const headers = securityHeadersOf(config)
  const pageLimits = new PageLimits(config)
  servePagesBelow(config.publicUrl)

  /** Throws LimitError before any work for a page. Assets are in memory, and every page needs several. */
  const admit = (request: FastifyRequest, reply: FastifyReply) => {
    const { context } = request
    reply.headers({ ...headers, 'X-Request-Id': request.id })
    if (context.target.path.startsWith('/assets/')) return
    if (load.isOverloaded(context.startedAt)) throw new LimitError('lag', 'unavailable', 1)
    const session = claimedSession(request.headers.cookie, siteOriginOf(context, config))
    pageLimits.count(session, () => clientAddress(request.raw, config.trustedProxies), context.startedAt)
    if (session !== undefined) context.confirmSession = () => pageLimits.confirm(session)
  }

  return {
    plugin(app, _options, done) {
      // Reads of SQLite are synchronous, so a timer could not interrupt them.
      if (store.engine === 'postgres') limitTimes(app, config.requestTimeout)
      const urls = [...PATHS_BEFORE_PAGES]
      app.addHook('onRoute', ({ url }) => void urls.push(url))
      app.addHook('onReady', async () => refuseRouteAsPrefix(config, urls))
      app.addHook('onRequest', async (request, reply) => {
        if (Object.values(request.params as Record<string, string>).some(isNoParameter)) return reply.callNotFound()
        request.context.route = request.routeOptions.url
        admit(request, reply)
      })
      app.addHook('onSend', async (_request, reply) => {
        const location = reply.getHeader('Location')
        if (typeof location === 'string') reply.header('Location', addressOfPath(location))
      })
      if (config.dashboard) showErrors(app, options)
      registerReference(app, config)
      app.get('/assets/:name', (request, reply) => {
        const { name } = request.params as { name: string }
        if (!isAsset(name)) throw new ApiError('no_route')
        return sendAsset(reply, asset(name), new URLSearchParams(request.context.target.query).get('v'))
      })
      // The typed client, for projects that copy it.
      for (const name of ['client.js', 'client.d.ts'] as const) {
        app.get(`/${name}`, (_, reply) => sendAsset(reply, asset(name)))
      }
      if (config.dashboard)
        void app.register((scope, _options, done) => {
          acceptForms(scope, config)
          registerDashboard(scope, options)
          done()
        })
      done()
    },
    sendUnknown: (request, reply) => config.dashboard && sendUnknown(options, request, reply, admit),
  }
}

/** A request for `/docs/x` could be meant for the path `/docs/x` or, below `/docs`, for `/x`. Throws Refusal. */
function refuseRouteAsPrefix({ publicUrl }: Config, urls: readonly string[]) {
  const start = (path: string) => path.split('/')[1] ?? ''
  const first = start(publicPath(publicUrl))
  if (first === '' || !urls.some(path => start(path) === first)) return
  throw new Refusal(
    'usage',
    `${settings.publicUrl.env} must not have a path that begins with /${first}, which the service has itself`,
  )
}

const PATHS_BEFORE_PAGES = ['/api', '/healthz', '/readyz']

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

/**
 * The headers of pages, and forms as the only bodies, from pages of this site. A form has a time from the headers of its request, whatever
 * arrives meanwhile. Files are read by the handler of their route.
 */
function acceptForms(scope: FastifyInstance, config: Config) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(body.toString())),
  )
  scope.addHook('onRequest', async (request, reply) => {
    const site = siteOriginOf(request.context, config)
    // Without a referrer browsers do not send the origin of forms either, and over plain HTTP no Sec-Fetch-Site.
    if (!site.trustworthy) reply.header('Referrer-Policy', 'same-origin')
    reply.headers(PAGE_HEADERS)
    if (request.method === 'POST') checkSameOrigin(request.raw, site)
  })
  scope.addHook('preParsing', (request, reply, payload, next) => {
    if (announcesBody(request.raw) && request.routeOptions.config.receivesFiles !== true) {
      limitTime(request, reply, config.requestTimeout)
    }
    next(null, payload)
  })
}

function limitTime({ raw, context }: FastifyRequest, reply: FastifyReply, timeoutMs: number) {
  const left = Math.max(0, context.startedAt + timeoutMs - performance.now())
  const timer = setTimeout(() => void reply.send(new LimitError('bodyTimeout', 'request_timeout')), left)
  const stop = () => clearTimeout(timer)
  raw.once('end', stop)
  reply.raw.once('close', stop)
}
