import { type Config, publicPath } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import { toHttpError } from '../resources/handler.ts'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import { makeHealth } from './health.ts'
import { LimitError, limitOf } from './limits.ts'
import type { Log } from './log.ts'
import { RateLimitedError } from './rate-limits.ts'
import {
  type Handle,
  type RequestContext,
  checkBody,
  checkHeaders,
  checkHost,
  parseTarget,
  type Target,
  readHost,
} from './request.ts'
import type { Responder } from './respond.ts'
import type { Shutdown } from './shutdown.ts'

/** The handler of all paths except the API and health. */
export interface PageHandler {
  /** Resolves when the response has ended. */
  readonly handle: Handle
  /** Sends an error without any other work. */
  readonly refuse: (context: RequestContext, error: LimitError) => void
}

interface HandlerOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly api: Handle
  readonly pages: (() => Promise<PageHandler>) | undefined
  readonly responder: Responder
  readonly shutdown: Shutdown
  readonly isOverloaded: (startedAt: number) => boolean
}

/** Reads and checks a request, routes it by its path, and sends an error if a step throws. */
export function makeHandler({ store, config, log, api, pages, responder, shutdown, isOverloaded }: HandlerOptions) {
  const health = makeHealth(store, responder, shutdown)
  const prefix = publicPath(config.publicUrl)
  let madePageHandler: Promise<PageHandler> | undefined

  const fail = (context: RequestContext, thrown: unknown) => {
    const { response } = context
    // The request has timed out.
    if (context.isAnswered || response.writableEnded) return
    const error = toHttpError(thrown)
    if (error.status >= 500 && error !== thrown) log.failure(thrown, context.requestId)
    context.limit = limitOf(thrown) ?? context.limit
    if (error instanceof RateLimitedError) context.windows ??= error.windows
    if (response.headersSent) response.destroy()
    else responder.error(context, error)
  }

  const route = (context: RequestContext): Promise<void> | undefined => {
    const { target } = context
    const handle = isBelowApi(target) ? api : health(target)
    if (handle === undefined) return handlePage(context)
    startTimeout(context)
    return handle(context)
  }

  const handlePage = async (context: RequestContext) => {
    if (pages === undefined) throw new ApiError('no_route')
    // A page that waits for others of its connection is late for another reason. Assets belong to a page that was sent.
    const isLate = !isAssetPath(context.target) && isOverloaded(context.startedAt)
    await context.connection.runInOrder(context, () => passToPages(context, pages, isLate))
  }

  const passToPages = async (context: RequestContext, pages: () => Promise<PageHandler>, isLate: boolean) => {
    if (shutdown.isClosing && context.connection.isNewest(context)) context.response.setHeader('Connection', 'close')
    madePageHandler ??= pages().catch((error: unknown) => {
      // The next request tries again.
      madePageHandler = undefined
      throw error
    })
    const { handle, refuse } = await madePageHandler
    if (!isLate) return handle(context)
    refuse(context, new LimitError('lag', 'unavailable', 1))
  }

  /** SQLite needs no timeout: its reads block the event loop, timers included, and end by themselves. */
  const startTimeout = (context: RequestContext) => {
    if (store.engine === 'sqlite') return
    context.deadline = setTimeout(() => {
      // Once headers are sent, the client decides how long the response takes.
      if (context.response.headersSent) return
      context.limit = 'responseTimeout'
      fail(context, new StoreUnavailableError('the response took too long'))
    }, RESPONSE_TIMEOUT_MS)
  }

  return (context: RequestContext) => {
    const { request, method, headers } = context
    // The client has gone while the request waited.
    if (request.socket.destroyed) return
    try {
      checkHeaders(request, headers)
      const isAsterisk = request.url === '*' && method === 'OPTIONS'
      context.target = parseTarget(isAsterisk ? '/' : (request.url ?? ''), readHost(request, headers), prefix)
      checkHost(context.target, config.allowedHosts)
      if (isAsterisk) return responder.options(context)
      checkBody(method, headers)
      route(context)?.catch((error: unknown) => fail(context, error))
    } catch (error) {
      fail(context, error)
    }
  }
}

/** The first segments of paths that are no pages. */
export const pathsBeforePages: readonly string[] = ['/api', '/healthz', '/readyz']

function isBelowApi({ path, segments }: Target): boolean {
  if (segments !== undefined) return segments[1] === 'api'
  return path === '/api' || path.startsWith('/api/')
}

/** Whether a path leads to a part of pages, which is in memory. */
export function isAssetPath({ path }: Target): boolean {
  return path.startsWith('/assets/')
}

/** Whether a request is answered without waiting for its turn: somebody has to notice that the service is busy, but alive. */
export function isHealthPath(url: string | undefined, prefix: string): boolean {
  const path = url?.startsWith(prefix) === true ? url.slice(prefix.length) : url
  return path === '/healthz' || path === '/readyz'
}
