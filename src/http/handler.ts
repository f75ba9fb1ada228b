import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import { toHttpError } from '../resources/failures.ts'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import { makeHealth } from './health.ts'
import { RateLimitedError } from './limits.ts'
import type { Log } from './log.ts'
import type { Handle, RequestContext } from './request-context.ts'
import { checkBody, checkHeaders, checkHost, parseTarget } from './request.ts'
import type { Responder } from './respond.ts'
import type { Shutdown } from './shutdown.ts'

/** The handler of all paths except the API and health. */
export interface Pages {
  readonly handle: Handle
}

interface HandlerOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly api: Handle
  readonly pages: (() => Promise<Pages>) | undefined
  readonly responder: Responder
  readonly shutdown: Shutdown
}

/** Reads and checks a request, routes it by its path, and sends an error if a step throws. */
export function makeHandler({ store, config, log, api, pages, responder, shutdown }: HandlerOptions) {
  const health = makeHealth(store, responder, shutdown)
  let madePages: Promise<Pages> | undefined

  const fail = (context: RequestContext, thrown: unknown) => {
    const { response } = context
    // The request has timed out.
    if (context.isAnswered || response.writableEnded) return
    const error = toHttpError(thrown)
    if (error.status >= 500 && error !== thrown) log.failure(thrown, context.requestId)
    if (error instanceof RateLimitedError) {
      context.limit = error.limit
      context.rateWindow ??= error.window
    }
    if (response.headersSent) response.destroy()
    else responder.error(context, error)
  }

  const route = (context: RequestContext): Promise<void> | undefined => {
    const { target } = context
    const isApi = isBelowApi(target.segments?.[1] ?? target.path)
    const handle = isApi ? api : health(target)
    if (handle === undefined) return handlePage(context)
    startTimeout(context)
    return handle(context)
  }

  const handlePage = async (context: RequestContext) => {
    if (pages === undefined) throw new ApiError('no_route')
    if (shutdown.isClosing && context.connection.isNewest(context)) context.response.setHeader('Connection', 'close')
    madePages ??= pages().catch((error: unknown) => {
      // The next request tries again.
      madePages = undefined
      throw error
    })
    return (await madePages).handle(context)
  }

  /** SQLite needs no timeout: its reads block the event loop, timers included, and end by themselves. */
  const startTimeout = (context: RequestContext) => {
    if (store.engine === 'sqlite') return
    context.deadline = setTimeout(() => {
      // Once headers are sent, the client decides how long the response takes.
      if (!context.response.headersSent) fail(context, new StoreUnavailableError('the response took too long'))
    }, RESPONSE_TIMEOUT_MS)
  }

  return (context: RequestContext) => {
    const { request, method, headers } = context
    try {
      checkHeaders(request, headers)
      const isAsterisk = request.url === '*' && method === 'OPTIONS'
      context.target = parseTarget(isAsterisk ? '/' : (request.url ?? ''), headers.host)
      checkHost(context.target, config.allowedHosts)
      if (isAsterisk) return responder.options(context)
      checkBody(method, headers)
      route(context)?.catch((error: unknown) => fail(context, error))
    } catch (error) {
      fail(context, error)
    }
  }
}

function isBelowApi(path: string): boolean {
  return path === 'api' || path === '/api' || path.startsWith('/api/')
}
