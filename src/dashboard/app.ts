import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import fastify, { type FastifyReply } from 'fastify'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { openapi } from '../openapi/document.ts'
import { registerDashboard, type SampleAccount } from './routes.ts'
import type { Store } from '../store/index.ts'
import { JSON_TYPE } from '../http/respond.ts'
import type { Call, RequestContext } from '../http/request-context.ts'
import type { Log } from '../http/log.ts'
import { matchesEtag } from '../http/negotiation.ts'
import { makeReference } from '../openapi/reference.ts'
import type { Response } from '../http/response.ts'
import type { Target } from '../http/target.ts'

interface PagesOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly sample?: SampleAccount | undefined
  readonly isDraining: () => boolean
  readonly fail: (response: Response, exchange: RequestContext, thrown: unknown) => void
}

export interface Pages {
  answer(call: Call): Promise<void>
  /** Answers a call that takes too long, as its page would tell of any other trouble. */
  giveUp(call: Call, error: unknown): void
}

/** Everything beside the API: health, the reference, and the dashboard. */
export async function makePages(options: PagesOptions): Promise<Pages> {
  const { store, config, log, sample, isDraining, fail } = options
  const app = fastify()
  const paths = new Set<string>()
  app.addHook('onRoute', ({ url }) => void paths.add(url))

  // A request and what is known of it belong together; Fastify has only the request.
  const calls = new WeakMap<ServerResponse, Call>()
  const replies = new WeakMap<ServerResponse, FastifyReply>()
  const refuse = (reply: FastifyReply, error: unknown) => {
    const call = calls.get(reply.raw)
    if (call === undefined) throw error
    reply.hijack()
    fail(call.response, call.exchange, error)
  }
  app.setErrorHandler((error, _request, reply) => refuse(reply, error))

  app.addHook('onRequest', async (request, reply) => {
    const call = calls.get(reply.raw)
    if (call === undefined) return
    replies.set(reply.raw, reply)
    reply.headers({ ...HEADERS, 'X-Request-Id': call.exchange.requestId })
    // The router lets a parameter be empty, and takes what is behind a trailing slash for one.
    if (!request.is404 && !Object.values(request.params as Record<string, string>).includes('')) {
      call.exchange.route = request.routeOptions.url
      return
    }
    // Refused here, because what comes next reads a body.
    if (!isKnown(call.target, paths)) {
      if (dashboard?.answerUnknown(request, reply) === true) return reply
      throw new ApiError('no_route')
    }
    if (request.method !== 'OPTIONS') throw new ApiError('method_not_allowed')
    if (call.head.bodyAnnounced) reply.header('Connection', 'close')
    return reply.code(204).header('Allow', 'GET, HEAD, OPTIONS').send()
  })

  app.addHook('onResponse', async (_request, reply) => {
    const call = calls.get(reply.raw)
    const length = reply.getHeader('Content-Length')
    if (call !== undefined && length !== undefined) call.exchange.bytes = Number(length)
  })

  app.get('/healthz', () => ({ ok: true }))

  app.get('/readyz', async () => {
    if (isDraining()) throw new ApiError('unavailable')
    // Only what a load balancer can act on.
    return (await store.health()) === 'ready' ? { ok: true } : { ok: true, degraded: true }
  })

  const document = once(async () => asset(JSON_TYPE, JSON.stringify(openapi())))
  app.get('/openapi.json', async (_, reply) => give(reply, await document()))

  const reference = once(async () => {
    const { page, script, policy } = await makeReference()
    return {
      page: asset('text/html; charset=utf-8', page),
      script: asset('text/javascript; charset=utf-8', script),
      policy,
    }
  })
  app.get('/docs', async (_, reply) => {
    const { page, policy } = await reference()
    return give(reply.header('Content-Security-Policy', policy), page)
  })
  app.get('/docs/scalar.js', async (_, reply) => give(reply, (await reference()).script))

  const dashboard = config.dashboard
    ? registerDashboard(app, { store, config, sample, callOf: reply => calls.get(reply.raw), refuse, log })
    : undefined

  await app.ready()
  const routable = new Set(app.supportedMethods)
  return {
    async answer(call) {
      const { request, response, exchange, target } = call
      // To the router such methods do not exist at all.
      if (!routable.has(exchange.method)) throw new ApiError(isKnown(target, paths) ? 'method_not_allowed' : 'no_route')
      calls.set(response, call)
      request.url = target.path
      app.routing(request, response)
    },
    giveUp({ response, exchange }, error) {
      const reply = replies.get(response)
      if (reply === undefined) fail(response, exchange, error)
      else if (!reply.sent) void reply.send(error)
    },
  }
}

const HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

function isKnown({ path, segments }: Target, paths: ReadonlySet<string>): boolean {
  if (segments === undefined) return paths.has(path)
  return !segments.some(segment => segment.includes('/')) && paths.has(segments.join('/'))
}

/** Something that stays as it is while the service runs. */
interface Asset {
  readonly type: string
  readonly body: Buffer
  readonly etag: string
}

function asset(type: string, content: string | Buffer): Asset {
  const body = Buffer.from(content)
  return { type, body, etag: `"${hash('sha1', body, 'base64url')}"` }
}

/** Sends an asset, unless the browser still has it. It asks every time, so it never shows one of an older version. */
function give(reply: FastifyReply, { type, body, etag }: Asset) {
  reply.headers({ 'Cache-Control': 'no-cache', ETag: etag })
  const kept = reply.request.headers['if-none-match']
  if (kept !== undefined && matchesEtag(kept, etag)) return reply.code(304).send()
  return reply.type(type).send(body)
}

/** Does the work when it is first asked for; again only where it failed. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
}
