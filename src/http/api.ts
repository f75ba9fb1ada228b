import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../contract/endpoint.ts'
import { ApiError, notFound } from '../contract/errors.ts'
import { api } from '../contract/index.ts'
import type { Caller } from '../resources/answer.ts'
import { answers } from '../resources/index.ts'
import type { Reply, Turn } from '../resources/replies.ts'
import type { Store } from '../store/index.ts'
import { isEntitled } from '../store/tokens.ts'
import { ALLOW, constantHeaders, JSON_TYPE, send } from './answers.ts'
import { authenticate, readToken } from './credentials.ts'
import type { Head } from './head.ts'
import { acceptsJson, matchesEtag } from './negotiation.ts'
import { parseQuery, type Query, readParameters } from './parameters.ts'
import { makeRouter } from './routes.ts'
import type { Target } from './target.ts'
import type { Uses } from './uses.ts'

/** One request on its way to its answer. What becomes known on the way stays for the log. */
export interface Exchange {
  readonly response: ServerResponse
  readonly method: string
  readonly head: Head
  readonly target: Target
  readonly requestId: string
  readonly now: number
  endpoint?: Endpoint
}

interface Route {
  readonly endpoint: Endpoint
  readonly answer: (caller: Caller, asked: never) => Promise<Reply | undefined>
}

/** The one place where promises and answers meet. */
const routes: readonly Route[] = Object.entries<Endpoint>(api).map(([operation, endpoint]) => ({
  endpoint,
  // `answers` has exactly the names of `api`, and what an answer is asked is parsed with its own endpoint.
  answer: answers[operation as keyof typeof answers],
}))

interface ApiOptions {
  readonly store: Store
  readonly uses: Uses
  /** Where links start; empty for links without a host. */
  readonly publicUrl: string
}

/** Answers requests below /api/v1. The order of the steps is the order in which a request is judged. */
export function makeApi({ store, uses, publicUrl }: ApiOptions) {
  const find = makeRouter(routes)

  return async (exchange: Exchange): Promise<void> => {
    const { response, method, head, target, requestId, now } = exchange
    const match = find(target)
    if (match === undefined) throw new ApiError('no_route')
    const { endpoint, answer } = match.route
    exchange.endpoint = endpoint

    if (method !== 'GET' && method !== 'HEAD') {
      if (method !== 'OPTIONS') throw new ApiError('method_not_allowed')
      sendOptions(response, requestId, head.bodyAnnounced)
      return
    }
    if (!acceptsJson(head.accept)) throw new ApiError('not_acceptable')

    const query = parseQuery(target.query)
    const token = readToken(head.authorization, target, query)
    const grant = await authenticate(store, token, now)
    uses.note(grant.tokenId, now)

    if (endpoint.entitled && !isEntitled(grant, now)) throw new ApiError('subscription_required')
    if (endpoint.scope !== undefined && !grant.scopes.includes(endpoint.scope)) throw new ApiError('insufficient_scope')

    // Parsed with the parameters of this endpoint, so it is what its answer is asked.
    const asked = readParameters(endpoint, query, match.id) as never
    const reply = await answer({ store, grant, now }, asked)
    if (reply === undefined) throw notFound(endpoint.noun ?? 'Record')

    const etag = `"${reply.etag}"`
    const headers = ['X-Request-Id', requestId, 'ETag', etag, ...constantHeaders]
    const link = linkOf(publicUrl, endpoint, query, reply)
    if (link !== undefined) headers.push('Link', link)
    if (head.ifNoneMatch !== undefined && matchesEtag(head.ifNoneMatch, etag)) {
      send(response, 304, headers, undefined)
      return
    }
    const body = `{"ok":true,"data":${reply.data}}`
    headers.push('Content-Type', JSON_TYPE, 'Content-Length', String(Buffer.byteLength(body)))
    send(response, 200, headers, body)
  }
}

/** Says which methods a path, or the whole service, has. */
export function sendOptions(response: ServerResponse, requestId: string, close: boolean) {
  const headers = ['X-Request-Id', requestId, 'Allow', ALLOW, ...constantHeaders]
  if (close) headers.push('Connection', 'close')
  send(response, 204, headers, undefined)
}

function linkOf(publicUrl: string, { path }: Endpoint, query: Query, { next, previous }: Reply): string | undefined {
  const links: string[] = []
  if (next !== undefined) links.push(`<${publicUrl}${path}?${turned(query, next)}>; rel="next"`)
  if (previous !== undefined) links.push(`<${publicUrl}${path}?${turned(query, previous)}>; rel="prev"`)
  return links.length === 0 ? undefined : links.join(', ')
}

/** The query that was sent, with its place in the list exchanged. */
function turned(query: Query, turn: Turn): string {
  const kept = query.filter(([name]) => name !== 'offset' && name !== 'cursor')
  const place = Object.entries(turn).map(([name, value]) => [name, String(value)] as const)
  return [...kept, ...place].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
}
