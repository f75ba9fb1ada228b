import type { ServerResponse } from 'node:http'
import fastify, { type FastifyReply } from 'fastify'
import { ApiError } from '../contract/errors.ts'
import type { Store } from '../store/index.ts'
import { currentVersion, schemaVersion } from '../store/migrations.ts'
import type { Call, Exchange } from './exchange.ts'

interface PagesOptions {
  readonly store: Store
  readonly isDraining: () => boolean
  readonly fail: (response: ServerResponse, exchange: Exchange, thrown: unknown) => void
}

/** Everything beside the API: health, and the reference. */
export async function makePages({ store, isDraining, fail }: PagesOptions): Promise<(call: Call) => Promise<void>> {
  // A request and its exchange belong together; Fastify knows only the request.
  const exchanges = new WeakMap<object, Exchange>()
  const exchangeOf = (reply: FastifyReply) => exchanges.get(reply.raw)
  const app = fastify()

  const refuse = (reply: FastifyReply, error: unknown) => {
    const exchange = exchangeOf(reply)
    if (exchange === undefined) throw error
    reply.hijack()
    fail(reply.raw, exchange, error)
  }
  app.setErrorHandler((error, _request, reply) => refuse(reply, error))
  app.setNotFoundHandler((_request, reply) => refuse(reply, new ApiError('no_route')))

  app.addHook('onRequest', async (request, reply) => {
    const exchange = exchangeOf(reply)
    if (exchange === undefined) return
    exchange.route = request.routeOptions.url
    reply.headers({ ...PAGE_HEADERS, 'X-Request-Id': exchange.requestId })
  })

  app.get('/healthz', () => ({ ok: true }))

  app.get('/readyz', async () => {
    if (isDraining()) throw new ApiError('unavailable')
    if ((await schemaVersion(store.db)) !== currentVersion) throw new ApiError('unavailable')
    return { ok: true }
  })

  await app.ready()
  return async ({ request, response, exchange, target }) => {
    exchanges.set(response, exchange)
    request.url = target.path
    app.routing(request, response)
  }
}

const PAGE_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}
