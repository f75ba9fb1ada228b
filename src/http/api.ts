import type { Endpoint } from '../contract/endpoint.ts'
import { ApiError, type ErrorCode, notFound } from '../contract/errors.ts'
import type { Result, PageStart } from '../resources/results.ts'
import type { GrantCache } from '../accounts/grant-cache.ts'
import type { Store } from '../store/index.ts'
import { type Grant, isEntitled } from '../accounts/tokens.ts'
import type { Responder } from './respond.ts'
import { authenticate, readToken } from './credentials.ts'
import type { Call } from './request-context.ts'
import type { Limits } from './limits.ts'
import { acceptsJson, matchesEtag } from './negotiation.ts'
import { parseQuery, type Query } from './parameters.ts'
import { makeRouter } from './router.ts'
import { routes } from './routes.ts'
import type { TokenUsage } from '../accounts/token-usage.ts'

interface ApiOptions {
  readonly store: Store
  readonly grants: GrantCache
  readonly send: Responder
  readonly limits: Limits
  readonly uses: TokenUsage
  /** Where links start; empty for links without a host. */
  readonly publicUrl: string
  readonly addressOf: (call: Call) => string
  readonly isOverloaded: () => boolean
}

/**
 * Answers requests below /api/v1. The order of the steps is the order in which a request is judged; the first that
 * refuses, by an ApiError, decides. Before the credentials nothing is asked of the store.
 */
export function makeApi({ store, grants, send, limits, uses, publicUrl, addressOf, isOverloaded }: ApiOptions) {
  const find = makeRouter(routes)

  const identify = async (call: Call, query: Query): Promise<Grant> => {
    const { head, target, exchange } = call
    try {
      return await authenticate(grants, readToken(head.authorization, target, query), exchange.now)
    } catch (error) {
      if (error instanceof ApiError && GUESSES.has(error.code)) limits.countFailure(addressOf(call), exchange.now)
      throw error
    }
  }

  return async (call: Call): Promise<void> => {
    const { response, exchange, head, target } = call
    const match = find(target)
    if (match === undefined) throw new ApiError('no_route')
    const { endpoint, handle } = match.route
    exchange.route = endpoint.path
    exchange.scope = endpoint.scope

    if (exchange.method === 'OPTIONS') return send.options(response, exchange)
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') throw new ApiError('method_not_allowed')
    if (!acceptsJson(head.accept)) throw new ApiError('not_acceptable')
    if (isOverloaded()) throw new ApiError('unavailable')

    const query = parseQuery(target.query)
    const grant = await identify(call, query)
    exchange.tokenId = grant.tokenId
    uses.recordUse(grant.tokenId, exchange.now)
    const allowance = limits.admit(grant.tokenId, exchange.now)
    exchange.allowance = allowance
    exchange.admitted = true

    if (endpoint.entitled && !isEntitled(grant, exchange.now)) throw new ApiError('subscription_required')
    if (endpoint.scope !== undefined && !grant.scopes.includes(endpoint.scope)) throw new ApiError('insufficient_scope')

    const result = await handle({ store, grant, now: exchange.now }, query, match.id)
    if (result === undefined) throw notFound(endpoint.resourceName ?? 'Record')

    const etag = `"${result.etag}"`
    const link = linkOf(publicUrl, endpoint, query, result)
    if (head.ifNoneMatch !== undefined && matchesEtag(head.ifNoneMatch, etag)) {
      limits.refund(allowance, exchange.now)
      send.notModified(response, exchange, etag, link)
    } else {
      return send.ok(response, exchange, result.data, etag, link)
    }
  }
}

/** Refusals that may be somebody guessing. */
const GUESSES: ReadonlySet<ErrorCode> = new Set(['invalid_token', 'token_revoked', 'token_expired'])

function linkOf(publicUrl: string, { path }: Endpoint, query: Query, { next, previous }: Result): string | undefined {
  if (next === undefined && previous === undefined) return undefined
  const links: string[] = []
  if (next !== undefined) links.push(`<${publicUrl}${path}?${queryAt(query, next)}>; rel="next"`)
  if (previous !== undefined) links.push(`<${publicUrl}${path}?${queryAt(query, previous)}>; rel="prev"`)
  return links.join(', ')
}

/** The query that was sent, with its place in the list exchanged. */
function queryAt(query: Query, start: PageStart): string {
  const kept = query.filter(([name]) => name !== 'offset' && name !== 'cursor')
  const place = Object.entries(start).map(([name, value]) => [name, String(value)] as const)
  return [...kept, ...place].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
}
