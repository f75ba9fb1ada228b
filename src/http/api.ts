import type { BlockList } from 'node:net'
import { type Endpoint, hasScope } from '../contract/endpoint.ts'
import { ApiError, notFound } from '../contract/errors.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { ListPage, PageStart } from '../resources/handler.ts'
import { endedTier, type GrantCache, type Grant, isEntitled } from '../accounts/grants.ts'
import type { Store } from '../store/index.ts'
import { KEY_FORM } from '../accounts/secrets.ts'
import { hasEnded } from '../accounts/access.ts'
import { Places, turnOf } from '../turns.ts'
import { clientAddress } from './addresses.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { matchesEtag, READ_METHODS } from '../contract/responses.ts'
import type { Responder } from './respond.ts'
import { type Handle, type RequestContext, acceptsJson, type Target } from './request.ts'
import { LimitError, limits as limitTable } from './limits.ts'
import type { RateLimits } from './rate-limits.ts'
import { parseQuery, type Query } from './parameters.ts'
import { makeRouter, routes } from './router.ts'
import type { KeyUsage } from '../accounts/key-usage.ts'

interface ApiOptions {
  readonly store: Store
  readonly grants: GrantCache
  readonly responder: Responder
  readonly limits: RateLimits
  readonly usage: KeyUsage
  readonly readLog: ReadLog
  /** The start of links; empty for links without a host. */
  readonly publicUrl: string
  /** The proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: BlockList
  readonly isOverloaded: (startedAt: number) => boolean
}

const statisticsPlaces = new Places<number>(limitTable.statistics.max)

interface LongWork<Result> {
  readonly grant: Grant
  readonly context: RequestContext
  readonly endpoint: Endpoint
  /** What the key allows at that time. */
  readonly again: (now: number) => Promise<Grant>
  readonly work: (grant: Grant, now: number) => Promise<Result>
}

/** Waits for a place of the account. Null if the client has gone meanwhile, or has been told that it took too long. */
async function inPlace<Result>({ grant, context, endpoint, again, work }: LongWork<Result>): Promise<Result | null> {
  const { request, response } = context
  const leave = await statisticsPlaces.take(grant.accountId)
  try {
    if (response.headersSent || request.socket.destroyed) return null
    // Meanwhile the key may have been revoked, and access may have ended.
    const now = Date.now()
    const current = await again(now)
    checkScope(endpoint, current, now)
    return await work(current, now)
  } finally {
    leave()
  }
}

/**
 * Handles requests below /api/v1. The order of the steps is part of the contract: the first ApiError wins. Nothing is read
 * from the store before the credentials are checked.
 */
export function makeApi(options: ApiOptions): Handle {
  const { store, grants, responder, limits, usage, readLog, publicUrl, trustedProxies, isOverloaded } = options
  const find = makeRouter(routes)
  const isBehindProxy = trustedProxies.rules.length > 0

  /**
   * What the API key of a request grants now. Reads the store at most once, and not at all for text without a valid checksum. Throws
   * what `readKey` throws; and invalid_token, token_revoked, token_expired, which count as attempts to guess an API key.
   */
  const identify = async (context: RequestContext, query: Query, now: number): Promise<Grant> => {
    const { headers, target, startedAt, request } = context
    const found = grants.find(readKey(headers.authorization, target, query))
    // Most grants are in memory, and a promise for each costs more than finding it.
    const grant = found instanceof Promise ? await found : found
    if (grant !== undefined && grant.revokedAt === null && !hasEnded(grant.expiresAt, now)) return grant
    limits.countFailure(clientAddress(request, trustedProxies), startedAt)
    if (grant === undefined) throw new ApiError('invalid_token')
    throw new ApiError(grant.revokedAt === null ? 'token_expired' : 'token_revoked')
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
    if (isOverloaded(startedAt)) throw new LimitError('lag', 'unavailable')

    const query = parseQuery(target.query)
    const grant = await identify(context, query, now)
    context.keyId = grant.keyId
    usage.recordUse(grant.keyId, now, {
      address: context.request.socket.remoteAddress,
      forwardedFor: isBehindProxy ? headers.forwardedFor : undefined,
    })
    await turnOf('request', grant.accountId)
    if (isOverloaded(startedAt)) throw new LimitError('lag', 'unavailable')
    // Nothing would say that the request of a client that is gone has ended.
    if (context.request.socket.destroyed) return
    const windows = limits.admit(grant, context)
    context.windows = windows
    context.isActive = true

    checkScope(endpoint, grant, now)

    const { ifNoneMatch } = headers
    const work = (current: Grant, at: number) =>
      handle({ store, grant: current, now: at, ifNoneMatch }, query, match.id)
    const again = (at: number) => identify(context, query, at)
    const result = await (endpoint.isLong ? inPlace({ grant, context, endpoint, again, work }) : work(grant, now))
    if (result === null) return
    if (result === undefined) throw notFound(endpoint.resourceName ?? 'Record')

    // A 304 also counts as a read.
    for (const { area, owners } of result.ownersRead ?? [])
      for (const owner of owners) readLog.record(grant, owner, area, endpoint.readKind, now)

    const etag = `"${result.etag}"`
    const link = result.kind === 'json' ? undefined : linkOf(publicUrl, endpoint, query, result)
    if (result.kind === 'unchanged page' || (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag))) {
      limits.refund(windows, startedAt)
      return responder.notModified(context, etag, link)
    }
    return responder.ok(context, result.data, etag, link)
  }
}

function checkScope({ entitled, scopes }: Endpoint, grant: Grant, now: number) {
  if (entitled && !isEntitled(grant, now)) {
    const end = endedTier(grant, now)
    const text = end === undefined ? undefined : `The subscription ended at ${formatTimestamp(end)}`
    throw new ApiError('subscription_required', text)
  }
  if (!hasScope(grant.scopes, scopes)) throw new ApiError('insufficient_scope')
}

function linkOf(publicUrl: string, { path }: Endpoint, query: Query, { next, previous }: ListPage): string | undefined {
  if (next === undefined && previous === undefined) return undefined
  const links: string[] = []
  if (next !== undefined) links.push(`<${publicUrl}${path}?${withPageStart(query, next)}>; rel="next"`)
  if (previous !== undefined) links.push(`<${publicUrl}${path}?${withPageStart(query, previous)}>; rel="prev"`)
  return links.join(', ')
}

/** The query of the request with another start of the page. */
function withPageStart(query: Query, start: PageStart): string {
  const others = query.filter(([name]) => name !== 'offset' && name !== 'cursor')
  const position = Object.entries(start).map(([name, value]) => [name, String(value)] as const)
  return [...others, ...position].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
}

/** The API key of the one Authorization header. Throws invalid_request for two headers or an API key in the URL, and missing_token. */
function readKey(authorization: readonly string[], target: Target, query: Query): string {
  const [header, second] = authorization
  if (second !== undefined) throw new ApiError('invalid_request', 'Send one Authorization header')
  if (containsKey(target, query)) {
    throw new ApiError('invalid_request', 'Send the API key in the Authorization header, never in the URL')
  }
  const value = header === undefined ? undefined : BEARER.exec(header)?.[1]
  if (value === undefined) throw new ApiError('missing_token')
  return value
}

const BEARER = /^bearer +(.+)$/i
const KEY_PARAMETERS = new Set(['access_token', 'api_key', 'token'])

function containsKey({ path, segments }: Target, query: Query): boolean {
  if (segments === undefined ? KEY_FORM.test(path) : segments.some(segment => KEY_FORM.test(segment))) return true
  return query.some(([name, value]) => KEY_PARAMETERS.has(name) || KEY_FORM.test(name) || KEY_FORM.test(value))
}
