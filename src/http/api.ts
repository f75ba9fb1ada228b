import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { hasEnded } from '../accounts/access.ts'
import { endedTier, type Grant, type GrantCache, isEntitled } from '../accounts/grants.ts'
import type { KeyUsage } from '../accounts/key-usage.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { KEY_FORM } from '../accounts/secrets.ts'
import { type Endpoint, hasScope } from '../contract/endpoint.ts'
import { ApiError, notFound } from '../contract/errors.ts'
import { api } from '../contract/index.ts'
import { READ_METHODS, RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import { matchesEtag } from '../contract/validators.ts'
import { formatTimestamp } from '../contract/time.ts'
import { inSlot, share } from '../fairness.ts'
import type { Caller, Handler, Result } from '../resources/handler.ts'
import { handlers } from '../resources/index.ts'
import type { Store } from '../store/index.ts'
import { clientAddress } from './addresses.ts'
import { type AppOptions, isNoParameter } from './app.ts'
import { LimitError, limits } from './limits.ts'
import { parseQuery, type Query, readParameters } from './parameters.ts'

interface ApiOptions extends Pick<AppOptions, 'config' | 'answers' | 'rateLimits' | 'load'> {
  readonly store: Store
  readonly grants: GrantCache
  readonly usage: KeyUsage
  readonly readLog: ReadLog
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request for the API, once its credentials are checked. */
    caller: { readonly query: Query; readonly key: string; readonly grant: Grant } | null
  }
}

/**
 * A route for each endpoint. The order of the steps is part of the contract: the first ApiError wins. Nothing is read from the store
 * before the checksum of the key is right.
 */
export const apiPlugin: FastifyPluginCallback<ApiOptions> = (app, options, done) => {
  app.decorateRequest('caller', null)
  for (const route of routes) {
    const { endpoint } = route
    const [scope] = endpoint.scopes
    app.route({
      method: [...READ_METHODS],
      url: endpoint.path,
      // Reads of SQLite block the event loop, timers included, and end by themselves.
      ...(options.store.engine === 'postgres' ? { handlerTimeout: RESPONSE_TIMEOUT_MS } : {}),
      onRequest(request, _reply, next) {
        try {
          if (isNoParameter(idOf(request))) throw new ApiError('no_route')
          request.context.route = endpoint.path
          request.context.scope = scope
          const waiting = authenticate(request, options)
          if (waiting === undefined) next()
          else waiting.then(() => next(), next)
        } catch (error) {
          next(error as Error)
        }
      },
      handler: (request, reply) => answer(request, reply, route, options),
    })
  }
  done()
}

/** The first steps of a request: overload, API key, limits. A promise is awaited only where there is one: most grants are in memory. */
function authenticate(request: FastifyRequest, options: ApiOptions): Promise<void> | undefined {
  const { context } = request
  refuseIfLate(request, options)
  const query = parseQuery(context.target.query)
  const key = readKey(request, query)
  const enter = (found: Grant | undefined) => {
    const grant = checkGrant(request, found, context.now, options)
    request.caller = { query, key, grant }
    admit(request, grant, options)
  }
  const found = options.grants.find(key)
  if (found instanceof Promise) return found.then(enter)
  enter(found)
  return undefined
}

function refuseIfLate({ context }: FastifyRequest, { load }: ApiOptions) {
  if (load.isOverloaded(context.startedAt)) throw new LimitError('lag', 'unavailable')
}

/** Throws invalid_token, token_revoked and token_expired, which count as attempts to guess an API key. */
function checkGrant(request: FastifyRequest, grant: Grant | undefined, now: number, options: ApiOptions): Grant {
  if (grant !== undefined && grant.revokedAt === null && !hasEnded(grant.expiresAt, now)) return grant
  const { config, rateLimits } = options
  rateLimits.countFailure(clientAddress(request.raw, config.trustedProxies), request.context.startedAt)
  if (grant === undefined) throw new ApiError('invalid_token')
  throw new ApiError(grant.revokedAt === null ? 'token_expired' : 'token_revoked')
}

/** Charges a request to its API key. */
function admit({ context, raw }: FastifyRequest, grant: Grant, { rateLimits, usage }: ApiOptions) {
  context.keyId = grant.keyId
  usage.recordUse(grant.keyId, context.now)
  // Nothing would say that the request of a client that is gone has ended.
  if (raw.socket.destroyed) return
  rateLimits.admit(grant.keyId, context)
  context.isActive = true
}

/** The steps after those: a turn of the account, tier and scope, parameters, handler, log of reads, validator. */
async function answer(request: FastifyRequest, reply: FastifyReply, route: Route, options: ApiOptions) {
  const { context, caller, raw } = request
  const { store, config, answers, rateLimits, readLog } = options
  const { endpoint } = route
  // The hook before has set it, or thrown.
  if (caller === null) throw new Error('a request has no caller')
  const { grant, query } = caller
  const turn = share(grant.accountId)
  if (turn !== undefined) {
    await turn
    refuseIfLate(request, options)
  }
  checkScope(endpoint, grant, context.now)
  const ifNoneMatch = raw.headers['if-none-match']
  const read = (by: Grant, now: number) => route.handle({ store, grant: by, now, ifNoneMatch }, query, idOf(request))
  const readInSlot = async () => {
    // The client has gone meanwhile, or has been told that it took too long.
    if (reply.sent || raw.socket.destroyed) return null
    // The key may have been revoked, and access may have ended.
    const now = Date.now()
    const current = checkGrant(request, await options.grants.find(caller.key), now, options)
    checkScope(endpoint, current, now)
    return await read(current, now)
  }
  const result = await (endpoint.isLong
    ? inSlot(grant.accountId, limits.statistics.max, readInSlot)
    : read(grant, context.now))
  if (result === null) return
  if (result === undefined) throw notFound(endpoint.resourceName ?? 'Record')

  // A 304 also counts as a read.
  for (const { area, owners } of result.ownersRead ?? [])
    for (const owner of owners) readLog.record(grant, owner, area, endpoint.readType, context.now)

  const etag = `"${result.etag}"`
  const { data } = result
  const link = linkOf(config.publicUrl, endpoint, query, result)
  if (data === undefined || (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag))) {
    if (context.window !== undefined) rateLimits.refund(context.window, context.startedAt)
    return answers.notModified(reply, etag, link)
  }
  return answers.ok(reply, data, etag, link)
}

const idOf = ({ params }: FastifyRequest) => (params as { readonly id?: string }).id

function checkScope({ entitled, scopes }: Endpoint, grant: Grant, now: number) {
  if (entitled && !isEntitled(grant, now)) {
    const end = endedTier(grant, now)
    const text = end === undefined ? undefined : `The subscription ended at ${formatTimestamp(end)}`
    throw new ApiError('subscription_required', text)
  }
  if (!hasScope(grant.scopes, scopes)) throw new ApiError('insufficient_scope')
}

/** Links to the next and the previous page: the query of the request with another start. */
function linkOf(publicUrl: string, { path }: Endpoint, query: Query, { next, previous }: Result): string | undefined {
  if (next === undefined && previous === undefined) return undefined
  const others = query.filter(([name]) => name !== 'offset' && name !== 'cursor')
  const links = Object.entries({ next, prev: previous }).flatMap(([rel, start]) => {
    if (start === undefined) return []
    const pairs = [...others, ...Object.entries<string | number>(start)].map(
      ([name, value]) => `${name}=${encodeURIComponent(value)}`,
    )
    return [`<${publicUrl}${path}?${pairs.join('&')}>; rel="${rel}"`]
  })
  return links.join(', ')
}

/** The API key of the one Authorization header. Throws invalid_request for two headers or an API key in the URL, and missing_token. */
function readKey(request: FastifyRequest, query: Query): string {
  const { rawHeaders, headers } = request.raw
  // `headers` leaves out the second one.
  if (rawHeaders.filter((text, index) => index % 2 === 0 && AUTHORIZATION.test(text)).length > 1)
    throw new ApiError('invalid_request', 'Send one Authorization header')
  if (KEY_FORM.test(idOf(request) ?? '') || query.some(holdsKey)) {
    throw new ApiError('invalid_request', 'Send the API key in the Authorization header, never in the URL')
  }
  const value = BEARER.exec(headers.authorization ?? '')?.[1]
  if (value === undefined) throw new ApiError('missing_token')
  return value
}

function holdsKey([name, value]: Query[number]): boolean {
  return KEY_PARAMETERS.has(name) || KEY_FORM.test(name) || KEY_FORM.test(value)
}

const AUTHORIZATION = /^authorization$/i
const BEARER = /^bearer +(.+)$/i
const KEY_PARAMETERS = new Set(['access_token', 'api_key', 'token'])

interface Route {
  readonly endpoint: Endpoint
  /** Throws ApiError where the parameters are wrong, or the handler refuses. */
  readonly handle: (caller: Caller, query: Query, id: string | undefined) => Promise<Result | undefined>
}

const routes = (Object.keys(api) as (keyof typeof api)[]).map(routeOf)

function routeOf<Name extends keyof typeof api>(name: Name): Route {
  const endpoint = api[name]
  const handler: Handler<typeof endpoint> = handlers[name]
  return {
    endpoint,
    handle: (caller, query, id) =>
      handler(caller, readParameters(endpoint, { query, id, callerId: caller.grant.accountId, now: caller.now })),
  }
}
