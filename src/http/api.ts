import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { hasEnded } from '../accounts/access.ts'
import { endedTier, type Grant, type GrantCache, isEntitled } from '../accounts/grants.ts'
import type { KeyUsage } from '../accounts/key-usage.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { KEY_FORM } from '../accounts/secrets.ts'
import type { Config } from '../config.ts'
import { type Endpoint, hasScope } from '../contract/endpoint.ts'
import { ApiError, notFound } from '../contract/errors.ts'
import { api } from '../contract/index.ts'
import { matchesEtag, READ_METHODS, RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import { formatTimestamp } from '../contract/time.ts'
import { Places, share } from '../fairness.ts'
import type { Caller, Handler, Handlers, ListPage, PageStart, Result } from '../resources/handler.ts'
import { handlers } from '../resources/index.ts'
import type { Store } from '../store/index.ts'
import { clientAddress } from './addresses.ts'
import type { Answers } from './answers.ts'
import { isNoParameter } from './app.ts'
import { LimitError, limits as limitTable } from './limits.ts'
import type { Load } from './load.ts'
import { parseQuery, type Query, readParameters } from './parameters.ts'
import type { RateLimits } from './rate-limits.ts'

interface ApiOptions {
  readonly store: Store
  readonly config: Pick<Config, 'publicUrl' | 'trustedProxies'>
  readonly answers: Answers
  readonly grants: GrantCache
  readonly limits: RateLimits
  readonly usage: KeyUsage
  readonly readLog: ReadLog
  readonly load: Load
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request for the API, once its credentials are checked. */
    caller: { readonly query: Query; readonly key: string; readonly grant: Grant } | null
  }
}

/** The first steps of a request: overload, API key, limits. Nothing is read from the store before the checksum of the key is right. */
function makeGate({ config, grants, limits, usage, load }: ApiOptions) {
  const isBehindProxy = config.trustedProxies.rules.length > 0

  const refuseIfLate = ({ context }: FastifyRequest) => {
    if (load.isOverloaded(context.startedAt)) throw new LimitError('lag', 'unavailable')
  }

  /** Throws invalid_token, token_revoked and token_expired, which count as attempts to guess an API key. */
  const checkGrant = ({ context, raw }: FastifyRequest, grant: Grant | undefined, now: number): Grant => {
    if (grant !== undefined && grant.revokedAt === null && !hasEnded(grant.expiresAt, now)) return grant
    limits.countFailure(clientAddress(raw, config.trustedProxies), context.startedAt)
    if (grant === undefined) throw new ApiError('invalid_token')
    throw new ApiError(grant.revokedAt === null ? 'token_expired' : 'token_revoked')
  }

  /** Charges a request to its API key. */
  const admit = ({ context, raw }: FastifyRequest, grant: Grant) => {
    context.keyId = grant.keyId
    usage.recordUse(grant.keyId, context.now, {
      address: raw.socket.remoteAddress,
      forwardedFor: isBehindProxy ? raw.headers['x-forwarded-for']?.toString() : undefined,
    })
    // Nothing would say that the request of a client that is gone has ended.
    if (raw.socket.destroyed) return
    context.windows = limits.admit(grant, context)
    context.isActive = true
  }

  /** Checks the credentials and the limits. A promise is awaited only where there is one: most grants are in memory. */
  const authenticate = (request: FastifyRequest): Promise<void> | undefined => {
    const { context } = request
    refuseIfLate(request)
    const query = parseQuery(context.target.query)
    const key = readKey(request, query)
    const enter = (found: Grant | undefined) => {
      const grant = checkGrant(request, found, context.now)
      request.caller = { query, key, grant }
      admit(request, grant)
    }
    const found = grants.find(key)
    if (found instanceof Promise) return found.then(enter)
    enter(found)
    return undefined
  }

  return { refuseIfLate, checkGrant, authenticate }
}

/** Calls the handler of an endpoint. */
function makeReader({ store, grants }: ApiOptions, { checkGrant }: ReturnType<typeof makeGate>) {
  const read = ({ raw, params, caller }: FastifyRequest, { handle }: Route, grant: Grant, now: number) =>
    handle(
      { store, grant, now, ifNoneMatch: raw.headers['if-none-match'] },
      caller?.query ?? [],
      (params as { readonly id?: string }).id,
    )

  /** Waits for a place of the account. Null if the client has gone meanwhile, or has been told that it took too long. */
  const readInPlace = async (request: FastifyRequest, reply: FastifyReply, route: Route, { accountId }: Grant) => {
    const leave = await statisticsPlaces.take(accountId)
    try {
      if (reply.sent || request.raw.socket.destroyed) return null
      // Meanwhile the key may have been revoked, and access may have ended.
      const now = Date.now()
      const current = checkGrant(request, await grants.find(request.caller?.key ?? ''), now)
      checkScope(route.endpoint, current, now)
      return await read(request, route, current, now)
    } finally {
      leave()
    }
  }

  return { read, readInPlace }
}

/**
 * A route for each endpoint. The order of the steps is part of the contract: the first ApiError wins. Nothing is read from the store
 * before the credentials are checked.
 */
export const apiPlugin: FastifyPluginCallback<ApiOptions> = (app, options, done) => {
  const { store, config, answers, limits, readLog } = options
  const gate = makeGate(options)
  const { refuseIfLate, authenticate } = gate
  const { read, readInPlace } = makeReader(options, gate)

  const addRoute = (route: Route) => {
    const { endpoint } = route
    const [scope] = endpoint.scopes
    app.route({
      method: [...READ_METHODS],
      url: endpoint.path,
      // Reads of SQLite block the event loop, timers included, and end by themselves.
      ...(store.engine === 'postgres' ? { handlerTimeout: RESPONSE_TIMEOUT_MS } : {}),
      onRequest(request, _reply, next) {
        request.context.route = endpoint.path
        request.context.scope = scope
        try {
          if (isNoParameter((request.params as { readonly id?: string }).id)) throw new ApiError('no_route')
          const waiting = authenticate(request)
          if (waiting === undefined) next()
          else waiting.then(() => next(), next)
        } catch (error) {
          next(error as Error)
        }
      },
      async handler(request, reply) {
        const { context, caller } = request
        // The hook before has set it, or thrown.
        if (caller === null) throw new Error('a request has no caller')
        const { grant, query } = caller
        const turn = share(grant.accountId)
        if (turn !== undefined) {
          await turn
          refuseIfLate(request)
        }
        checkScope(endpoint, grant, context.now)
        const result = await (endpoint.isLong
          ? readInPlace(request, reply, route, grant)
          : read(request, route, grant, context.now))
        if (result === null) return
        if (result === undefined) throw notFound(endpoint.resourceName ?? 'Record')

        // A 304 also counts as a read.
        for (const { area, owners } of result.ownersRead ?? [])
          for (const owner of owners) readLog.record(grant, owner, area, endpoint.readKind, context.now)

        const etag = `"${result.etag}"`
        const link = result.kind === 'json' ? undefined : linkOf(config.publicUrl, endpoint, query, result)
        const ifNoneMatch = request.raw.headers['if-none-match']
        if (result.kind === 'unchanged page' || (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag))) {
          if (context.windows !== undefined) limits.refund(context.windows, context.startedAt)
          return answers.notModified(reply, etag, link)
        }
        return answers.ok(reply, result.data, etag, link)
      },
    })
  }

  app.decorateRequest('caller', null)
  for (const route of routes) addRoute(route)
  done()
}

const statisticsPlaces = new Places<number>(limitTable.statistics.max)

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
function readKey({ raw: { rawHeaders }, params }: FastifyRequest, query: Query): string {
  let authorization: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length !== AUTHORIZATION.length || name.toLowerCase() !== AUTHORIZATION) continue
    // `headers` would leave out the second one.
    if (authorization !== undefined) throw new ApiError('invalid_request', 'Send one Authorization header')
    authorization = rawHeaders[index + 1]
  }
  const { id } = params as { readonly id?: string }
  if ((id !== undefined && KEY_FORM.test(id)) || query.some(holdsKey)) {
    throw new ApiError('invalid_request', 'Send the API key in the Authorization header, never in the URL')
  }
  const value = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
  if (value === undefined) throw new ApiError('missing_token')
  return value
}

const AUTHORIZATION = 'authorization'
const BEARER = /^bearer +(.+)$/i
const KEY_PARAMETERS = new Set(['access_token', 'api_key', 'token'])

function holdsKey([name, value]: Query[number]): boolean {
  return KEY_PARAMETERS.has(name) || KEY_FORM.test(name) || KEY_FORM.test(value)
}

interface Route {
  readonly endpoint: Endpoint
  /** Throws ApiError where the parameters are wrong, or the handler refuses. */
  readonly handle: (caller: Caller, query: Query, id: string | undefined) => Promise<Result | undefined>
}

const routes: readonly Route[] = join(api, handlers)

function join<Api extends Readonly<Record<string, Endpoint>>>(endpoints: Api, handlers: Handlers<Api>): Route[] {
  const routeOf = <Name extends keyof Api>(name: Name) => makeRoute<Api[Name]>(endpoints[name], handlers[name])
  // An object that nobody extends has exactly the keys of its type.
  return (Object.keys(endpoints) as (keyof Api)[]).map(routeOf)
}

function makeRoute<E extends Endpoint>(endpoint: E, handler: Handler<E>): Route {
  return {
    endpoint,
    handle: (caller, query, id) =>
      handler(caller, readParameters(endpoint, { query, id, callerId: caller.grant.accountId, now: caller.now })),
  }
}
