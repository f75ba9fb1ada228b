import { readFileSync } from 'node:fs'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { makeOidc } from '../accounts/oidc.ts'
import { readOidcSettings } from '../accounts/oidc-settings.ts'
import { ApiError } from '../contract/errors.ts'
import { ALLOW, RESPONSE_TIMEOUT_MS, SECURITY_HEADERS } from '../contract/responses.ts'
import { Asset, sendAsset } from './assets.ts'
import type { DashboardOptions } from './options.ts'
import type { PageContext, PageRequest } from './page-context.ts'
import { toShownError } from './error-page.ts'
import { once } from './once.ts'
import { registerReference } from './reference.ts'
import { registerDashboard } from './routes.ts'

export interface Pages {
  /** Resolves when the response has ended; rejects with an error that the listener sends as JSON. */
  handle(context: PageContext): Promise<void>
}

/** All paths except the API and health: the OpenAPI document, the reference, the client and the dashboard. */
export async function makePages(options: Omit<DashboardOptions, 'sendAsJson' | 'oidc'>): Promise<Pages> {
  const { store, config } = options
  const issuer = readOidcSettings(config)
  const oidc = issuer === undefined ? undefined : makeOidc(issuer)
  // Reads of SQLite are synchronous, so a timer could not interrupt them.
  const app = fastify(store.engine === 'sqlite' ? {} : { handlerTimeout: RESPONSE_TIMEOUT_MS })
  const paths = new Set<string>()
  app.addHook('onRoute', ({ url }) => void paths.add(url))
  app.decorateRequest('context', {
    getter(this: FastifyRequest) {
      return pageOf(this).context
    },
  })
  app.setErrorHandler((error, request, reply) => {
    const shown = toShownError(error)
    // The listener logs the cause of an internal error.
    return sendAsJson(request, reply, shown.code === 'internal_error' ? error : shown)
  })
  app.addHook('onRequest', async (request, reply) => {
    const { context } = request
    reply.headers({ ...SECURITY_HEADERS, 'X-Request-Id': context.requestId })
    // The router accepts empty parameters: `/locks/` would match `/locks/:id`.
    if (!request.is404 && !Object.values(request.params as Record<string, string>).includes('')) {
      context.route = request.routeOptions.url
      return
    }
    // Responds before the body is read.
    if (!isKnown(context, paths)) {
      if (dashboard?.sendUnknown(request, reply) === true) return reply
      throw new ApiError('no_route')
    }
    if (request.method !== 'OPTIONS') throw new ApiError('method_not_allowed')
    if (context.headers.bodyAnnounced) reply.header('Connection', 'close')
    return reply.code(204).header('Allow', ALLOW).send()
  })
  app.addHook('onResponse', async (request, reply) => {
    const length = reply.getHeader('Content-Length')
    if (length !== undefined) request.context.bytes = Number(length)
  })

  registerReference(app, config)
  registerClient(app)
  const dashboard = config.dashboard ? registerDashboard(app, { ...options, oidc, sendAsJson }) : undefined
  await app.ready()

  const methods = new Set(app.supportedMethods)
  return {
    async handle(context) {
      const { request, response, method, target } = context
      // The router has no routes for other methods.
      if (!methods.has(method)) throw new ApiError(isKnown(context, paths) ? 'method_not_allowed' : 'no_route')
      await new Promise<void>((resolve, reject) => {
        response.once('close', resolve)
        const page: PageRequest['page'] = { context, reject }
        app.routing(Object.assign(request, { url: target.path, page }), response)
      })
    },
  }
}

/** The typed client, for projects that copy it. */
function registerClient(app: FastifyInstance) {
  for (const [name, type] of Object.entries(CLIENT_FILES)) {
    const file = once(async () => new Asset(type, readFileSync(new URL(`../openapi/${name}`, import.meta.url))))
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
  pageOf(request).reject(error)
}

function pageOf({ raw }: FastifyRequest): PageRequest['page'] {
  // `handle` sets the page of every request.
  return (raw as PageRequest).page
}

function isKnown({ target: { decodedPath } }: PageContext, paths: ReadonlySet<string>): boolean {
  return decodedPath !== undefined && paths.has(decodedPath)
}
