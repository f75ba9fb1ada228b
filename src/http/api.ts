import type { BlockList } from 'node:net'
import { type Endpoint, hasScope } from '../contract/endpoint.ts'
import { ApiError, type ErrorCode, notFound } from '../contract/errors.ts'
import type { BodyPacker } from '../resources/packed-bodies.ts'
import { KeptResults } from '../resources/kept-results.ts'
import type { Result, PageStart } from '../resources/results.ts'
import type { GrantCache } from '../accounts/grant-cache.ts'
import type { Store } from '../store/index.ts'
import { type Grant, isEntitled } from '../accounts/tokens.ts'
import { clientAddress } from '../accounts/addresses.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { matchesEtag } from '../contract/etags.ts'
import { READ_METHODS } from '../contract/responses.ts'
import type { Responder } from './respond.ts'
import { authenticate, readToken } from './credentials.ts'
import type { Handle, RequestContext } from './request-context.ts'
import type { Limits } from './limits.ts'
import { acceptsJson } from './negotiation.ts'
import { parseQuery, type Query } from './parameters.ts'
import { makeRouter } from './router.ts'
import { routes } from './routes.ts'
import type { TokenUsage } from '../accounts/token-usage.ts'

interface ApiOptions {
  readonly store: Store
  readonly grants: GrantCache
  readonly responder: Responder
  readonly limits: Limits
  readonly usage: TokenUsage
  readonly reads: ReadLog
  /** The start of links; empty for links without a host. */
  readonly publicUrl: string
  /** The proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: BlockList
  readonly isOverloaded: () => boolean
  /** How many bytes of records and pages are kept; 0 for none. */
  readonly pageCacheBytes: number
  /** Compresses what is kept; undefined if nothing is to be compressed. */
  readonly packer: BodyPacker | undefined
}

/**
 * Handles requests below /api/v1. The order of the steps is part of the contract: the first ApiError wins. Nothing is read
 * from the store before the credentials are checked.
 */
export function makeApi(options: ApiOptions): Handle {
  const { store, grants, responder, limits, usage, reads, publicUrl, trustedProxies, isOverloaded } = options
  const find = makeRouter(routes)
  const kept = options.pageCacheBytes === 0 ? undefined : new KeptResults(options.pageCacheBytes, options.packer)

  const identify = async (context: RequestContext, query: Query): Promise<Grant> => {
    const { headers, target, now, startedAt, request } = context
    try {
      return await authenticate(grants, readToken(headers.authorization, target, query), now)
    } catch (error) {
      if (error instanceof ApiError && GUESS_ERRORS.has(error.code)) {
        limits.countFailure(clientAddress(request, trustedProxies), startedAt)
      }
      throw error
    }
  }

  return async context => {
    const { method, headers, target, now, startedAt } = context
    const match = find(target)
    if (match === undefined) throw new ApiError('no_route')
    const { endpoint, handle } = match.route
    context.route = endpoint.path
    context.scope = endpoint.scopes[0]

    if (method === 'OPTIONS') return responder.options(context)
    if (!READ_METHODS.includes(method)) throw new ApiError('method_not_allowed')
    if (!acceptsJson(headers.accept)) throw new ApiError('not_acceptable')
    if (isOverloaded()) throw new ApiError('unavailable')

    const query = parseQuery(target.query)
    const grant = await identify(context, query)
    context.tokenId = grant.tokenId
    usage.recordUse(grant.tokenId, now)
    const window = limits.admit(grant.tokenId, startedAt)
    context.rateWindow = window
    context.isActive = true

    if (endpoint.entitled && !isEntitled(grant, now)) throw new ApiError('subscription_required')
    if (!hasScope(grant.scopes, endpoint.scopes)) throw new ApiError('insufficient_scope')

    const { ifNoneMatch } = headers
    const result = await handle({ store, grant, now, ifNoneMatch, kept }, query, match.id)
    if (result === undefined) throw notFound(endpoint.resourceName ?? 'Record')

    // A response that is not sent again, because the caller has it, counts as a read, too.
    for (const { area, owners } of result.reads ?? []) {
      for (const owner of owners) reads.record(grant, owner, area, endpoint.reads, now)
    }

    const etag = `"${result.etag}"`
    const link = linkOf(publicUrl, endpoint, query, result)
    if (result.data === undefined || (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag))) {
      limits.refund(window, startedAt)
      return responder.notModified(context, etag, link)
    }
    return responder.ok(context, result.data, etag, link)
  }
}

/** Errors that count as an attempt to guess a token. */
const GUESS_ERRORS: ReadonlySet<ErrorCode> = new Set(['invalid_token', 'token_revoked', 'token_expired'])

function linkOf(publicUrl: string, { path }: Endpoint, query: Query, { next, previous }: Result): string | undefined {
  if (next === undefined && previous === undefined) return undefined
  const links: string[] = []
  if (next !== undefined) links.push(`<${publicUrl}${path}?${withPageStart(query, next)}>; rel="next"`)
  if (previous !== undefined) links.push(`<${publicUrl}${path}?${withPageStart(query, previous)}>; rel="prev"`)
  return links.join(', ')
}

/** The query of the request with another start of the page. */
function withPageStart(query: Query, start: PageStart): string {
  const kept = query.filter(([name]) => name !== 'offset' && name !== 'cursor')
  const position = Object.entries(start).map(([name, value]) => [name, String(value)] as const)
  return [...kept, ...position].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
}
